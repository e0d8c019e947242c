// SPDX-License-Identifier: MIT
// Half of libFuzzer's mutations are ours (tests/fuzz/mutation.h), the others its own.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>

#include "tests/fuzz/mutation.h"

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t most);

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t most,
                                               unsigned int seed) {
  orrery::fuzz::Random random(seed);
  if (random.below(2) == 0) return LLVMFuzzerMutate(data, size, most);
  std::string input(reinterpret_cast<const char*>(data), size);
  for (std::size_t left = 1 + random.below(4); left > 0; --left) input = orrery::fuzz::mutated(input, random);
  const std::size_t length = std::min(input.size(), most);
  std::memcpy(data, input.data(), length);
  return length;
}
