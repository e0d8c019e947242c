// SPDX-License-Identifier: MIT
// The classes found on one of each kind of replicas are those found on all ranks, links and communicators.
#include "system/folding/replicas.h"

#include <fmt/format.h>
#include <algorithm>
#include <catch2/catch.hpp>
#include <functional>
#include <map>
#include <numeric>
#include <optional>
#include <random>
#include <vector>

#include "bench/stage_job.h"
#include "system/folding/symmetry.h"
#include "tests/system/plans/fake_library.h"
#include "tests/system/random_jobs.h"
#include "tests/system/small_jobs.h"
#include "tests/workload/training/small_training.h"

using namespace orrery;
using namespace orrery::network;
using namespace orrery::system;
using namespace orrery::workload;
using namespace orrery::test;

namespace {

struct Case {
  experiment::Experiment experiment;
  Job job;
  std::vector<DeviceId> placement;
  std::vector<std::uint64_t> own;
};

// Side by side, one rank a node after the other, nodes or devices in any order; some nodes may stay empty.
std::vector<DeviceId> random_placement(std::mt19937_64& random, std::uint32_t ranks, std::uint32_t devices,
                                       std::uint32_t per_node) {
  std::vector<std::uint32_t> places(devices);
  const std::uint32_t nodes = devices / per_node;
  std::vector<std::uint32_t> node_at(nodes);
  for (std::uint32_t node = 0; node < nodes; ++node) node_at[node] = node;
  const auto kind = random() % 8;
  if (kind < 3) std::ranges::shuffle(node_at, random);
  for (std::uint32_t i = 0; i < devices; ++i)
    places[i] = kind == 4 ? i % nodes * per_node + i / nodes : node_at[i / per_node] * per_node + i % per_node;
  if (kind == 5) std::ranges::shuffle(places, random);
  if (kind == 6) std::swap(places[random() % devices], places[random() % devices]);
  std::vector<DeviceId> placement;
  for (std::uint32_t rank = 0; rank < ranks; ++rank) placement.push_back(DeviceId(places[rank]));
  return placement;
}

// A generated job, whose ranks repeat over the data dimension.
Job repeating_job(std::mt19937_64& random, std::uint32_t devices, std::uint32_t per_node) {
  TrainingSpec training = orrery::testing::small_training(orrery::testing::small_gpt());
  const auto degree = [&](ParallelDimension dimension) -> std::int64_t& {
    return orrery::testing::degree(training, dimension);
  };
  degree(ParallelDimension::kTensor) = std::gcd(random() % 3 == 0 ? per_node / 2 : per_node, 8);
  const std::int64_t columns = devices / degree(ParallelDimension::kTensor);
  degree(ParallelDimension::kPipeline) = columns > 2 && random() % 2 == 0 ? 2 : 1;
  degree(ParallelDimension::kData) = columns / degree(ParallelDimension::kPipeline);
  if (random() % 3 == 0) std::ranges::shuffle(training.parallel.order, random);
  training.parallel.zero = random() % 3 == 0 ? 1 : 0;
  training.global_batch = 2 * degree(ParallelDimension::kData);
  return generate_job(training, orrery::testing::FakeTimes()).job;
}

Case random_case(std::mt19937_64& random) {
  const std::vector<std::string> clusters = {"dgx-a100", "dgx-h100", "dgx-1v", "a40-pcie", "hgx-a800"};
  const std::uint32_t nodes = 2 + static_cast<std::uint32_t>(random() % 11);
  Case made{read_machine_text(fmt::format("cluster: {}\nnodes: {}", clusters[random() % clusters.size()], nodes)),
            {},
            {},
            {}};
  const std::uint32_t devices = made.experiment.fabric.device_count();
  const std::uint32_t per_node = made.experiment.fabric.dimensions().front().size;
  if (random() % 3 == 0) {
    made.job = random_job(random, devices);
  } else if (random() % 2 == 0) {
    made.job = repeating_job(random, devices, per_node);
  } else {
    bench::StageJob shape;
    shape.tensor = random() % 3 == 0 ? per_node / 2 : per_node;
    const std::uint32_t columns = devices / shape.tensor;
    shape.pipeline = 1 + static_cast<std::uint32_t>(random() % columns);
    shape.data = columns / shape.pipeline;
    shape.layers = 1;
    shape.micro_batches = 3;
    if (random() % 6 == 0) shape.slow_rank = static_cast<std::uint32_t>(random() % (columns * shape.tensor / 2));
    made.job = bench::stage_job(shape);
  }
  const auto ranks = static_cast<std::uint32_t>(made.job.ranks.size());
  made.placement = random_placement(random, ranks, devices, per_node);
  made.own.assign(ranks, 0);
  if (random() % 6 == 0) made.own[random() % ranks] = 1;
  if (random() % 6 == 0)
    for (std::uint32_t rank = 0; rank < ranks / 2; ++rank) made.own[rank] += 2;
  if (random() % 12 == 0) made.experiment.fabric.set_bandwidth(LinkId(0), Bandwidth(1'000'000'000));
  return made;
}

// Of two partitions, whose classes are told one by one, whether they are the same.
class SameClasses {
 public:
  void check(std::optional<std::uint32_t> one, std::optional<std::uint32_t> other, std::uint32_t size_of_one,
             std::uint32_t size_of_other) {
    REQUIRE(one.has_value() == other.has_value());
    if (!one) return;
    REQUIRE(one_of_.try_emplace(*other, *one).first->second == *one);
    REQUIRE(other_of_.try_emplace(*one, *other).first->second == *other);
    REQUIRE(size_of_one == size_of_other);
  }

 private:
  std::map<std::uint32_t, std::uint32_t> one_of_, other_of_;
};

void compare(const Case& c, const Symmetry& plain, const Symmetry& by_replicas) {
  REQUIRE(by_replicas.is_equitable());
  REQUIRE(plain.stages().programs == by_replicas.stages().programs);
  REQUIRE(plain.stages().partners == by_replicas.stages().partners);
  REQUIRE(plain.stages().links == by_replicas.stages().links);
  REQUIRE(plain.class_count() == by_replicas.class_count());
  SameClasses same;
  const auto check = [&](auto id) {
    const std::optional<std::uint32_t> one = plain.colour(id), other = by_replicas.colour(id);
    same.check(one, other, one ? plain.class_size(*one) : 0, other ? by_replicas.class_size(*other) : 0);
  };
  for (std::uint32_t rank = 0; rank < c.job.ranks.size(); ++rank) check(RankId(rank));
  for (std::uint32_t link = 0; link < c.experiment.fabric.link_count(); ++link) check(LinkId(link));
  for (std::uint32_t group = 0; group < c.job.communicators.size(); ++group) {
    REQUIRE(plain.is_in_use(GroupId(group)) == by_replicas.is_in_use(GroupId(group)));
    if (!plain.is_in_use(GroupId(group))) continue;
    check(GroupId(group));
    if (by_replicas.replicas().first(GroupId(group)) == GroupId(group))
      REQUIRE(plain.is_alone(GroupId(group)) == by_replicas.is_alone(GroupId(group)));
  }
}

// Brings all into use, replicas together, in any order. Returns whether there are any; counts those that repeat.
bool compare_growing(const Case& c, std::mt19937_64& random, int& repeats,
                     const GroupLibrary& library = FakeLibrary()) {
  const Matching matching = match(c.job);
  CollectiveOptions options = c.experiment.simulation.collectives;
  options.library = &library;
  options.granularity = Granularity::kPhase;
  CollectivePlans plans(c.job, matching, c.experiment.fabric, c.placement, options);
  const auto symmetry = [&](bool by_replicas) {
    return Symmetry(c.job, matching, c.experiment.fabric, c.placement, plans, options.granularity, c.own, by_replicas);
  };
  Symmetry plain = symmetry(false), by_replicas = symmetry(true);
  const Replicas& replicas = by_replicas.replicas();
  std::vector<std::function<void()>> uses;
  for (std::uint32_t group = 0; group < c.job.communicators.size(); ++group)
    uses.push_back([&, group] {
      std::uint32_t used = 0;
      for (std::uint32_t other = 0; other < c.job.communicators.size(); ++other)
        if (replicas.first(GroupId(other)) == replicas.first(GroupId(group)))
          used += plain.use_communicator(GroupId(other));
      REQUIRE(by_replicas.use_communicator(GroupId(group)) == used);
    });
  for (std::uint32_t rank = 0; rank < c.job.ranks.size(); ++rank)
    for (std::uint32_t slot = 0; slot < c.job.ranks[rank].peers.size(); ++slot)
      uses.push_back([&, rank, slot] {
        std::uint32_t used = 0;
        for (std::uint32_t other = 0; other < c.job.ranks.size(); ++other)
          if (replicas.kind(RankId(other)) == replicas.kind(RankId(rank))) used += plain.use_sends(RankId(other), slot);
        REQUIRE(by_replicas.use_sends(RankId(rank), slot) == used);
      });
  std::ranges::shuffle(uses, random);
  for (const auto& use : uses) {
    use();
    if (random() % 16 > 0) continue;
    plain.refine();
    by_replicas.refine();
    compare(c, plain, by_replicas);
  }
  plain.refine();
  by_replicas.refine();
  compare(c, plain, by_replicas);
  if (replicas.repeats().any()) ++repeats;
  return replicas.any();
}

}  // namespace

TEST_CASE("600 random jobs have the same classes whether they are found by replicas or not") {
  std::mt19937_64 random(23);
  int with_replicas = 0, repeats = 0;
  for (int trial = 0; trial < 600; ++trial) {
    INFO("trial " << trial);
    with_replicas += compare_growing(random_case(random), random, repeats) ? 1 : 0;
  }
  CHECK(with_replicas > 80);
  CHECK(with_replicas < 550);
  CHECK(repeats > 0);
}

// Jobs that repeat, with a library whose double trees are changed.
template <class Changed>
void compare_repeating(std::uint64_t seed, int least) {
  std::mt19937_64 random(seed);
  int repeats = 0, with_replicas = 0;
  for (int trial = 0; trial < 200; ++trial) {
    INFO("trial " << trial);
    const std::uint32_t nodes = 2 + static_cast<std::uint32_t>(random() % 11);
    Case c{read_machine_text(fmt::format("cluster: dgx-a100\nnodes: {}", nodes)), {}, {}, {}};
    c.job = repeating_job(random, 8 * nodes, 8);
    for (std::uint32_t rank = 0; rank < c.job.ranks.size(); ++rank) c.placement.push_back(DeviceId(rank));
    c.own.assign(c.job.ranks.size(), 0);
    with_replicas += compare_growing(c, random, repeats, Changed()) ? 1 : 0;
  }
  CHECK(repeats >= least);
  CHECK(with_replicas > 50);
}

// Double trees tell the digits of a period apart.
TEST_CASE("200 jobs whose rings repeat have the same classes whether they are found by replicas or not") {
  class Rings final : public FakeLibrary {
   public:
    collectives::Aggregate transfer(CollectiveKind kind, Bytes bytes, std::uint32_t root,
                                    const GroupLayout& layout) const override {
      collectives::Aggregate aggregate = FakeLibrary::transfer(kind, bytes, root, layout);
      if (aggregate.pattern == collectives::NodePattern::kDoubleTree)
        aggregate.pattern = collectives::NodePattern::kRing;
      return aggregate;
    }
  };
  compare_repeating<Rings>(29, 20);
}

// Nodes are alike then, whatever the number of their neighbours.
TEST_CASE("200 jobs with double trees that carry nothing between nodes have the same classes by replicas or not") {
  class SmallTrees final : public FakeLibrary {
   public:
    collectives::Aggregate transfer(CollectiveKind kind, Bytes bytes, std::uint32_t root,
                                    const GroupLayout& layout) const override {
      collectives::Aggregate aggregate = FakeLibrary::transfer(kind, bytes, root, layout);
      if (aggregate.pattern != collectives::NodePattern::kAllPairs) {
        aggregate.pattern = collectives::NodePattern::kDoubleTree;
        aggregate.between = Bytes(0);
      }
      return aggregate;
    }
  };
  compare_repeating<SmallTrees>(31, 0);
}

TEST_CASE("Replicas of a job are as many as its data-parallel ranks") {
  std::mt19937_64 random(1);
  int repeats = 0;
  Case c{read_machine_text("cluster: dgx-a100\nnodes: 24"), {}, {}, {}};
  bench::StageJob shape;
  shape.pipeline = 3;
  shape.data = 8;
  shape.layers = 1;
  shape.micro_batches = 4;
  c.job = bench::stage_job(shape);
  for (std::uint32_t rank = 0; rank < c.job.ranks.size(); ++rank) c.placement.push_back(DeviceId(rank));
  c.own.assign(c.job.ranks.size(), 0);
  CHECK(compare_growing(c, random, repeats));
  c.own[17] = 1;  // in whose row all are told apart, but not those beside it
  compare_growing(c, random, repeats);
}

// Alike in whom they talk to, as far as kinds and places go.
TEST_CASE("Nodes whose ranks talk to one another are no replicas of nodes whose ranks talk across") {
  std::mt19937_64 random(1);
  int repeats = 0;
  Case c{read_machine_text("cluster: dgx-a100\nnodes: 8"), {}, {}, {}};
  JobBuilder job(64);
  for (std::uint32_t node = 0; node < 8; ++node) {
    const std::uint32_t to = node < 4 ? node : node ^ 1;
    job.send(8 * node, 8 * to + 1, Bytes(1000));
    job.receive(8 * to + 1, 8 * node, Bytes(1000));
  }
  c.job = job.build();
  for (std::uint32_t rank = 0; rank < 64; ++rank) c.placement.push_back(DeviceId(rank));
  c.own.assign(64, 0);
  CHECK(compare_growing(c, random, repeats));
}
