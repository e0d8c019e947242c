// SPDX-License-Identifier: MIT
// Any text as an algorithm in MSCCL's XML: programs that pass the check and can be simulated, or an error. Sends and
// receives of the programs meet.
#include <cstdint>
#include <string_view>
#include <vector>

#include "collectives/custom/check.h"
#include "collectives/custom/compile.h"
#include "collectives/custom/msccl.h"
#include "collectives/longest_chain.h"
#include "collectives/schedule.h"
#include "core/assert.h"
#include "core/error.h"
#include "tests/fuzz/fuzzer.h"

ORRERY_FUZZER(fuzz_msccl, text) {
  using namespace orrery;
  using namespace orrery::collectives;
  try {
    const MscclAlgorithm read = read_msccl("fuzzed.xml", text);
    check_written(read.written);
    const MessageTable table = compile(read.name, read.written);
    Request request;
    request.kind = table.kind();
    request.ranks = table.ranks();
    request.root = table.root();
    request.bytes = Bytes(1000);
    const Schedule schedule = make_schedule(table, request);
    std::vector<std::vector<bool>> filled;
    for (std::uint32_t rank = 0; rank < schedule.ranks(); ++rank) filled.emplace_back(schedule.receives(rank));
    for (std::uint32_t rank = 0; rank < schedule.ranks(); ++rank)
      for (std::uint32_t i = 0; i < schedule.sends(rank); ++i) {
        const Step step = schedule.step(rank, i);
        ORRERY_ASSERT(step.to != rank && !filled.at(step.to).at(step.slot) && step.bytes > Bytes(0));
        filled[step.to][step.slot] = true;
      }
    for (const std::vector<bool>& slots : filled)
      for (const bool is_filled : slots) ORRERY_ASSERT(is_filled);
    longest_chain(schedule, [](std::uint32_t, std::uint32_t) { return Duration(1); });  // ends, or asserts
  } catch (const InputError& error) {
    ORRERY_ASSERT(!error.problems().empty());
    for (const Problem& problem : error.problems()) ORRERY_ASSERT(!to_string(problem).empty());
  }
}
