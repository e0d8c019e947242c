// A row of a table of nccl-tests, from its fields as they are printed.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/error.h"
#include "study/nccl_tests/log.h"

namespace orrery {

enum class NcclSide : std::uint8_t { kOutOfPlace, kInPlace };

// Empty where the table has no such column or the row leaves it blank.
struct NcclRowText {
  struct Side {
    std::string_view time;   // in microseconds
    std::string_view algbw;  // in GB/s
    std::string_view busbw;
    std::string_view wrong;
    std::string_view error;
  };

  std::string_view bytes;
  std::string_view count;
  std::string_view type;
  std::string_view reduction;
  std::string_view root;
  std::array<Side, 2> sides;  // by NcclSide
};

// What a row is checked against.
struct NcclRowContext {
  std::optional<NcclTest> test;
  std::uint32_t ranks = 0;     // of a group; 0: not known
  bool written_again = false;  // another program read the numbers and wrote them: 13989 became 13989.0
};

// Nothing, and an error, where a value is no number of its kind, negative or out of range. Warns of wrong results,
// of times and bandwidths that are not finite or not positive (and leaves them out), and of bandwidths that do not
// follow from bytes and time.
std::optional<NcclRow> nccl_row(const NcclRowText& text, const NcclRowContext& context, const Location& where,
                                Diagnostics& diagnostics);

}  // namespace orrery
