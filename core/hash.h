// SPDX-License-Identifier: MIT
// Hashes of numbers, the same on every machine.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string_view>
#include <type_traits>
#include <vector>

namespace orrery {

// The finaliser of splitmix64 (Steele, Lea and Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014).
constexpr std::uint64_t mixed(std::uint64_t value) {
  value += 0x9e3779b97f4a7c15;
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9;
  value = (value ^ (value >> 27)) * 0x94d049bb133111eb;
  return value ^ (value >> 31);
}

// Hash of a sequence; the order counts.
constexpr std::uint64_t hash_of(std::initializer_list<std::uint64_t> values) {
  std::uint64_t hash = values.size();
  for (const std::uint64_t value : values) hash = mixed(hash + mixed(value));
  return hash;
}

// A 64-bit digest of columns of numbers, by which equal contents find each other. Whoever uses it compares the contents
// as well, or takes two digests of different seeds.
class ContentDigest {
 public:
  explicit ContentDigest(std::uint64_t seed = 0) : state_(seed) {}

  void add(std::uint64_t value) { state_ = mixed(state_ ^ value); }

  template <class Number>
  requires std::is_integral_v<Number> || std::is_enum_v<Number>
  void add_column(const std::vector<Number>& column) {
    add_all(column, [](Number number) { return static_cast<std::uint64_t>(number); });
  }

  template <class Unit>
  requires requires(Unit unit) { unit.count(); }
  void add_column(const std::vector<Unit>& column) {
    add_all(column, [](const Unit& unit) { return static_cast<std::uint64_t>(unit.count()); });
  }

  void add_text(std::string_view text) {
    add(text.size());
    for (const char character : text) add(static_cast<unsigned char>(character));
  }

  std::uint64_t value() const { return state_; }

 private:
  // Hashes each element with its place, so that none has to wait for the one before.
  template <class Column, class Value>
  void add_all(const Column& column, const Value& value) {
    add(column.size());
    std::uint64_t place = state_, sum = 0;
    for (const auto& element : column) sum += mixed((place += 0x9e3779b97f4a7c15) ^ value(element));
    add(sum);
  }

  std::uint64_t state_ = 0;
};

}  // namespace orrery
