// SPDX-License-Identifier: MIT
// Traces as ASTRA-sim's reader takes them, from hostile bytes: of two ranks, or a custom schedule. What is read has
// edges between nodes that are there, and the reader for speed takes nothing that the careful one refuses.
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "astra/engine/simulation.h"
#include "astra/input/program.h"
#include "astra/input/trace_reader.h"
#include "core/assert.h"
#include "tests/fuzz/chakra_sink.h"
#include "tests/fuzz/fuzzed_files.h"
#include "tests/fuzz/fuzzer.h"
#include "tests/fuzz/problems.h"

namespace orrery::fuzz {
namespace {

constexpr std::uint64_t kMostBytes = 1 << 24;  // longer messages are sound, but take long in ASTRA-sim's order

void check_program(const astra::Program& program) {
  ORRERY_ASSERT(program.child_begin.size() == program.nodes.size() + 1);
  ORRERY_ASSERT(program.parent_count.size() == program.nodes.size());
  for (const std::uint32_t child : program.children) ORRERY_ASSERT(child < program.nodes.size());
  for (std::size_t i = 1; i < program.nodes.size(); ++i) ORRERY_ASSERT(program.nodes[i - 1].id < program.nodes[i].id);
}

astra::Inputs two_ranks(const std::string& prefix) {
  astra::Inputs inputs;
  inputs.flags.workload = prefix;
  inputs.network.npus = 2;
  inputs.network.dimensions.push_back({astra::TopologyKind::kRing, 2, 50, 500, 50});
  for (astra::Implementation& implementation : inputs.system.implementations)
    implementation.dimensions.assign(1, {.kind = astra::AlgorithmKind::kRing, .name = "ring"});
  inputs.system.baseline = false;
  inputs.system.splits = 1;
  inputs.system.memory_bandwidth = 1600;
  inputs.memory.kind = astra::MemoryKind::kPerNpu;
  inputs.memory.latency = 100;
  inputs.memory.bandwidth = 40;
  inputs.groups = {{1, {0, 1}}};
  return inputs;
}

bool is_small(const astra::Job& job) {
  for (const astra::Program& program : job.programs) {
    if (program.nodes.size() > 200) return false;
    for (const astra::Node& node : program.nodes)
      if (node.bytes > kMostBytes) return false;
  }
  return true;
}

void read_and_run(const std::string& prefix) {
  astra::Inputs inputs = two_ranks(prefix);
  const astra::Job job = astra::read_job(inputs);
  ORRERY_ASSERT(job.ranks.size() == inputs.network.npus);
  for (const astra::Program& program : job.programs) check_program(program);
  check_problems(inputs.warnings);
  if (!is_small(job)) return;
  try {
    astra::simulate(inputs, job, astra::Folding::kAuto);
  } catch (const StuckError&) {
  }
}

void check_against_careful_reader(std::string_view bytes) {
  std::vector<astra::TraceNode> nodes;
  astra::read_trace("fuzzed.et", bytes, nodes);  // or throws
  ORRERY_ASSERT(!nodes.empty());
  test::ChakraSink sink;
  workload::read_chakra("fuzzed.et", bytes, sink);
}

}  // namespace
}  // namespace orrery::fuzz

// The traces of rank 0 and, behind a line, of rank 1; without it both have the same.
ORRERY_FUZZER(fuzz_astra_trace, input) {
  using namespace orrery;
  using namespace orrery::fuzz;
  static const FuzzedFolder folder;
  const std::vector<std::string_view> parts = parts_of(input, 2);
  const std::string first = folder.write("rank.0.et", parts[0]);
  folder.write("rank.1.et", parts[1].empty() ? parts[0] : parts[1]);
  check_refusals([&] { read_and_run(folder.path_of("rank")); });
  check_refusals([&] {
    std::vector<std::uint32_t> peers;
    check_program(astra::read_custom(first, 0, peers));
  });
  try {
    check_against_careful_reader(parts[0]);
  } catch (const InputError& error) {
    ORRERY_ASSERT(!error.problems().empty());
  }
}
