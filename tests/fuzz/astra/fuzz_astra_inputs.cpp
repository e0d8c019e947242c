// SPDX-License-Identifier: MIT
// ASTRA-sim's files from hostile text: system, network, remote memory, communicator groups, custom algorithms of nodes.
// They are read or refused, each problem at a line that its file has; small machines simulate an all-reduce.
#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "astra/engine/simulation.h"
#include "astra/input/inputs.h"
#include "core/assert.h"
#include "tests/fuzz/fuzzed_files.h"
#include "tests/fuzz/fuzzer.h"
#include "tests/fuzz/problems.h"

namespace orrery::fuzz {
namespace {

constexpr std::array<std::string_view, 5> kNames = {"system.json", "network.yml", "memory.json", "groups.json",
                                                    "nodes.yml"};
// Files in place of those that the input does not have.
constexpr std::array<std::string_view, 5> kSound = {
    R"({"preferred-dataset-splits": 4, "all-reduce-implementation": ["ring"], "all-gather-implementation": ["ring"],
"reduce-scatter-implementation": ["ring"], "all-to-all-implementation": ["direct"]})",
    "topology: [ Ring ]\nnpus_count: [ 4 ]\nbandwidth: [ 50.0 ]\nlatency: [ 500.0 ]\n",
    R"({"memory-type": "NO_MEMORY_EXPANSION"})", R"({"1": [0, 1]})", "3: custom\n"};

constexpr std::uint32_t kMostNpus = 16;
constexpr std::uint64_t kMostSplits = 64;

// Every rank calls one all-reduce of all.
astra::Job small_job(std::uint32_t npus) {
  astra::Program program;
  program.nodes.push_back({.id = 0, .kind = astra::NodeKind::kCollective, .dimensions = UINT32_MAX, .bytes = 1 << 16});
  program.child_begin = {0, 0};
  program.parent_count = {0};
  astra::Job job;
  job.programs = {program};
  job.ranks.assign(npus, {0, {}, {0}});
  return job;
}

void simulate_small(const astra::Inputs& inputs) {
  if (inputs.network.npus > kMostNpus || inputs.system.splits > kMostSplits) return;
  for (const astra::Implementation& implementation : inputs.system.implementations)
    if (!implementation.custom.empty()) return;
  try {
    const astra::Result result = astra::simulate(inputs, small_job(inputs.network.npus), astra::Folding::kAuto);
    ORRERY_ASSERT(result.ranks.size() == inputs.network.npus);
  } catch (const StuckError&) {
  }
}

}  // namespace
}  // namespace orrery::fuzz

ORRERY_FUZZER(fuzz_astra_inputs, input) {
  using namespace orrery;
  using namespace orrery::fuzz;
  static const FuzzedFolder folder;
  const std::vector<std::string_view> parts = parts_of(input, kNames.size());
  std::array<std::string, kNames.size()> files, texts;
  for (std::size_t i = 0; i < kNames.size(); ++i) {
    texts[i] = parts[i].empty() ? kSound[i] : parts[i];
    files[i] = folder.write(kNames[i], texts[i]);
  }
  astra::Flags flags{.workload = folder.path_of("rank"),
                     .system = files[0],
                     .network = files[1],
                     .remote_memory = files[2],
                     .groups = files[3]};
  const auto check = [&](std::span<const Problem> problems) {
    for (std::size_t i = 0; i < kNames.size(); ++i) check_problems(problems, files[i], texts[i]);
  };
  try {
    const astra::Inputs inputs = astra::read_inputs(flags);
    check(inputs.warnings);
    for (const auto& [id, members] : inputs.groups)
      for (const std::uint32_t member : members) ORRERY_ASSERT(member < inputs.network.npus);
    simulate_small(inputs);
  } catch (const InputError& error) {
    ORRERY_ASSERT(!error.problems().empty());
    check(error.problems());
  }
}
