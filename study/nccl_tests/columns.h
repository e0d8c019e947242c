// SPDX-License-Identifier: MIT
// The columns of a table of nccl-tests, as its heading names them, and the words of a row under them. Versions differ
// in the columns (no redop, no root, "error" for "#wrong", times of iterations); rows leave fields blank.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "study/nccl_tests/line.h"

namespace orrery::study {

enum class NcclField : std::uint8_t {
  kSize,
  kCount,
  kType,
  kReduction,
  kRoot,
  kTime,   // in microseconds; a side has those from here on
  kAlgbw,  // in GB/s, as kBusbw
  kBusbw,
  kWrong,
  kError,
  kOther
};

enum class NcclSide : std::uint8_t { kOutOfPlace, kInPlace };

struct NcclColumn {
  NcclField field = NcclField::kOther;
  NcclSide side = NcclSide::kOutOfPlace;
  std::size_t end = 0;  // where its name ends in the heading of a log: fields stand to the right
};

// The words of a row. Empty where the table has no such column or the row leaves it blank.
class NcclCells {
 public:
  std::string_view& operator[](const NcclColumn& column) { return words_[place(column.field, column.side)]; }
  std::string_view at(NcclField field, NcclSide side = NcclSide::kOutOfPlace) const {
    return words_[place(field, side)];
  }

 private:
  static constexpr std::size_t kFields = static_cast<std::size_t>(NcclField::kOther) + 1;
  static std::size_t place(NcclField field, NcclSide side) {
    return static_cast<std::size_t>(field) + kFields * static_cast<std::size_t>(side);
  }

  std::array<std::string_view, 2 * kFields> words_;
};

struct NcclColumns {
  std::vector<NcclColumn> columns;
  std::size_t before_sides = 0;  // how many tell what was run
  bool tail = false;             // words of their own follow: a time, an algorithm
  std::string problem;           // why rows under this heading cannot be read; empty: they can
};

// "size ... time ... busbw"?
bool is_nccl_heading(std::span<const Word> words);

// `sides` is their order in the line above, as far as there was one.
NcclColumns nccl_columns(std::span<const Word> words, std::span<const NcclSide> sides);

// What is wrong with the line of units; empty where nothing is.
std::string wrong_unit(std::span<const Word> words);

// Nothing where the words do not fill the columns, and their places do not tell which ones are blank.
std::optional<NcclCells> nccl_cells(const NcclColumns& columns, std::span<const Word> words);

// Of a last line without a line end: it may be cut off, also within a number.
bool ends_early(const NcclColumns& columns, std::span<const Word> words);

}  // namespace orrery::study
