// SPDX-License-Identifier: MIT
// Algorithms as Chakra graphs of two ranks from hostile bytes: programs that pass the check, or an error.
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "collectives/longest_chain.h"
#include "collectives/schedule.h"
#include "core/assert.h"
#include "core/collective_kind.h"
#include "experiment/algorithm_file.h"
#include "tests/fuzz/fuzzed_files.h"
#include "tests/fuzz/fuzzer.h"
#include "tests/fuzz/problems.h"

// The first byte says which collective; then the graph of rank 0 and, behind a line, of rank 1.
ORRERY_FUZZER(fuzz_algorithm_file, input) {
  using namespace orrery;
  using namespace orrery::fuzz;
  static const FuzzedFolder folder;
  const std::uint8_t choice = byte_of(input, 0);
  const std::vector<std::string_view> parts = parts_of(input.substr(std::min<std::size_t>(1, input.size())), 2);
  folder.write("graph.0.et", parts[0]);
  folder.write("graph.1.et", parts[1]);
  const CollectiveKind kind = kAllCollectiveKinds[choice % kAllCollectiveKinds.size()];
  const std::optional<Bytes> size = choice / 16 % 2 == 0 ? std::nullopt : std::optional(Bytes(64));
  check_refusals([&] {
    const auto table = experiment::load_algorithm(folder.path_of("graph"), kind, size);
    ORRERY_ASSERT(table->kind() == kind && table->ranks() == 2);
    collectives::Request request;
    request.kind = kind;
    request.ranks = 2;
    request.root = table->root();
    request.bytes = Bytes(1000);
    const collectives::Schedule schedule = collectives::make_schedule(*table, request);
    collectives::longest_chain(schedule, [](std::uint32_t, std::uint32_t) { return Duration(1); });  // ends, or asserts
  });
}
