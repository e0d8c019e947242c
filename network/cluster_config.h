#pragma once
#include <functional>
#include <optional>
#include "core/config.h"
#include "network/fabric.h"
namespace orrery {
std::optional<Fabric> read_cluster(Section& experiment, const std::function<void(Section&)>& read_device);
}
