// Hashes of numbers, the same on every machine.
#pragma once

#include <cstdint>
#include <initializer_list>

namespace orrery {

// The finaliser of splitmix64 (Steele, Lea and Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014).
constexpr std::uint64_t mixed(std::uint64_t value) {
  value += 0x9e3779b97f4a7c15;
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9;
  value = (value ^ (value >> 27)) * 0x94d049bb133111eb;
  return value ^ (value >> 31);
}

// Of a sequence: the order counts.
constexpr std::uint64_t hash_of(std::initializer_list<std::uint64_t> values) {
  std::uint64_t hash = values.size();
  for (const std::uint64_t value : values) hash = mixed(hash + mixed(value));
  return hash;
}

}  // namespace orrery
