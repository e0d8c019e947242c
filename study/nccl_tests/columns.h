// The columns of a table of nccl-tests, as its heading names them, and the fields of a row under them. Versions differ
// in the columns (no redop, no root, "error" for "#wrong", times of iterations); rows leave fields blank.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "study/nccl_tests/line.h"
#include "study/nccl_tests/row.h"

namespace orrery {

enum class NcclField : std::uint8_t {
  kSize,
  kCount,
  kType,
  kReduction,
  kRoot,
  kTime,
  kAlgbw,
  kBusbw,
  kWrong,
  kError,
  kOther
};

struct NcclColumn {
  NcclField field = NcclField::kOther;
  NcclSide side = NcclSide::kOutOfPlace;  // of the fields from kTime on
  std::size_t end = 0;                    // where its name ends: fields stand to the right
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
std::optional<NcclRowText> nccl_fields(const NcclColumns& columns, std::span<const Word> words);

// Of a last line without a line end: it may be cut off, also within a number.
bool ends_early(const NcclColumns& columns, std::span<const Word> words);

}  // namespace orrery
