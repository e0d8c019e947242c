// SPDX-License-Identifier: MIT
// Classes come apart when what tells them apart is first used, and not before.
#include <catch2/catch.hpp>
#include <numeric>
#include <string>
#include <vector>

#include "bench/stage_job.h"
#include "tests/system/folding/folded.h"
#include "tests/system/random_jobs.h"
#include "tests/system/small_jobs.h"

using namespace orrery;
using namespace orrery::experiment;
using namespace orrery::network;
using namespace orrery::system;
using namespace orrery::workload;
using namespace orrery::test;

namespace {

// Of a training step on 8 DGX A100: 4 stages of 8 GPUs, twice.
bench::StageJob small_step() {
  bench::StageJob shape;
  shape.pipeline = 4;
  shape.data = 2;
  shape.layers = 2;
  shape.micro_batches = 6;
  return shape;
}

Experiment eight_nodes(const std::string& network) {
  return read_machine_text("cluster: dgx-a100\nnodes: 8\nnetwork: " + network +
                           "\ncollectives: {algorithms: {all_reduce: [ring, ring]}}\n");
}

const std::vector<std::string> kNetworks = {"{model: flow}", "{model: alpha-beta}",
                                            "{model: flow, granularity: phase}"};

std::vector<std::uint32_t> classes_of(const std::vector<FoldingStep>& steps) {
  std::vector<std::uint32_t> classes;
  for (const FoldingStep& step : steps) classes.push_back(step.rank_classes);
  return classes;
}

}  // namespace

TEST_CASE("rows of ranks come apart when they first talk, and their columns when these do") {
  // Two rows of two; rank 3 is late. Its row starts with it, so 2 is told from 0 and 1 when the rows start; then the
  // columns tell 0 from 1.
  JobBuilder builder(4);
  const std::vector<GroupId> rows = {builder.group("row0", {0, 1}), builder.group("row1", {2, 3})};
  const std::vector<GroupId> columns = {builder.group("column0", {0, 2}), builder.group("column1", {1, 3})};
  std::vector<NodeId> in_row;
  for (std::uint32_t rank = 0; rank < 4; ++rank) {
    const NodeId work = builder.compute(rank, Duration(rank == 3 ? 5'000'000 : 1'000'000));
    in_row.push_back(builder.collective(rank, CollectiveKind::kAllReduce, Bytes(1'000'000), rows[rank / 2], {work}));
    builder.collective(rank, CollectiveKind::kAllReduce, Bytes(1'000'000), columns[rank % 2], {in_row.back()});
  }
  const Fabric fabric = one_dimension("switch", 4, Bandwidth(25'000'000'000), Duration(700'000));
  const Outcome outcome = fold_and_compare(builder.build(), fabric, {}, NetworkModel::kFlow);
  REQUIRE(classes_of(outcome.steps) == std::vector<std::uint32_t>{3, 4});
  CHECK(outcome.steps[0].time == Time(Duration(1'000'000)));
  CHECK(outcome.steps[0].first_used == "communicator 'row0' and 1 more");  // 0, 1 and 2 are alike: row1 as well
  CHECK(outcome.steps[1].time == outcome.end(0, in_row[0]));
}

TEST_CASE("a message under way comes apart with its sender and its receiver") {
  // 0 and 2 send to 1 and 3; in the middle of it 0 and 4, and 2 and 5, come together, of whom 5 has been slow.
  JobBuilder builder(6);
  const std::vector<GroupId> pairs = {builder.group("a", {0, 4}), builder.group("b", {2, 5})};
  for (const std::uint32_t sender : {0u, 2u}) {
    builder.send(sender, sender + 1, Bytes(25'000'000));
    builder.receive(sender + 1, sender, Bytes(25'000'000));
    const NodeId work = builder.compute(sender, Duration(400'000'000));
    builder.collective(sender, CollectiveKind::kAllReduce, Bytes(10'000'000), pairs[sender / 2], {work});
  }
  for (const std::uint32_t other : {4u, 5u}) {
    const NodeId work = builder.compute(other, Duration(other == 5 ? 500'000'000 : 300'000'000));
    builder.collective(other, CollectiveKind::kAllReduce, Bytes(10'000'000), pairs[other - 4], {work});
  }
  const Job job = builder.build();
  for (const NetworkModel model : {NetworkModel::kFlow, NetworkModel::kAlphaBeta}) {
    const Fabric fabric = one_dimension("switch", 6, Bandwidth(25'000'000'000), Duration(700'000));
    const Outcome outcome = fold_and_compare(job, fabric, {}, model);
    // 4 and 5 run different graphs; 0 and 2, and with them 1 and 3, come apart when 4 comes first.
    REQUIRE(classes_of(outcome.steps) == std::vector<std::uint32_t>{6});
    CHECK(outcome.steps[0].time == Time(Duration(300'000'000)));
  }
}

TEST_CASE("members of a call in lockstep come apart while it is under way") {
  // On each of four nodes all reduce over NVLink. Meanwhile ranks meet those of other nodes: some of all, some of two.
  Experiment experiment = read_machine_text("cluster: dgx-a100\nnodes: 4\ncollectives: {library: fixed}\n");
  JobBuilder builder(32);
  std::vector<GroupId> nodes, across(32);
  for (std::uint32_t node = 0; node < 4; ++node) {
    std::vector<std::uint32_t> members(8);
    std::iota(members.begin(), members.end(), 8 * node);
    nodes.push_back(builder.group("node" + std::to_string(node), members));
  }
  for (std::uint32_t rank = 0; rank < 8; ++rank) {
    across[rank] = builder.group("across" + std::to_string(rank),
                                 rank == 0 ? std::vector<std::uint32_t>{0, 8, 16, 24} : std::vector{rank, rank + 8});
    across[rank + 16] = rank == 0 ? across[0] : builder.group("beyond" + std::to_string(rank), {rank + 16, rank + 24});
    across[rank + 8] = across[rank];
    across[rank + 24] = across[rank + 16];
  }
  for (std::uint32_t rank = 0; rank < 32; ++rank) {
    const NodeId reduced = builder.collective(rank, CollectiveKind::kAllReduce, Bytes(100'000'000), nodes[rank / 8]);
    const NodeId work = builder.compute(rank, Duration(100'000'000));
    const NodeId met = builder.collective(rank, CollectiveKind::kAllReduce, Bytes(1000), across[rank], {work});
    builder.collective(rank, CollectiveKind::kAllReduce, Bytes(100'000'000), nodes[rank / 8], {reduced, met});
  }
  const Job job = builder.build();
  const auto model = network_of(experiment);
  const Outcome outcome = fold_and_compare(job, experiment.fabric, experiment.simulation, model);
  REQUIRE(outcome.steps.size() == 1);
  CHECK(outcome.steps.front().time == Time(Duration(100'000'000)));
  CHECK(outcome.end(0, NodeId(0)) > outcome.steps.front().time);
  experiment.simulation.fast_forward = false;
  const Outcome step_by_step = fold_and_compare(job, experiment.fabric, experiment.simulation, model);
  CHECK(step_by_step.totals.events > outcome.totals.events + 2);
}

TEST_CASE("a slow rank, or a slow NIC, of a training step tells the others apart only when they hear of it") {
  for (const std::string& network : kNetworks)
    for (const bool fast_forward : {true, false}) {
      INFO(network << (fast_forward ? ", fast-forwarded" : ""));
      Experiment experiment = eight_nodes(network);
      // By phases ranks would run ahead of the clock, all classes apart from the start.
      const bool is_ahead = experiment.simulation.collectives.granularity == Granularity::kPhase;
      experiment.simulation.fast_forward = fast_forward && !is_ahead;
      const auto model = network_of(experiment);
      bench::StageJob shape = small_step();
      const Outcome even = fold_and_compare(stage_job(shape), experiment.fabric, experiment.simulation, model);
      CHECK(even.totals.rank_classes == 4);  // a class a stage
      CHECK(even.steps.empty());

      shape.slow_rank = 3;
      const Outcome slow = fold_and_compare(stage_job(shape), experiment.fabric, experiment.simulation, model);
      // Its tensor ring takes part in it at once, then the pipeline that it is part of: 8 more classes a stage, of 4
      // stages, at granularity `step`; at `phase` 2, the one in line with it and its 7 mates. Gradients do the rest.
      const bool is_phase = experiment.simulation.collectives.granularity == Granularity::kPhase;
      REQUIRE(slow.steps.size() > 2);
      CHECK(slow.steps[slow.steps.size() - 2].rank_classes == (is_phase ? 4 + 4 * 2 : 4 + 4 * 8));
      CHECK(slow.steps.back().first_used.starts_with("communicator 'data"));

      std::vector<LinkId> route;
      experiment.fabric.route(DeviceId{0}, DeviceId{8}, route);
      for (const LinkId link : route)
        experiment.fabric.set_bandwidth(link, Bandwidth(experiment.fabric.link(link).bandwidth.count() / 3));
      shape.slow_rank.reset();
      const Outcome slow_link = fold_and_compare(stage_job(shape), experiment.fabric, experiment.simulation, model);
      CHECK(slow_link.totals.rank_classes > 4);
    }
}
