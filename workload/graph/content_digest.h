// A 64-bit digest of columns of numbers, by which equal graphs find each other. Whoever uses it compares the contents
// as well.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <type_traits>
#include <vector>

namespace orrery {

class ContentDigest {
 public:
  void add(std::uint64_t value) {
    // splitmix64's finaliser: every input bit changes half of the output bits.
    std::uint64_t mixed = (state_ ^ value) + 0x9E3779B97F4A7C15U;
    mixed = (mixed ^ (mixed >> 30)) * 0xBF58476D1CE4E5B9U;
    mixed = (mixed ^ (mixed >> 27)) * 0x94D049BB133111EBU;
    state_ = mixed ^ (mixed >> 31);
  }

  template <class Number>
  requires std::is_integral_v<Number> || std::is_enum_v<Number>
  void add_column(const std::vector<Number>& column) {
    add(column.size());
    for (const Number number : column) add(static_cast<std::uint64_t>(number));
  }

  template <class Unit>
  requires requires(Unit unit) { unit.count(); }
  void add_column(const std::vector<Unit>& column) {
    add(column.size());
    for (const Unit& unit : column) add(static_cast<std::uint64_t>(unit.count()));
  }

  void add_text(std::string_view text) {
    add(text.size());
    for (const char character : text) add(static_cast<unsigned char>(character));
  }

  std::uint64_t value() const { return state_; }

 private:
  std::uint64_t state_ = 0;
};

}  // namespace orrery
