// "Did you mean ...?" for a misspelt name.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace orrery {

// The candidate nearest to `word` by edit distance (case ignored), or "" when none is near enough to be a likely slip.
std::string nearest_name(std::string_view word, std::span<const std::string> candidates);

// "did you mean 'x'?", or "known: a, b, c" when nothing is near; "" without candidates.
std::string suggestion(std::string_view word, std::span<const std::string> candidates);

}  // namespace orrery
