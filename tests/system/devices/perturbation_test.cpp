// SPDX-License-Identifier: MIT
// Slow and late ranks, noise and slow links: what they do to a job, in closed form.
#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <set>

#include "core/error.h"
#include "tests/system/folding/folded.h"
#include "tests/system/random_jobs.h"
#include "tests/system/small_jobs.h"
#include "tests/workload/training/small_training.h"

using namespace orrery;
using namespace orrery::experiment;
using namespace orrery::network;
using namespace orrery::system;
using namespace orrery::workload;
using namespace orrery::test;
using namespace orrery::testing;

namespace {

constexpr Duration kMillisecond{1'000'000'000};
constexpr Duration kMicrosecond{1'000'000};
constexpr Bandwidth kBandwidth{25'000'000'000};

// 10 ms of computation, then an all-reduce of 4 MB.
Job data_parallel_step(std::uint32_t ranks) {
  JobBuilder builder(ranks);
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    const NodeId work = builder.compute(rank, 10 * kMillisecond);
    builder.collective(rank, CollectiveKind::kAllReduce, Bytes(4'000'000), kWorld, {work});
  }
  return builder.build();
}

SimulationOptions perturbed(const Perturbation& perturbation) {
  SimulationOptions options;
  options.collectives = always("ring");
  options.perturbation = perturbation;
  return options;
}

Perturbation one_rank(std::uint32_t rank, TimeFactor compute, Duration start = {}) {
  Perturbation perturbation;
  perturbation.ranks[RankId(rank)] = {compute, start, {}};
  return perturbation;
}

Outcome step_of_four(const Perturbation& perturbation) {
  const Fabric fabric = one_dimension("ring", 4, kBandwidth, kMicrosecond);
  return fold_and_compare(data_parallel_step(4), fabric, perturbed(perturbation), NetworkModel::kFlow);
}

// Chunks of 1 MB take 40 us and 1 us of latency; there are 2 (4 - 1) steps.
constexpr Duration kAllReduce = 6 * 41 * kMicrosecond;

TrainingSpec three_iterations(ExchangeKind exchange, bool asynchronous) {
  TrainingSpec training = small_training(small_gpt());
  degree(training, ParallelDimension::kData) = 3;
  training.global_batch = 3;
  training.iterations = 3;
  training.parallel.exchange = exchange;
  training.parallel.servers = 2;
  training.parallel.asynchronous = asynchronous;
  return training;
}

Duration time_of(const Outcome& outcome, std::uint32_t rank, NodeId node) {
  const std::uint32_t acting = index_of(outcome.totals.acting[rank]);
  return outcome.end(acting, node) - outcome.start(acting, node);
}

std::uint32_t iteration_of(const Job& job, RankId rank, const OperationRecord& record) {
  const std::vector<NodeId>& starts = job.facts(job.ranks[index_of(rank)].graph).iteration_starts;
  return static_cast<std::uint32_t>(std::ranges::count_if(starts, [&](NodeId start) { return start <= record.node; }));
}

// How many computations of each iteration took what the noise of the rank makes of them; none took anything else.
std::array<int, 3> check_noise(const Job& job, const Outcome& outcome, const Jitter& noise, RankId rank) {
  std::array<int, 3> computed{};
  for (const OperationRecord& record : outcome.log.of(rank)) {
    if (job.graph(rank).kind(record.node) != NodeKind::kCompute) continue;
    const std::uint32_t iteration = iteration_of(job, rank, record);
    CHECK(record.end - record.start == *job.graph(rank).duration(record.node) * draw(noise, index_of(rank), iteration));
    ++computed.at(iteration);
  }
  return computed;
}

}  // namespace

TEST_CASE("nobody disturbed: one class, and the slowest is as fast as all") {
  CHECK(step_of_four({}).totals.finish == at(10 * kMillisecond + kAllReduce));
  CHECK(step_of_four({}).totals.rank_classes == 1);
  CHECK(step_of_four(one_rank(2, kUnchanged)).totals.rank_classes == 1);
}

TEST_CASE("one slow rank of a data-parallel group makes all of them slow") {
  // All wait for the rank that takes 13 ms; what it has got ready for the ring by then, the others have passed on.
  const Outcome outcome = step_of_four(one_rank(2, TimeFactor(1'300'000)));
  CHECK(outcome.totals.finish == at(13 * kMillisecond + kAllReduce));
  CHECK(outcome.end(2, NodeId(0)) == at(13 * kMillisecond));
  CHECK(outcome.end(1, NodeId(0)) == at(10 * kMillisecond));
  CHECK(outcome.totals.rank_classes == 4);
  // A fast one does not help.
  CHECK(step_of_four(one_rank(2, TimeFactor(500'000))).totals.finish == at(10 * kMillisecond + kAllReduce));
}

TEST_CASE("a rank that starts late issues nothing before") {
  const Outcome outcome = step_of_four(one_rank(1, kUnchanged, 5 * kMillisecond));
  CHECK(outcome.start(1, NodeId(0)) == at(5 * kMillisecond));
  CHECK(outcome.totals.finish == at(15 * kMillisecond + kAllReduce));
  // Nor a communication that its peers have entered, or a receive whose message has come.
  JobBuilder builder(3);
  const NodeId send = builder.send(0, 1, Bytes(1'000'000));
  const NodeId received = builder.receive(1, 0, Bytes(1'000'000));
  for (std::uint32_t rank = 0; rank < 3; ++rank)
    builder.collective(rank, CollectiveKind::kAllReduce, Bytes(3'000'000), kWorld);
  const Fabric fabric = one_dimension("switch", 3, kBandwidth, kMicrosecond);
  const Outcome late = fold_and_compare(builder.build(), fabric, perturbed(one_rank(1, kUnchanged, 7 * kMillisecond)),
                                        NetworkModel::kAlphaBeta);
  CHECK(late.end(0, send) == at(40 * kMicrosecond));
  CHECK(late.start(1, received) == at(7 * kMillisecond));
  CHECK(late.end(1, received) == at(7 * kMillisecond));
  CHECK(late.start(1, NodeId(1)) == at(7 * kMillisecond));
  CHECK(late.totals.finish == at(7 * kMillisecond + 4 * 41 * kMicrosecond));
}

TEST_CASE("ranks that are disturbed alike are simulated once, also while they wait to begin") {
  // Ranks 2 and 3 of 4 start late and compute alone; the pairs {0, 1} and {2, 3} then reduce. Rank 3's pair is told
  // from rank 2 by nothing.
  JobBuilder builder(4);
  const std::vector<GroupId> pairs = {builder.group("a", {0, 1}), builder.group("b", {2, 3})};
  for (std::uint32_t rank = 0; rank < 4; ++rank) {
    const NodeId work = builder.compute(rank, kMillisecond);
    builder.collective(rank, CollectiveKind::kAllReduce, Bytes(1'000), pairs[rank / 2], {work});
  }
  Perturbation perturbation = one_rank(2, kUnchanged, 3 * kMillisecond);
  perturbation.ranks[RankId(3)] = perturbation.ranks[RankId(2)];
  const Fabric fabric = one_dimension("switch", 4, kBandwidth, kMicrosecond);
  CHECK(fold_and_compare(builder.build(), fabric, perturbed(perturbation), NetworkModel::kFlow).totals.rank_classes ==
        2);
  // A rank that still waits is part of a class that comes apart meanwhile: 1 and 3 wait until 9 ms, 0 sends to 1 at
  // once.
  JobBuilder apart(4);
  apart.send(0, 1, Bytes(1'000'000));
  apart.compute(2, kMillisecond);
  apart.receive(1, 0, Bytes(1'000'000));
  apart.receive(3, 2, Bytes(1'000'000), {});
  apart.send(2, 3, Bytes(1'000'000), {NodeId(0)});
  Perturbation late = one_rank(1, kUnchanged, 9 * kMillisecond);
  late.ranks[RankId(3)] = late.ranks[RankId(1)];
  const Outcome outcome = fold_and_compare(apart.build(), fabric, perturbed(late), NetworkModel::kFlow);
  CHECK(outcome.end(1, NodeId(0)) == at(9 * kMillisecond));
  CHECK(outcome.end(3, NodeId(0)) == at(9 * kMillisecond));
}

TEST_CASE("host nodes and memory nodes are computations, accesses to remote memory are not") {
  JobBuilder builder(1);
  const NodeId host = builder.host(0, 10 * kMicrosecond);
  const NodeId measured = builder.memory(0, Bytes(0), {host}, 10 * kMicrosecond);
  const NodeId own = builder.memory(0, Bytes(10'000'000), {measured});  // 10 us at the test device's 1 TB/s
  const Job job = builder.build();
  const Fabric fabric = one_dimension("switch", 2, kBandwidth, kMicrosecond);
  SimulationOptions options = perturbed(one_rank(0, TimeFactor(1'500'000)));
  const Outcome at_device = simulate(job, fabric, options);
  CHECK(at_device.end(0, host) == at(15 * kMicrosecond));
  CHECK(at_device.end(0, measured) == at(30 * kMicrosecond));
  CHECK(at_device.end(0, own) == at(45 * kMicrosecond));
  options.remote_memory = RemoteMemory{Bandwidth(1'000'000'000'000), Duration::zero(), MemorySharing::kCluster};
  CHECK(simulate(job, fabric, options).end(0, own) == at(40 * kMicrosecond));
}

TEST_CASE("noise per rank is drawn in every iteration anew, of servers as well") {
  for (const bool asynchronous : {false, true})
    for (const ExchangeKind exchange : {ExchangeKind::kCollective, ExchangeKind::kParameterServer}) {
      if (asynchronous && exchange == ExchangeKind::kCollective) continue;
      const Job job = generate_job(three_iterations(exchange, asynchronous), FakeTimes()).job;
      const Fabric fabric = one_dimension("switch", 5, kBandwidth, kMicrosecond);
      Perturbation noise;
      noise.jitter = {JitterUnit::kRank, 100'000, 1};
      const Outcome outcome = fold_and_compare(job, fabric, perturbed(noise), NetworkModel::kFlow);
      CHECK(outcome.totals.rank_classes == job.ranks.size());
      for (std::uint32_t rank = 0; rank < job.ranks.size(); ++rank) {
        const std::array<int, 3> computed = check_noise(job, outcome, noise.jitter, RankId(rank));
        CHECK(computed[0] > 0);
        CHECK(computed[0] == computed[1]);
        CHECK(computed[0] == computed[2]);
      }
    }
}

TEST_CASE("noise per node is the same for its ranks, per operation it is not for any two operations") {
  const Experiment machine = read_machine_text(
      "cluster: {device: a40, dims: [{topology: switch, size: 2, bandwidth: 25 GB/s, latency: 1 us}, {topology: "
      "switch, size: 2, bandwidth: 25 GB/s, latency: 1 us}]}\n");
  JobBuilder builder(4);
  for (std::uint32_t rank = 0; rank < 4; ++rank) {
    const NodeId first = builder.compute(rank, kMillisecond);
    builder.compute(rank, kMillisecond, {first});
  }
  const Job job = builder.build();
  const auto times_with = [&](JitterUnit unit, std::uint32_t classes) {
    Perturbation noise;
    noise.jitter = {unit, 100'000, 5};
    const Outcome outcome = fold_and_compare(job, machine.fabric, perturbed(noise), NetworkModel::kFlow);
    CHECK(outcome.totals.rank_classes == classes);
    std::vector<Duration> times;
    for (std::uint32_t rank = 0; rank < 4; ++rank)
      for (std::uint32_t node = 0; node < 2; ++node) times.push_back(time_of(outcome, rank, NodeId(node)));
    return times;
  };
  const std::vector<Duration> node = times_with(JitterUnit::kNode, 2), rank = times_with(JitterUnit::kRank, 4),
                              operation = times_with(JitterUnit::kOperation, 4);
  CHECK(std::set<Duration>(node.begin(), node.end()).size() == 2);
  CHECK(node[0] == node[3]);
  CHECK(node[4] == node[7]);
  CHECK(std::set<Duration>(rank.begin(), rank.end()).size() == 4);
  CHECK(std::set<Duration>(operation.begin(), operation.end()).size() == 8);
}

TEST_CASE("noise of a slow rank multiplies with its factor") {
  JobBuilder builder(1);
  builder.compute(0, kMillisecond);
  Perturbation noise = one_rank(0, TimeFactor(2'000'000));
  noise.jitter = {JitterUnit::kRank, 20'000, 1};
  const Fabric fabric = one_dimension("switch", 2, kBandwidth, kMicrosecond);
  // 0.976413 for rank 0 in its first iteration (tests/system/devices/jitter_test.cpp).
  CHECK(simulate(builder.build(), fabric, perturbed(noise)).totals.finish == at(Duration(1'952'826'000)));
}

TEST_CASE("a link at half its bandwidth doubles a transfer, and added latency adds up") {
  const std::string machine =
      "cluster: {device: a40, dims: [{topology: switch, size: 4, bandwidth: 25 GB/s, latency: 2 us}]}\n"
      "network: {granularity: step}\n";
  const auto end_of = [&](const std::string& links, std::uint32_t to) {
    const Experiment experiment = read_machine_text(machine + "perturb: {links: {" + links + "}}\n");
    JobBuilder builder(4);
    builder.send(0, to, Bytes(1'000'000));
    const NodeId received = builder.receive(to, 0, Bytes(1'000'000));
    return simulate(builder.build(), experiment.fabric, {}, network_of(experiment)).end(to, received);
  };
  // 1 MB at 25 GB/s takes 40 us, over an up and a down link of 1 us each.
  CHECK(end_of("", 1) == at(42 * kMicrosecond));
  CHECK(end_of("dim0.up: {bandwidth: 50 %}", 1) == at(82 * kMicrosecond));
  CHECK(end_of("'dim0.up[0]': {bandwidth: 50 %}", 1) == at(82 * kMicrosecond));
  CHECK(end_of("'dim0.up[1]': {bandwidth: 50 %}", 1) == at(42 * kMicrosecond));
  CHECK(end_of("gpu2: {bandwidth: 25 %, latency: 3 us}", 1) == at(42 * kMicrosecond));
  CHECK(end_of("gpu2: {bandwidth: 25 %, latency: 3 us}", 2) == at(165 * kMicrosecond));
  CHECK(end_of("dim0.up: {latency: 5 us}, dim0.down: {latency: 7 us}", 3) == at(54 * kMicrosecond));
  // 500 kB in the first 20 us, the rest at half of that; and a quarter for the next 10 us.
  CHECK(end_of("dim0.up: {at: [{time: 20 us, bandwidth: 50 %}]}", 1) == at(62 * kMicrosecond));
  CHECK(end_of("dim0.up: {at: [{time: 20 us, bandwidth: 25 %}, {time: 30 us, bandwidth: 100 %}]}", 1) ==
        at(Duration(49'500'000)));
  CHECK(end_of("dim0.up: {bandwidth: 50 %, at: [{time: 20 us, bandwidth: 50 %}]}", 1) == at(142 * kMicrosecond));
  CHECK(end_of("dim0.down: {traffic: {least: 50 %, most: 50 %, period: 1 us}}", 1) == at(82 * kMicrosecond));
  CHECK(end_of("dim0.down: {traffic: {most: 90 %, period: 1 us}}", 1) >
        end_of("dim0.down: {traffic: {most: 10 %, period: 1 us}}", 1));
  CHECK(end_of("dim0.down: {traffic: {most: 90 %, period: 1 us}}", 1) ==
        end_of("dim0.down: {traffic: {most: 90 %, period: 1 us}}", 1));
  CHECK(end_of("dim0.down: {traffic: {most: 90 %, period: 1 us}}", 1) !=
        end_of("dim0.down: {traffic: {most: 90 %, period: 1 us, seed: 2}}", 1));
  // Names that overlap: what one leaves the other takes its share of.
  CHECK(end_of("dim0.up: {bandwidth: 50 %}, gpu0: {bandwidth: 50 %}", 1) == at(162 * kMicrosecond));
}

TEST_CASE("500 random jobs with random perturbations fold without a difference") {
  std::mt19937_64 random(17);
  std::uint64_t ranks = 0, classes = 0, splits = 0;
  for (int trial = 0; trial < 500; ++trial) {
    const RandomMachine machine = random_machine(random);
    const Perturbation perturbation = random_perturbation(random, machine.ranks);
    INFO("trial " << trial << "\n" << machine.text);
    Experiment experiment = read_machine_text(machine.text);
    slow_a_link(random, experiment.fabric);
    SimulationOptions options = experiment.simulation;
    options.perturbation = perturbation;
    options.fast_forward = trial % 2 == 0;
    const Outcome folded =
        fold_and_compare(random_job(random, machine.ranks), experiment.fabric, options, network_of(experiment));
    ranks += machine.ranks;
    classes += folded.totals.rank_classes;
    splits += folded.steps.size();
  }
  // Whoever is not disturbed, or all alike, folds; and classes come apart while some wait to begin.
  CHECK(classes * 100 < ranks * 95);
  CHECK(splits > 100);
  WARN(classes << " classes for " << ranks << " ranks, " << splits << " times more of them");
}

TEST_CASE("300 random jobs on links that change over time fold without a difference") {
  std::mt19937_64 random(23);
  std::uint64_t ranks = 0, classes = 0, unlike = 0;
  for (int trial = 0; trial < 300; ++trial) {
    const RandomMachine machine = random_machine(random);
    INFO("trial " << trial << "\n" << machine.text);
    Experiment experiment = read_machine_text(machine.text);
    if (experiment.network != NetworkModel::kFlow) continue;
    const Job job = random_job(random, machine.ranks);
    const Time steady = simulate(job, experiment.fabric, experiment.simulation, network_of(experiment)).totals.finish;
    change_links(random, experiment.fabric);
    SimulationOptions options = experiment.simulation;
    options.fast_forward = trial % 2 == 0;
    const Outcome folded = fold_and_compare(job, experiment.fabric, options, network_of(experiment));
    ranks += machine.ranks;
    classes += folded.totals.rank_classes;
    unlike += folded.totals.finish != steady ? 1U : 0U;
  }
  CHECK(classes * 100 < ranks * 95);
  CHECK(unlike > 60);
  WARN(classes << " classes for " << ranks << " ranks, " << unlike << " jobs that take another time");
}

TEST_CASE("a rank that the job does not have is refused where it stands") {
  Perturbation perturbation = one_rank(4, TimeFactor(2'000'000));
  perturbation.ranks[RankId(4)].where = {"job.yaml", 7, 3};
  try {
    step_of_four(perturbation);
    FAIL("it ran");
  } catch (const InputError& error) {
    CHECK(std::string(error.what()).starts_with("job.yaml:7:3: error: perturb.ranks.4: the job has no such rank"));
    CHECK(std::string(error.what()).find("its ranks are 0 to 3") != std::string::npos);
  }
}

TEST_CASE("a part of a job has what is said of its ranks, numbered anew, and of all nodes") {
  Perturbation whole = one_rank(5, TimeFactor(2'000'000));
  whole.ranks[RankId(1)] = {TimeFactor(3'000'000), {}, {}};
  whole.nodes[7] = {TimeFactor(4'000'000), {}, {}};
  whole.jitter.sigma = 1000;
  const Perturbation part = part_of(whole, 4, 2);
  REQUIRE(part.ranks.size() == 1);
  CHECK(part.ranks.at(RankId(1)).compute == TimeFactor(2'000'000));
  REQUIRE(part.nodes.size() == 1);
  CHECK(part.nodes.at(7).compute == TimeFactor(4'000'000));
  CHECK(part.jitter.sigma == 1000);
  CHECK(part.first_rank == 4);
}

TEST_CASE("only noise that each operation draws for itself tells the equal operations of a rank apart") {
  const auto disturbs = [](JitterUnit per, std::int64_t sigma) {
    Perturbation perturbation;
    perturbation.jitter.per = per;
    perturbation.jitter.sigma = sigma;
    return perturbation.disturbs_operations();
  };
  CHECK(disturbs(JitterUnit::kOperation, 1));
  for (const JitterUnit per : {JitterUnit::kNode, JitterUnit::kRank}) CHECK_FALSE(disturbs(per, 1'000'000));
  for (const JitterUnit per : {JitterUnit::kNode, JitterUnit::kRank, JitterUnit::kOperation})
    CHECK_FALSE(disturbs(per, 0));
}
