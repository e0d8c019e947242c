// SPDX-License-Identifier: MIT
// Logs of nccl-tests from hostile text. Either there is a table or an error; rows hold what the header promises, and
// problems name lines that the text has.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string_view>

#include "core/assert.h"
#include "core/error.h"
#include "study/nccl_tests/log.h"
#include "tests/fuzz/fuzzer.h"

namespace {

void check(const orrery::study::NcclRow::Side& side) {
  using namespace orrery;
  using namespace orrery::study;
  if (side.time) ORRERY_ASSERT(*side.time > Duration::zero());
  for (const auto& value : {side.algbw, side.busbw, side.error})
    if (value) ORRERY_ASSERT(std::isfinite(*value) && *value >= 0);
}

}  // namespace

ORRERY_FUZZER(fuzz_nccl_log, text) {
  using namespace orrery;
  using namespace orrery::study;
  const auto lines = 1 + std::ranges::count(text, '\n');
  Diagnostics diagnostics;
  const std::vector<NcclTable> tables = read_nccl_log(text, "fuzz.log", diagnostics);
  ORRERY_ASSERT(!tables.empty() || diagnostics.has_errors());
  for (const NcclTable& table : tables) {
    ORRERY_ASSERT(!table.rows.empty() && table.line >= 0 && table.line <= lines);
    for (const NcclRow& row : table.rows) {
      ORRERY_ASSERT(row.bytes >= Bytes(0) && row.line >= table.line && row.line <= lines);
      check(row.out_of_place);
      check(row.in_place);
    }
  }
  for (const Problem& problem : diagnostics.problems()) {
    ORRERY_ASSERT(problem.where.line >= 0 && problem.where.line <= lines);
    ORRERY_ASSERT(!to_string(problem).empty());
  }
}
