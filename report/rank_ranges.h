// Ranks as people write them: "0-3,8-11".
#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace orrery {

// `ranks` ascending. Ends in "..." once it is longer than `most` characters.
std::string rank_ranges(std::span<const std::size_t> ranks, std::size_t most = SIZE_MAX);

}  // namespace orrery
