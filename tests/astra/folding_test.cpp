// SPDX-License-Identifier: MIT
// Folded and unfolded runs of random jobs give every rank the same time: of jobs that fold, and of jobs with a rank
// that is not like the others.
#include <catch2/catch.hpp>

#include <random>
#include <string>

#include "astra/engine/cast.h"
#include "core/error.h"
#include "tests/astra/jobs.h"

namespace orrery::astra {
namespace {

class RandomJob {
 public:
  explicit RandomJob(std::uint32_t seed) : random_(seed) {
    std::vector<std::pair<TopologyKind, std::uint32_t>> dimensions;
    const std::uint32_t count = 1 + pick(3);
    for (std::uint32_t d = 0; d < count; ++d)
      dimensions.emplace_back(static_cast<TopologyKind>(pick(3)), 2u << pick(2));
    inputs = small_inputs(dimensions);
    for (Implementation& implementation : inputs.system.implementations)
      for (Algorithm& algorithm : implementation.dimensions) {
        algorithm.kind = static_cast<AlgorithmKind>(pick(3));
        if (algorithm.kind == AlgorithmKind::kDirect) algorithm.window = pick(4);
      }
    // No all-to-all of halvingDoubling.
    for (Algorithm& algorithm : inputs.system.implementations[3].dimensions) algorithm.kind = AlgorithmKind::kDirect;
    inputs.system.splits = 1u << pick(3);
    inputs.system.active_chunks = 1 + pick(3);
    inputs.system.endpoint_delay = 1 + pick(3) * 250;  // often in step with the latency
    inputs.flags.queues_per_dimension = 1 + pick(2);
    make_groups();
    make_program();
  }

  Inputs inputs;
  Job job;

 private:
  std::uint32_t pick(std::uint32_t below) { return static_cast<std::uint32_t>(random_() % below); }

  // Blocks of ranks, and ranks at the same place of their blocks.
  void make_groups() {
    const std::uint32_t npus = inputs.network.npus;
    block_ = 1;
    while (block_ < npus && pick(3) > 0) block_ *= 2;
    for (std::uint32_t rank = 0; rank < npus; ++rank) {
      inputs.groups[1 + rank / block_].push_back(rank);
      inputs.groups[100 + rank % block_].push_back(rank);
    }
  }

  void make_program() {
    const std::uint32_t npus = inputs.network.npus;
    std::vector<Node> nodes;
    std::vector<std::pair<std::uint32_t, std::uint32_t>> edges;
    const std::uint32_t count = 3 + pick(10);
    const std::uint32_t shift = block_ * (1 + pick(2)) % npus;
    for (std::uint32_t id = 0; id < count; ++id) {
      const std::uint64_t bytes = std::uint64_t{1} << (10 + pick(8));
      switch (pick(6)) {
        case 0:
          nodes.push_back(collective_node(id, static_cast<CommKind>(pick(4)), bytes, 0));
          break;
        case 1:
          nodes.push_back(block_ > 1 && block_ < npus ? collective_node(id, CommKind::kAllReduce, bytes, 1)
                                                      : compute_node(id, 500));
          break;
        case 2:
          nodes.push_back(block_ < npus && block_ > 1 ? collective_node(id, CommKind::kAllGather, bytes, 2)
                                                      : compute_node(id, 1000));
          break;
        case 3:
          if (shift != 0 && shift * 2 != npus && id + 1 < count) {
            nodes.push_back(message_node(id, NodeKind::kSend, 0, bytes, id));
            ++id;
            nodes.push_back(message_node(id, NodeKind::kReceive, 1, bytes, id - 1));
            break;
          }
          [[fallthrough]];
        default:
          nodes.push_back(compute_node(id, 1 + 250 * pick(20)));
      }
    }
    for (std::uint32_t child = 1; child < nodes.size(); ++child)
      for (std::uint32_t parent = 0; parent < child; ++parent)
        if (nodes[parent].kind != NodeKind::kSend && pick(4) == 0) edges.emplace_back(parent, child);
    job.programs = {program_of(nodes, edges)};
    for (std::uint32_t rank = 0; rank < npus; ++rank)
      job.ranks.push_back(
          {0, {(rank + shift) % npus, (rank + npus - shift) % npus}, {0, 1 + rank / block_, 100 + rank % block_}});
    if (shift == 0 || shift * 2 == npus)
      for (RankProgram& rank : job.ranks) rank.peers.clear();
    if (pick(8) > 0) return;
    nodes.push_back(compute_node(count + 1, 7));
    job.programs.push_back(program_of(nodes, edges));
    job.ranks[pick(npus)].program = 1;
  }

  std::mt19937 random_;
  std::uint32_t block_ = 1;
};

std::string outcome_of(const Inputs& inputs, const Job& job, Folding folding, bool& folded) {
  try {
    const Result result = simulate(inputs, job, folding);
    folded = result.agents.size() < result.ranks.size();
    std::string text;
    for (const Ticks time : finish_times(result)) text += std::to_string(time) + " ";
    return text;
  } catch (const StuckError& error) {
    folded = false;
    return error.what();
  }
}

}  // namespace

TEST_CASE("folded and unfolded runs of random jobs agree") {
  std::uint32_t folded_runs = 0;
  for (std::uint32_t seed = 0; seed < 3000; ++seed) {
    const RandomJob random(seed);
    bool folded = false, unfolded = false;
    CAPTURE(seed);
    const std::string with = outcome_of(random.inputs, random.job, Folding::kAuto, folded);
    const std::string without = outcome_of(random.inputs, random.job, Folding::kOff, unfolded);
    REQUIRE(with == without);
    REQUIRE_FALSE(unfolded);
    folded_runs += folded ? 1 : 0;
  }
  CHECK(folded_runs > 500);
}

TEST_CASE("stages of a pipeline are classes, a rank by itself is none") {
  const Inputs inputs = small_inputs({{TopologyKind::kSwitch, 4}, {TopologyKind::kRing, 2}});
  Job job;
  job.programs = {program_of({message_node(0, NodeKind::kSend, 0, 4096)}),
                  program_of({message_node(0, NodeKind::kReceive, 0, 4096)})};
  for (std::uint32_t rank = 0; rank < 8; ++rank) job.ranks.push_back({rank / 4, {(rank + 4) % 8}, {}});
  CHECK(Cast::folded(inputs, job).agent_count() == 2);
  // Rank 1 sends to rank 0's partner, which then has two senders: nothing folds.
  job.ranks[1].peers = {4};
  CHECK_FALSE(Cast::folded(inputs, job).is_folded());
}

}  // namespace orrery::astra
