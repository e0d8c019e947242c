// SPDX-License-Identifier: MIT
// Folded and unfolded runs of random jobs give every rank the same time: of jobs that fold, and of jobs with a rank
// that is not like the others.
#include <catch2/catch.hpp>

#include <algorithm>
#include <array>
#include <numeric>
#include <random>
#include <string>

#include "astra/engine/cast.h"
#include "core/error.h"
#include "tests/astra/jobs.h"

namespace orrery::astra {
namespace {

constexpr std::uint32_t kJobs = 2000;

// Ranks of one stage or two, each with a program: computing on the device and the host, collectives of all ranks and of
// groups, messages around the stage and between the stages. Few different durations, so that much is over at once; a
// node often waits for one of a send and a receive only, and ids are in no order of dependencies.
class RandomJob {
 public:
  RandomJob(Backend backend, std::uint32_t seed) : random_(seed) {
    make_inputs(backend);
    const std::uint32_t npus = inputs.network.npus;
    const std::uint32_t stages = npus % 2 == 0 && npus > 2 ? 1 + pick(2) : 1;
    stage_size_ = npus / stages;
    make_groups(pick(3));
    const std::uint32_t steps = 3 + pick(10);
    for (std::uint32_t stage = 0; stage < stages; ++stage) drafts_.emplace_back();
    for (std::uint32_t step = 0; step < steps; ++step) add_step();
    for (Draft& draft : drafts_) {
      if (pick(2) == 0) shuffle_ids(draft);
      job.programs.push_back(program_of(draft.nodes, draft.edges));
    }
    for (std::uint32_t rank = 0; rank < npus; ++rank) job.ranks.push_back(rank_program(rank));
    if (pick(8) > 0) return;
    // One that is not like the others.
    Draft other = drafts_.front();
    other.nodes.push_back(compute_node(other.nodes.size(), 7));
    job.programs.push_back(program_of(other.nodes, other.edges));
    job.ranks[pick(stage_size_)].program = stages;
  }

  Inputs inputs;
  Job job;

 private:
  struct Draft {
    std::vector<Node> nodes{};
    std::vector<std::pair<std::uint32_t, std::uint32_t>> edges{};
    std::vector<std::uint32_t> peers{};  // places ahead in the stage; 0: the partner in the other stage
  };

  std::uint32_t pick(std::uint32_t below) { return static_cast<std::uint32_t>(random_() % below); }

  void make_inputs(Backend backend) {
    const bool shares = backend == Backend::kAware;  // takes one dimension, and no ring of two
    std::vector<std::pair<TopologyKind, std::uint32_t>> dimensions;
    const std::uint32_t count = shares ? 1 : 1 + pick(3);
    const bool halves = pick(2) == 0;  // sizes are powers of two
    for (std::uint32_t d = 0; d < count; ++d)
      dimensions.emplace_back(static_cast<TopologyKind>(pick(3)), halves ? 2u << pick(2) : 2 + pick(count > 1 ? 2 : 5));
    if (shares) dimensions.front().second = halves ? 4u << pick(3) : 3 + pick(14);
    inputs = small_inputs(dimensions);
    inputs.flags.backend = backend;
    for (Dimension& dimension : inputs.network.dimensions) dimension.latency = pick(4) == 0 ? 0 : 500;
    for (Implementation& implementation : inputs.system.implementations)
      for (Algorithm& algorithm : implementation.dimensions) {
        algorithm.kind = static_cast<AlgorithmKind>(pick(halves ? 3 : 2));
        if (algorithm.kind == AlgorithmKind::kDirect) algorithm.window = pick(4);
      }
    // No all-to-all of halvingDoubling.
    for (Algorithm& algorithm : inputs.system.implementations[3].dimensions) algorithm.kind = AlgorithmKind::kDirect;
    inputs.system.splits = 1u << pick(3);
    inputs.system.active_chunks = 1 + pick(3);
    inputs.system.baseline = pick(2) == 0;
    inputs.system.endpoint_delay = 1 + pick(3) * 250;  // often in step with the latency
    inputs.flags.queues_per_dimension = 1 + pick(2);
  }

  // Each stage in groups of one size: blocks, ranks at a stride, or any.
  void make_groups(std::uint32_t tables) {
    for (std::uint32_t table = 0; table < tables; ++table) {
      std::vector<std::uint32_t> sizes;
      for (std::uint32_t size = 2; size < stage_size_; ++size)
        if (stage_size_ % size == 0) sizes.push_back(size);
      if (sizes.empty()) return;
      const std::uint32_t size = sizes[pick(static_cast<std::uint32_t>(sizes.size()))];
      const std::uint32_t kind = pick(3);
      std::vector<std::uint64_t>& group_of = group_of_.emplace_back(inputs.network.npus);
      for (std::uint32_t first = 0; first < inputs.network.npus; first += stage_size_) {
        std::vector<std::uint32_t> ranks(stage_size_);
        for (std::uint32_t i = 0; i < stage_size_; ++i)
          ranks[kind == 1 ? i % (stage_size_ / size) * size + i / (stage_size_ / size) : i] = first + i;
        if (kind == 2) std::shuffle(ranks.begin(), ranks.end(), random_);
        for (std::uint32_t i = 0; i < stage_size_; ++i) {
          if (i % size == 0) ++groups_;
          inputs.groups[groups_].push_back(ranks[i]);
          group_of[ranks[i]] = groups_;
        }
      }
    }
  }

  std::vector<std::uint32_t> some_nodes(const Draft& draft) {
    std::vector<std::uint32_t> some;
    const auto count = static_cast<std::uint32_t>(draft.nodes.size());
    for (std::uint32_t node = count > 4 ? count - 4 : 0; node < count; ++node)
      if (pick(5) < 2) some.push_back(node);
    return some;
  }

  static void add(Draft& draft, Node node, const std::vector<std::uint32_t>& after) {
    const auto place = static_cast<std::uint32_t>(draft.nodes.size());
    node.id = place;
    draft.nodes.push_back(node);
    for (const std::uint32_t parent : after) draft.edges.emplace_back(parent, place);
  }

  static std::uint32_t slot_of(Draft& draft, std::uint32_t ahead) {
    const auto found = std::ranges::find(draft.peers, ahead);
    const auto slot = static_cast<std::uint32_t>(found - draft.peers.begin());
    if (found == draft.peers.end()) draft.peers.push_back(ahead);
    return slot;
  }

  // Nodes of one kind in each stage.
  void add_step() {
    constexpr std::array<Ticks, 7> kDurations = {1, 1, 10, 251, 500, 576, 20'000};
    const std::uint64_t bytes = std::uint64_t{1024} << 2 * pick(5);
    const std::uint32_t kind = pick(8);
    const std::uint32_t tag = pick(2) * 100 + pick(2);
    const std::uint32_t ahead = stage_size_ > 1 ? 1 + pick(stage_size_ - 1) : 0;
    const auto comm = static_cast<CommKind>(pick(4));
    const auto table = static_cast<std::uint32_t>(pick(2));
    for (std::uint32_t stage = 0; stage < drafts_.size(); ++stage) {
      Draft& draft = drafts_[stage];
      const std::vector<std::uint32_t> after = some_nodes(draft);
      if (kind == 0 && drafts_.size() == 1) {
        add(draft, collective_node(0, comm, bytes, 0), after);
      } else if (kind <= 1 && table < group_of_.size()) {
        add(draft, collective_node(0, comm, bytes, drafts_.size() == 1 ? 1 + table : table), after);
      } else if (kind <= 4 && ahead > 0) {
        add(draft, message_node(0, NodeKind::kSend, slot_of(draft, ahead), bytes, tag), after);
        add(draft, message_node(0, NodeKind::kReceive, slot_of(draft, stage_size_ - ahead), bytes, tag),
            pick(2) == 0 ? after : some_nodes(draft));
      } else if (kind == 5 && drafts_.size() == 2) {
        const NodeKind end = stage == 0 ? NodeKind::kSend : NodeKind::kReceive;
        add(draft, message_node(0, end, slot_of(draft, 0), bytes, tag), after);
      } else {
        Node node = compute_node(0, kDurations[pick(kDurations.size())]);
        node.on_host = pick(3) == 0;
        if (pick(40) == 0) node.duration = 0;  // as a small one by the roofline
        add(draft, node, after);
      }
    }
  }

  void shuffle_ids(Draft& draft) {
    std::vector<std::uint32_t> place(draft.nodes.size());
    std::iota(place.begin(), place.end(), 0);
    std::shuffle(place.begin(), place.end(), random_);
    std::vector<Node> nodes(draft.nodes.size());
    for (std::uint32_t node = 0; node < nodes.size(); ++node) {
      nodes[place[node]] = draft.nodes[node];
      nodes[place[node]].id = place[node];
    }
    draft.nodes = std::move(nodes);
    for (auto& [parent, child] : draft.edges) {
      parent = place[parent];
      child = place[child];
    }
  }

  RankProgram rank_program(std::uint32_t rank) const {
    const std::uint32_t stage = rank / stage_size_;
    RankProgram own;
    own.program = stage;
    if (drafts_.size() == 1) own.groups = {0};
    for (const std::vector<std::uint64_t>& group_of : group_of_) own.groups.push_back(group_of[rank]);
    for (const std::uint32_t ahead : drafts_[stage].peers)
      own.peers.push_back(ahead == 0 ? (rank + stage_size_) % inputs.network.npus
                                     : stage * stage_size_ + (rank % stage_size_ + ahead) % stage_size_);
    return own;
  }

  std::mt19937 random_;
  std::uint32_t stage_size_ = 1;
  std::uint64_t groups_ = 0;
  std::vector<std::vector<std::uint64_t>> group_of_;  // by table and rank
  std::vector<Draft> drafts_;                         // by stage
};

std::string outcome_of(const Inputs& inputs, const Job& job, Folding folding, bool& folded) {
  try {
    const Result result = simulate(inputs, job, folding);
    folded = result.agents.size() < result.ranks.size();
    std::string text;
    for (const Ticks time : finish_times(result)) text += std::to_string(time) + " ";
    return text;
  } catch (const std::exception& error) {  // StuckError, or InputError of what takes no time at all
    folded = false;
    return error.what();
  }
}

}  // namespace

TEST_CASE("folded and unfolded runs of random jobs agree") {
  for (const Backend backend : {Backend::kUnaware, Backend::kAware}) {
    std::uint32_t folded_runs = 0;
    for (std::uint32_t seed = 0; seed < kJobs; ++seed) {
      const RandomJob random(backend, seed);
      bool folded = false, unfolded = false;
      CAPTURE(seed, backend);
      const std::string with = outcome_of(random.inputs, random.job, Folding::kAuto, folded);
      const std::string without = outcome_of(random.inputs, random.job, Folding::kOff, unfolded);
      REQUIRE(with == without);
      REQUIRE_FALSE(unfolded);
      folded_runs += folded ? 1 : 0;
    }
    // Of jobs that share links many have collectives of rings and of halvingDoubling, which no translation keeps.
    CHECK(folded_runs > kJobs / (backend == Backend::kUnaware ? 5 : 8));
  }
}

// Each rank sends to the next one and receives from the one before; 2 waits for both, 3 for the receive only. On rank 0
// the send is over first, and 2 and 3 are ready together; on the others the receive is, and 3 goes before 2.
TEST_CASE("which of a send and a receive is over first differs from rank to rank, and may not decide a folded run") {
  const Inputs inputs = small_inputs({{TopologyKind::kRing, 4}});
  Job job;
  const std::vector<std::pair<std::uint32_t, std::uint32_t>> edges = {{0, 2}, {1, 2}, {1, 3}, {2, 4}};
  job.programs = {
      program_of({message_node(0, NodeKind::kSend, 0, 4096), message_node(1, NodeKind::kReceive, 1, 4096),
                  compute_node(2, 1000), compute_node(3, 1'000'000), collective_node(4, CommKind::kAllReduce, 1 << 20)},
                 edges)};
  for (std::uint32_t rank = 0; rank < 4; ++rank) job.ranks.push_back({0, {(rank + 1) % 4, (rank + 3) % 4}, {0}});
  CHECK(finish_times(simulate(inputs, job, Folding::kAuto)) ==
        std::vector<Ticks>{1'035'405, 1'035'405, 1'030'023, 1'035'405});
}

TEST_CASE("groups of one program whose members are at other distances are no class") {
  Inputs inputs = small_inputs({{TopologyKind::kRing, 8}});
  inputs.groups = {{1, {0, 1}}, {2, {2, 4}}, {3, {3, 5}}, {4, {6, 7}}};
  Job job = same_on_all(program_of({collective_node(0, CommKind::kAllReduce, 1 << 20)}), 8);
  for (const auto& [id, members] : inputs.groups)
    for (const std::uint32_t member : members) job.ranks[member].groups = {id};
  CHECK(Cast::folded(inputs, job).agent_count() == 2);
  // Two messages of half of it, each 1 hop away or 2.
  const Ticks near = finish_times(simulate(inputs, job, Folding::kAuto))[0];
  CHECK(finish_times(simulate(inputs, job, Folding::kAuto)) ==
        std::vector<Ticks>{near, near, near + 1000, near + 1000, near + 1000, near + 1000, near, near});
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
