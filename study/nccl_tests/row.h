// SPDX-License-Identifier: MIT
// A row of a table of nccl-tests, from its words.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "core/error.h"
#include "study/nccl_tests/columns.h"
#include "study/nccl_tests/log.h"

namespace orrery::study {

// What a row is checked against.
struct NcclRowContext {
  std::optional<NcclTest> test;
  std::uint32_t ranks = 0;     // of a group; 0: not known
  bool written_again = false;  // another program read the numbers and wrote them: 13989 became 13989.0
};

// Nothing, and an error, where a value is no number of its kind, negative or out of range. Warns of wrong results,
// of times and bandwidths that are not finite or not positive (and leaves them out), and of bandwidths that do not
// follow from bytes and time.
std::optional<NcclRow> nccl_row(const NcclCells& cells, const NcclRowContext& context, const Location& where,
                                Diagnostics& diagnostics);

// The program that a table's operation is of: "all_reduce".
std::optional<NcclTest> nccl_test_named(std::string_view name);
// Of a word like "./build/all_reduce_perf_mpi": the program it runs.
std::optional<NcclTest> nccl_test_run_by(std::string_view word);

}  // namespace orrery::study
