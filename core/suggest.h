// SPDX-License-Identifier: MIT
// "Did you mean ...?" for a name that is not known.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace orrery {

// Letters and digits of a name, small: what is the same in two spellings of it, as of all_reduce and AllReduce.
std::string plain_name(std::string_view name);

// The candidates that `word` may stand for, the likeliest first: those that begin with it, then those that contain it
// (in order of their numbers: 8b before 70b), else the nearest by edit distance (those with the part of `word` that has
// digits, if the nearest has not: hgx-a800 for dgx-a800), else the longest within it, else those with a part of `word`
// that has digits. Another spelling of one of them stands for that one alone.
// Case, '-' and '_' make no difference. Empty when none is likely.
std::vector<std::string> likely_names(std::string_view word, std::span<const std::string> candidates);

// The nearest by edit distance (case ignored), or "" when none is near enough to be a likely slip.
std::string nearest_name(std::string_view word, std::span<const std::string> candidates);

// "did you mean 'x'?", "did you mean one of x, y, z?", or "known: a, b, c" when nothing is likely; "" without
// candidates.
std::string suggestion(std::string_view word, std::span<const std::string> candidates);

}  // namespace orrery
