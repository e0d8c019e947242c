// SPDX-License-Identifier: MIT
// Mutations that keep the structure of an input, so that more of it is read than by random bytes: lines and words of
// text; in binary traces frames and fields, whose lengths stay right.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace orrery::fuzz {

// Numbers that follow from a seed, the same on every machine.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}
  std::uint64_t next();
  // A number below `end`; 0 where that is 0.
  std::size_t below(std::size_t end) { return end == 0 ? 0 : static_cast<std::size_t>(next() % end); }

 private:
  std::uint64_t state_;
};

inline constexpr std::size_t kMostBytes = 1 << 16;  // of what comes out

// `input` after one mutation, of its text or of its frames, whichever it is.
std::string mutated(std::string_view input, Random& random);

}  // namespace orrery::fuzz
