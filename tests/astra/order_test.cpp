// SPDX-License-Identifier: MIT
// Translations that leave a job as it is, and what may be known of the order of events under them.
#include <catch2/catch.hpp>

#include "astra/engine/order.h"
#include "astra/engine/translation.h"
#include "tests/astra/jobs.h"

namespace orrery::astra {
namespace {

// Ranks that stand for all; 0 where only standing still leaves the job as it is.
std::uint32_t agents_of(const Inputs& inputs, const Job& job) {
  const std::optional<JobSymmetry> symmetry = find_symmetry(inputs, job);
  return symmetry ? symmetry->translation.agents(inputs.network.npus) : 0;
}

Job all_reduce_in(Inputs& inputs, const Groups& groups) {
  inputs.groups = groups;
  Job job = same_on_all(program_of({collective_node(0, CommKind::kAllReduce, 1 << 20)}), inputs.network.npus);
  for (const auto& [id, members] : groups)
    for (const std::uint32_t member : members) job.ranks[member].groups = {id};
  return job;
}

}  // namespace

TEST_CASE("a job on a ring is simulated on as many ranks as all may be moved by") {
  Inputs inputs = small_inputs({{TopologyKind::kRing, 8}});
  CHECK(agents_of(inputs, all_reduce_in(inputs, {})) == 1);
  // Blocks of two go to blocks of two when they are moved by two; ranks at a stride of four also by one, since 0, 4
  // goes to 1, 5, and 3, 7 to 4, 0, which is the ring 0, 4 from its other member.
  CHECK(agents_of(inputs, all_reduce_in(inputs, {{1, {0, 1}}, {2, {2, 3}}, {3, {4, 5}}, {4, {6, 7}}})) == 2);
  CHECK(agents_of(inputs, all_reduce_in(inputs, {{1, {0, 4}}, {2, {1, 5}}, {3, {2, 6}}, {4, {3, 7}}})) == 1);
  CHECK(agents_of(inputs, all_reduce_in(inputs, {{1, {0, 1}}, {2, {2, 4}}, {3, {3, 5}}, {4, {6, 7}}})) == 0);
  Job job = all_reduce_in(inputs, {});
  job.programs.push_back(program_of({compute_node(0, 10)}));
  job.ranks[0].program = job.ranks[4].program = 1;
  CHECK(agents_of(inputs, job) == 4);
  job.ranks[4].program = 0;
  CHECK(agents_of(inputs, job) == 0);
  // Rank r sends to r + 3; but rank 5 to rank 7.
  job = same_on_all(program_of({message_node(0, NodeKind::kSend, 0, 4096)}), 8);
  for (std::uint32_t rank = 0; rank < 8; ++rank) job.ranks[rank].peers = {(rank + 3) % 8};
  CHECK(agents_of(inputs, job) == 1);
  job.ranks[5].peers = {7};
  CHECK(agents_of(inputs, job) == 0);
}

// Partners of halvingDoubling differ in a bit of their ranks. On a Ring their distances are not kept by changing bits.
TEST_CASE("halvingDoubling looks the same after an exclusive or, where that is as far for messages") {
  Inputs ring = small_inputs({{TopologyKind::kRing, 8}}, AlgorithmKind::kHalvingDoubling);
  CHECK(agents_of(ring, all_reduce_in(ring, {})) == 0);
  Inputs inputs = small_inputs({{TopologyKind::kSwitch, 8}}, AlgorithmKind::kHalvingDoubling);
  CHECK(agents_of(inputs, all_reduce_in(inputs, {})) == 1);
  const JobSymmetry symmetry = *find_symmetry(inputs, all_reduce_in(inputs, {}));
  CHECK(symmetry.translation.moved(5, 3) == 6);
  // One collective of the one kind, one of the other.
  Job job = all_reduce_in(inputs, {});
  job.programs = {program_of(
      {collective_node(0, CommKind::kAllReduce, 1 << 20), collective_node(1, CommKind::kAllGather, 1 << 20)})};
  inputs.system.implementations[1].dimensions.front().kind = AlgorithmKind::kRing;
  CHECK(agents_of(inputs, job) == 0);
}

// Two stages of four ranks, each with an all-reduce of its own; then rank r of the first sends to r + 4. A Switch does
// not tell its ranks apart, so that each stage is moved around by itself; on a Ring 3 is beside 4 and 0 is not.
TEST_CASE("stages of a pipeline are moved around by themselves where distances do not matter") {
  for (const TopologyKind topology : {TopologyKind::kSwitch, TopologyKind::kFullyConnected, TopologyKind::kRing}) {
    Inputs inputs = small_inputs({{topology, 8}});
    inputs.flags.backend = Backend::kAware;
    Job job = all_reduce_in(inputs, {{1, {0, 1, 2, 3}}, {2, {4, 5, 6, 7}}});
    const std::vector<std::pair<std::uint32_t, std::uint32_t>> edge = {{0, 1}};
    job.programs.clear();
    for (const NodeKind kind : {NodeKind::kSend, NodeKind::kReceive})
      job.programs.push_back(
          program_of({collective_node(0, CommKind::kAllReduce, 1 << 20), message_node(1, kind, 0, 4096)}, edge));
    for (std::uint32_t rank = 0; rank < 8; ++rank) {
      job.ranks[rank].program = rank / 4;
      job.ranks[rank].peers = {(rank + 4) % 8};
    }
    const bool folds = topology != TopologyKind::kRing;
    CHECK(agents_of(inputs, job) == (folds ? 2 : 0));
    const Result result = simulate(inputs, job, Folding::kAuto);
    CHECK(result.agents ==
          (folds ? std::vector<std::uint32_t>{0, 4} : std::vector<std::uint32_t>{0, 1, 2, 3, 4, 5, 6, 7}));
    CHECK(finish_times(result) == finish_times(simulate(inputs, job, Folding::kOff)));
  }
}

TEST_CASE("groups that stand for one another have one number, and no rank is in two of them") {
  Inputs inputs = small_inputs({{TopologyKind::kRing, 4}});
  Job job = all_reduce_in(inputs, {{3, {0, 2}}, {5, {1, 3}}});
  CHECK(find_symmetry(inputs, job)->group_of == std::map<std::uint64_t, std::uint64_t>{{3, 3}, {5, 3}});
  // Each rank calls a group with the next one, and one with the one before.
  inputs.groups = {{1, {0, 1}}, {2, {1, 2}}, {3, {2, 3}}, {4, {3, 0}}};
  for (std::uint32_t rank = 0; rank < 4; ++rank) job.ranks[rank].groups = {rank + 1, (rank + 3) % 4 + 1};
  CHECK(agents_of(inputs, job) == 2);
}

// Four blocks of one rank. Two causes of the start, the one seen from its own rank, the other from the next one.
TEST_CASE("events of two origins are in order where their causes are of different times") {
  Order order(Translation(Translation::Kind::kRotation, 4, 1));
  Order::Owner rank;
  Order::Mark link;
  order.stand({});
  order.touch(rank);
  const Order::Cause own = order.cause();
  const Order::Cause kin = order.cause();
  order.begin_instant(10);
  order.begin(own);
  order.touch(rank);
  const Order::Cause later = order.cause();
  const Order::Cause same = order.cause();
  order.begin_instant(20);
  order.begin(kin);
  order.move(0, 1);  // a message that has come from one rank behind is seen from there
  order.sequence(link);
  order.begin(later);
  order.sequence(link);
  CHECK(order.is_sound());  // 0 was before 10
  order.begin(same);
  order.move(0, 1);
  order.sequence(link);
  CHECK_FALSE(order.is_sound());  // whose rank is first depends on where the first rank is
}

TEST_CASE("what kin of two origins did together is in line with itself only") {
  Order order(Translation(Translation::Kind::kRotation, 4, 1));
  Order::Owner rank;
  order.stand({});
  order.touch(rank);
  const Order::Cause first = order.cause();
  const Order::Cause second = order.cause();
  order.begin_instant(10);
  order.begin(first);
  order.touch(rank);
  const Order::Cause before = order.cause();  // the next event may come to the rank earlier elsewhere
  order.begin(second);
  order.move(0, 1);
  order.touch(rank);
  const Order::Cause after = order.cause();
  CHECK(order.is_mixed(before));
  order.begin_instant(20);
  Order::Mark link;
  order.begin(before);
  order.sequence(link);
  CHECK(order.origin().split != 0);
  order.begin(after);
  order.sequence(link);
  CHECK(order.is_sound());
  order.stand(order.apart());
  order.sequence(link);
  CHECK_FALSE(order.is_sound());
}

}  // namespace orrery::astra
