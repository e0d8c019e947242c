// SPDX-License-Identifier: MIT
// Rows of bits of equal length, with the set operations that the oracle needs.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace orrery::collectives {

// A set as a row of bits; sets that meet have equal lengths.
using BitRow = std::span<std::uint64_t>;
using ConstBitRow = std::span<const std::uint64_t>;

inline void insert(BitRow row, std::size_t bit) { row[bit / 64] |= std::uint64_t{1} << (bit % 64); }
inline bool contains(ConstBitRow row, std::size_t bit) { return (row[bit / 64] >> (bit % 64) & 1) != 0; }

inline bool is_empty(ConstBitRow row) {
  return std::ranges::all_of(row, [](std::uint64_t word) { return word == 0; });
}

inline bool intersects(ConstBitRow a, ConstBitRow b) {
  for (std::size_t i = 0; i < a.size(); ++i)
    if ((a[i] & b[i]) != 0) return true;
  return false;
}

inline void add_all(BitRow row, ConstBitRow other) {
  for (std::size_t i = 0; i < row.size(); ++i) row[i] |= other[i];
}

class BitMatrix {
 public:
  BitMatrix(std::size_t rows, std::size_t bits) : words_((bits + 63) / 64), data_(rows * words_) {}

  BitRow row(std::size_t i) { return BitRow(data_).subspan(i * words_, words_); }
  ConstBitRow row(std::size_t i) const { return ConstBitRow(data_).subspan(i * words_, words_); }

 private:
  std::size_t words_;
  std::vector<std::uint64_t> data_;
};

}  // namespace orrery::collectives
