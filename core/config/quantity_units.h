// SPDX-License-Identifier: MIT
// Units that the readers of quantities take, for descriptions of configurations.
#pragma once

#include <string_view>
#include <vector>

namespace orrery {

// Units of a type of keys as docs/config.md names it ("size", "bandwidth", "time", "rate", "power", "efficiency"), from
// large to small; none of other types. A `b` stands for `bit` and `bits` as well.
std::vector<std::string_view> units_of_type(std::string_view type);

}  // namespace orrery
