// The bandwidths of links in configurations. Rates are whole bytes per second, so that a link which many messages share
// must have some thousands of them for each to get its share; what is given as less is a slip of the pen.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/config/config.h"
#include "core/units.h"

namespace orrery {

inline constexpr Bandwidth kLeastBandwidth{1000};  // of a link

// What is wrong with so many equal links that have a bandwidth `together` which follows from others, or "". `what`
// names them: "the links up from a leaf switch".
std::string derived_bandwidth_problem(std::string_view what, Int128 together, std::uint64_t links);

// As Section::required and Section::optional; reports a bandwidth that no link may have.
Bandwidth required_link_bandwidth(Section& section, std::string_view key, std::string_view meaning);
Bandwidth optional_link_bandwidth(Section& section, std::string_view key, Bandwidth fallback, std::string_view meaning,
                                  std::string_view documented = {});

}  // namespace orrery
