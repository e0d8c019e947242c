// SPDX-License-Identifier: MIT
// The size of a trace in two bytes, the trace and another one: what is read beside the first is what it is by itself.
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "tests/fuzz/fuzzer.h"
#include "tests/workload/traces/same_trace.h"
#include "workload/traces/alike.h"

using namespace orrery::workload;

ORRERY_FUZZER(fuzz_alike, input) {
  if (input.size() < 2) return;
  const std::string_view bytes = input.substr(2);
  const std::string first(
      bytes.substr(0, std::size_t{orrery::fuzz::byte_of(input, 0)} << 8 | orrery::fuzz::byte_of(input, 1)));
  const std::string_view other = bytes.substr(first.size());
  const RankTrace trace = read_rank_trace("model.et", first, Dependencies::kBoth);
  const std::optional<TraceModel> model = TraceModel::of(first, trace);
  if (!model) return;
  const std::optional<RankTrace> beside = model->read("other.et", other);
  if (!beside) return;
  const RankTrace by_itself = read_rank_trace("other.et", other, Dependencies::kBoth);
  if (!orrery::testing::difference(*beside, trace, by_itself).empty()) std::abort();
}
