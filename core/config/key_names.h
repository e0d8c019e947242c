// SPDX-License-Identifier: MIT
// Names of the keys that a reader declares, so that nobody lists them a second time.
#pragma once

#include <string>
#include <vector>

#include "core/config/config.h"

namespace orrery {

// Lists the keys at the top of the section that `read` reads, each once, in its order.
std::vector<std::string> key_names(const ConfigFiles& files, const Section::Read& read);

}  // namespace orrery
