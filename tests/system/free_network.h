// SPDX-License-Identifier: MIT
// A network on which everything is there at once, for tests of what computation alone takes.
#pragma once

#include <span>
#include <vector>

#include "core/engine.h"
#include "network/fabric/fabric.h"
#include "network/network.h"

namespace orrery::test {

class FreeNetwork final : public network::Network {
 public:
  FreeNetwork(Engine& engine, const network::Fabric& fabric) : Network(engine, fabric) {}

  Time start(const network::Message& message) override {
    message.recipient->deliver(engine_, Duration::zero(), Duration::zero(), message.id);
    return kNotPredicted;
  }
  Duration count_private(network::PathId, Bytes, std::uint64_t) override { return Duration::zero(); }
  void split(std::span<const network::LinkSplit>) override {}
  void settle() override {}
  PagedArray<network::LinkUsage> usage() const override { return PagedArray<network::LinkUsage>(fabric_.link_count()); }
};

}  // namespace orrery::test
