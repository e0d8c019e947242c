// SPDX-License-Identifier: MIT
// A folded job takes what it takes with every rank by itself, operation by operation, to the picosecond.
#include <array>
#include <catch2/catch.hpp>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "system/folding/symmetry.h"
#include "tests/system/folding/folded.h"
#include "tests/system/random_jobs.h"
#include "tests/system/small_jobs.h"

using namespace orrery;
using namespace orrery::collectives;
using namespace orrery::experiment;
using namespace orrery::network;
using namespace orrery::system;
using namespace orrery::workload;
using namespace orrery::test;
using enum CollectiveKind;

namespace {

constexpr Bandwidth kBandwidth{25'000'000'000};
constexpr Duration kLatency{700'000};

Job everybody_calls(std::uint32_t ranks, CollectiveKind kind, Bytes bytes, Duration late_of_last = {}) {
  JobBuilder builder(ranks);
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    const bool late = rank + 1 == ranks && late_of_last > Duration::zero();
    const NodeId work = builder.compute(rank, late ? late_of_last : Duration(1000));
    builder.collective(rank, kind, bytes, kWorld, {work});
  }
  return builder.build();
}

// As Schedule::is_complete_exchange() says it: looks at all sends of all ranks.
bool is_seen_to_be_complete(const Schedule& schedule) {
  const std::uint32_t ranks = schedule.ranks(), sends = schedule.sends(0);
  if (ranks < 3 || sends == 0 || sends % (ranks - 1) != 0) return false;
  const ProgramKinds kinds(schedule, 0);
  const std::uint32_t step_ahead = schedule.step(0, 0).to;
  if (step_ahead != 1 && step_ahead != ranks - 1) return false;
  std::vector<Step> first;
  for (std::uint32_t i = 0; i < sends; ++i) {
    const std::uint32_t round = i - i % (ranks - 1);
    if (kinds.of_send(i) != round || kinds.of_receive(i) != round) return false;
    first.push_back(schedule.step(0, i));
    if (first.back().after_send || first.back().needs != SlotRange{0, round}) return false;
  }
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    if (schedule.sends(rank) != sends || schedule.receives(rank) != sends) return false;
    std::uint32_t to = rank;
    for (std::uint32_t i = 0; i < sends; ++i) {
      to = (to + step_ahead) % ranks;
      if (to == rank) to = (to + step_ahead) % ranks;
      Step expected = first[i];
      expected.to = to;
      expected.slot = i;
      if (schedule.step(rank, i) != expected) return false;
    }
  }
  return true;
}

}  // namespace

TEST_CASE("every collective, algorithm and topology folds without a difference") {
  for (const NetworkModel model : {NetworkModel::kAlphaBeta, NetworkModel::kFlow})
    for (const Granularity granularity : {Granularity::kStep, Granularity::kPhase})
      for (const std::string topology : {"switch", "ring", "fully-connected"})
        for (const Algorithm& algorithm : algorithms())
          for (const CollectiveKind kind : kAllCollectiveKinds) {
            if (!algorithm.supports(kind)) continue;
            for (const std::uint32_t ranks : {2u, 3u, 8u, 13u}) {
              INFO(topology << ' ' << algorithm.name << ' ' << name_of(kind) << " of " << ranks << ", "
                            << network_model_names()[static_cast<std::size_t>(model)] << ", "
                            << granularity_names()[static_cast<std::size_t>(granularity)]);
              const Fabric fabric = one_dimension(topology, ranks, kBandwidth, kLatency);
              SimulationOptions options;
              options.collectives = always(algorithm.name);
              options.collectives.granularity = granularity;
              fold_and_compare(everybody_calls(ranks, kind, Bytes(100'003)), fabric, options, model);
              fold_and_compare(everybody_calls(ranks, kind, Bytes(100'003), Duration(3'000'000)), fabric, options,
                               model);
            }
          }
}

TEST_CASE("every collective and algorithm of larger groups folds without a difference") {
  for (const Algorithm& algorithm : algorithms())
    for (const CollectiveKind kind : kAllCollectiveKinds) {
      if (!algorithm.supports(kind)) continue;
      for (const std::uint32_t ranks : {16u, 24u, 64u}) {
        INFO(algorithm.name << ' ' << name_of(kind) << " of " << ranks);
        SimulationOptions options;
        options.collectives = always(algorithm.name);
        if (algorithm.is_in_network()) options.collectives.granularity = Granularity::kPhase;
        fold_and_compare(everybody_calls(ranks, kind, Bytes(100'003)),
                         one_dimension("switch", ranks, kBandwidth, kLatency), options, NetworkModel::kFlow);
      }
    }
}

TEST_CASE("no message is sent by itself of a call in lockstep on links of its own whose members act as one") {
  const Fabric fabric = one_dimension("switch", 8, kBandwidth, kLatency);
  for (const std::string algorithm : {"halving-doubling", "ring"}) {
    INFO(algorithm);
    SimulationOptions options;
    options.collectives = always(algorithm);
    const Outcome outcome =
        fold_and_compare(everybody_calls(8, kAllReduce, Bytes(8'000'000)), fabric, options, NetworkModel::kFlow);
    CHECK(outcome.totals.messages > 0);
    CHECK(outcome.totals.fast_forwarded == outcome.totals.messages);
  }
}

// 2 (n-1) n messages; but for the ranks there are n links up and n down, the communicator and the exchange.
TEST_CASE("where all send the same to all, no message is compared") {
  constexpr std::uint32_t kRanks = 100;
  const Job job = everybody_calls(kRanks, kAllReduce, Bytes(1'000'000));
  const Fabric fabric = one_dimension("switch", kRanks, kBandwidth, kLatency);
  const Matching matching = match(job);
  std::vector<DeviceId> placement;
  for (std::uint32_t rank = 0; rank < kRanks; ++rank) placement.push_back(DeviceId(rank));
  const CollectiveOptions options = always("direct");
  CollectivePlans plans(job, matching, fabric, placement, options);
  Symmetry symmetry(job, matching, fabric, placement, plans, Granularity::kStep, std::vector<std::uint64_t>(kRanks));
  CHECK(symmetry.use_communicator(kWorld));
  symmetry.refine();
  CHECK(symmetry.is_equitable());
  std::uint32_t vertices = 0;
  for (Symmetry::Colour colour = 0; colour < symmetry.class_count(); ++colour) vertices += symmetry.class_size(colour);
  CHECK(symmetry.class_count() == 5);
  CHECK(vertices == 3 * kRanks + 2);
}

// 5 groups of 1,500 would have 22 million messages, which are too many to compare.
TEST_CASE("many exchanges of all with all fold as one does") {
  constexpr std::uint32_t kGroups = 5, kRanks = 1500;
  const Fabric fabric = compose(std::vector{dimension("switch", kRanks, kBandwidth, kLatency),
                                            dimension("switch", kGroups, kBandwidth, kLatency)});
  JobBuilder builder(kGroups * kRanks);
  for (std::uint32_t group = 0; group < kGroups; ++group) {
    std::vector<std::uint32_t> members(kRanks);
    std::iota(members.begin(), members.end(), group * kRanks);
    const GroupId communicator = builder.group("group" + std::to_string(group), members);
    for (const std::uint32_t rank : members) builder.collective(rank, kAllReduce, Bytes(1'000'000), communicator);
  }
  SimulationOptions options;
  options.collectives = always("direct");
  options.fold = FoldMode::kAuto;
  CHECK(simulate(builder.build(), fabric, options, NetworkModel::kFlow).totals.rank_classes == 1);
}

TEST_CASE("the exchanges of all with all, and no others, are complete") {
  std::uint32_t complete = 0;
  for (const Algorithm& algorithm : algorithms())
    for (const CollectiveKind kind : kAllCollectiveKinds)
      for (const std::uint32_t ranks : {1u, 2u, 3u, 4u, 7u, 16u})
        for (const std::optional<std::uint32_t> window : {std::optional<std::uint32_t>(), {0u}, {3u}})
          for (const bool descending : {false, true})
            for (const bool is_even : {true, false}) {
              if (!algorithm.supports(kind) || algorithm.is_in_network() || (!is_even && kind != kAllToAll)) continue;
              INFO(algorithm.name << ' ' << name_of(kind) << " of " << ranks << (descending ? " down" : ""));
              Request request{kind, ranks, 0, Bytes(1600), {}, window, descending};
              for (std::uint32_t rank = 0; rank < ranks && !is_even; ++rank) {
                request.bytes_of_rank.emplace_back(1600 * (rank + 1));
              }
              const Schedule schedule = make_schedule(algorithm, request);
              const bool is_complete = schedule.is_complete_exchange();
              if (is_complete || algorithm.name == "direct") CHECK(is_complete == is_seen_to_be_complete(schedule));
              complete += is_complete ? 1 : 0;
            }
  // Four kinds wherever no window is narrower than their sends, and the all-to-all, whose own window is 8.
  CHECK(complete == 94);
}

TEST_CASE("routes over a switch are ways out and ways in, those of a ring and between all pairs are not") {
  for (const std::string topology : {"switch", "ring", "fully-connected"}) {
    const Fabric fabric = one_dimension(topology, 6, kBandwidth, kLatency);
    std::vector<DeviceId> devices;
    for (std::uint32_t device = 0; device < 6; ++device) devices.push_back(DeviceId(device));
    CHECK(find_ways(devices, fabric).has_value() == (topology == "switch"));
  }
}

TEST_CASE("a ring folds to one class, with a straggler to none") {
  const Fabric fabric = one_dimension("ring", 12, kBandwidth, kLatency);
  SimulationOptions options;
  options.collectives = always("ring");
  CHECK(fold_and_compare(everybody_calls(12, kAllReduce, Bytes(1'000'000)), fabric, options, NetworkModel::kFlow)
            .totals.rank_classes == 1);
  CHECK(fold_and_compare(everybody_calls(12, kAllReduce, Bytes(1'000'000), Duration(5'000'000)), fabric, options,
                         NetworkModel::kFlow)
            .totals.rank_classes == 12);
}

TEST_CASE("a root that sends to two leaves one after the other keeps them apart; at once, it folds them") {
  const Fabric fabric = one_dimension("switch", 3, kBandwidth, kLatency);
  for (const bool at_once : {false, true}) {
    JobBuilder builder(3);
    const NodeId first = builder.send(0, 1, Bytes(1'000'000));
    builder.send(0, 2, Bytes(1'000'000), at_once ? std::vector<NodeId>{} : std::vector<NodeId>{first});
    builder.receive(1, 0, Bytes(1'000'000));
    builder.receive(2, 0, Bytes(1'000'000));
    CHECK(fold_and_compare(builder.build(), fabric, {}, NetworkModel::kFlow).totals.rank_classes == (at_once ? 2 : 3));
  }
  // As a collective: direct with a window of one sends to one after the other.
  SimulationOptions options;
  options.collectives = always("direct1");
  CHECK(fold_and_compare(everybody_calls(3, kBroadcast, Bytes(1'000'000)), fabric, options, NetworkModel::kFlow)
            .totals.rank_classes == 3);
  options.collectives = always("direct");
  CHECK(fold_and_compare(everybody_calls(3, kBroadcast, Bytes(1'000'000)), fabric, options, NetworkModel::kFlow)
            .totals.rank_classes == 2);
}

TEST_CASE("a ring does not have links to itself that another member uses in the call before or after") {
  // Members leave a reduce at different times, so that one may be in the ring that follows while others still send
  // over its links; the more so if one link, each in turn, is slow.
  Experiment even = read_machine_text(
      "cluster: {device: a40, dims: [{topology: fat-tree, size: 8, bandwidth: 10 GB/s, latency: 1 us, leaf_ports: 4, "
      "oversubscription: 2, trunk_latency: 300 ns}]}\n");
  JobBuilder builder(8);
  for (std::uint32_t rank = 0; rank < 8; ++rank) {
    const NodeId first = builder.collective(rank, kReduce, Bytes(1), kWorld);
    const NodeId second = builder.collective(rank, kReduceScatter, Bytes(100'003), kWorld, {first});
    builder.collective(rank, kAllGather, Bytes(100'003), kWorld, {second});
  }
  const Job job = builder.build();
  for (std::uint32_t link = 0; link < even.fabric.link_count(); ++link)
    for (const std::int64_t factor : {2, 3, 4})
      for (const bool has_rings : {false, true}) {
        INFO("link " << link << " / " << factor << (has_rings ? ", rings" : ""));
        const Bandwidth nominal = even.fabric.link(LinkId(link)).bandwidth;
        even.fabric.set_bandwidth(LinkId(link), Bandwidth(nominal.count() / factor));
        for (const CollectiveKind kind : {kReduceScatter, kAllGather}) {
          std::vector<Algorithm>& algorithms = even.simulation.collectives.algorithms[static_cast<std::size_t>(kind)];
          algorithms.clear();
          if (has_rings) algorithms = {*find_algorithm("ring")};
        }
        fold_and_compare(job, even.fabric, even.simulation, network_of(even));
        even.fabric.set_bandwidth(LinkId(link), nominal);
      }
}

TEST_CASE("what a group has left on a link is kept by load when its classes come apart") {
  // Two gathers whose members lie alike, from 0 and 2 on: what their roots receive and what the others pass on are
  // different loads on links of one class. A third group, first used in between, tells the members apart.
  JobBuilder builder(8);
  const GroupId first = builder.group("first", {0, 1, 2, 3});
  const GroupId second = builder.group("second", {2, 3, 0, 1});
  const GroupId third = builder.group("third", {0, 1, 2, 3});
  const Bytes size(20'000'000);
  for (std::uint32_t rank = 0; rank < 4; ++rank) {
    for (const GroupId group : rank < 2 ? std::array{first, second} : std::array{second, first})
      builder.collective(rank, kGather, size, group);
    const NodeId late = builder.compute(rank, Duration(5'000'000'000));
    builder.collective(rank, kAllReduce, Bytes(1000), third, {late});
  }
  for (std::uint32_t rank = 4; rank < 8; ++rank) builder.compute(rank, Duration(1'000'000'000));
  Job job = builder.build();
  for (std::uint32_t rank = 0; rank < 4; ++rank)
    job.ranks[rank].own_details().roots =
        rank < 2 ? std::vector<std::int64_t>{0, 2, -1} : std::vector<std::int64_t>{2, 0, -1};
  SimulationOptions options;
  options.collectives.granularity = Granularity::kPhase;
  fold_and_compare(job, one_dimension("switch", 8, Bandwidth(10'000'000'000), Duration(1'000'000)), options,
                   NetworkModel::kFlow);
}

TEST_CASE("queues whose first chunks wait for one another let the next ones go") {
  // The parts of a mesh take its axes in opposite orders, and with LIFO each axis may be held by what needs the other.
  const Experiment machine = read_machine_text(
      "cluster: {device: a40, dims: [{topology: mesh, sizes: [3, 3], bandwidth: 100 GB/s, latency: 1 us}]}\n"
      "collectives: {chunks: 8, queue: lifo}\n");
  JobBuilder builder(9);
  for (std::uint32_t rank = 0; rank < 9; ++rank) {
    const NodeId scatter = builder.collective(rank, kScatter, Bytes(1 << 20), kWorld);
    builder.collective(rank, kAllReduce, Bytes(100), kWorld, {scatter});
  }
  const Outcome outcome = fold_and_compare(builder.build(), machine.fabric, machine.simulation, network_of(machine));
  CHECK(outcome.totals.finish < at(Duration(1'000'000'000)));
}
