// SPDX-License-Identifier: MIT
// Training jobs whose programs repeat passes: they are the jobs with all written out, and take the same times,
// operation by operation.
#include <algorithm>
#include <catch2/catch.hpp>
#include <set>

#include "report/passes/passes.h"
#include "system/execution/repetitions.h"
#include "tests/experiment/random_training.h"
#include "tests/system/folding/folded.h"
#include "tests/system/plans/fake_library.h"
#include "tests/workload/training/small_training.h"
#include "workload/graph/builder.h"

using namespace orrery;
using namespace orrery::network;
using namespace orrery::system;
using namespace orrery::workload;
using namespace orrery::test;
using namespace orrery::testing;

namespace {

// Writes out what a program repeats, by what Stretch and Repetition say and nothing else.
class Writing {
 public:
  explicit Writing(const ExecutionGraph& graph) : graph_(graph) {}

  ExecutionGraph graph() && {
    for (std::uint32_t i = 0; i < graph_.size(); ++i) write(NodeId(i));
    for (std::uint32_t i = 0; i < graph_.size(); ++i)
      for (const NodeId after : graph_.successors(NodeId(i)))
        for (const NodeId end : ends(NodeId(i)))
          for (const NodeId beginning : beginnings(after)) builder_.depend(beginning, end);
    return std::move(builder_).build();
  }

 private:
  void write(NodeId node) {
    const auto repetition = graph_.repetition(node);
    if (!repetition) {
      builder_.add(graph_.node(node));
      return;
    }
    if (repetition->is_rest) return;
    const Stretch& stretch = graph_.stretches()[repetition->stretch];
    const std::uint32_t shift = graph_.number(node) - index_of(stretch.first);
    for (std::uint32_t i = 0; i < stretch.count; ++i) {
      const NodeId model{index_of(stretch.first) + i};
      builder_.add(graph_.node(model));
      for (const NodeId after : graph_.successors(model))
        if (stretch.holds(after)) builder_.depend(NodeId(index_of(after) + shift), NodeId(index_of(model) + shift));
    }
  }

  // What those wait for that come after the node.
  std::vector<NodeId> ends(NodeId node) const {
    const auto repetition = graph_.repetition(node);
    if (!repetition) return {NodeId(graph_.number(node))};
    const Stretch& stretch = graph_.stretches()[repetition->stretch];
    const std::uint32_t first = graph_.number(node) - (repetition->is_rest ? stretch.count : 0);
    std::vector<NodeId> ends;
    for (std::uint32_t i = 0; i < stretch.count; ++i) {
      const NodeId model{index_of(stretch.first) + i};
      const bool is_tail = std::ranges::find(stretch.tail, model) != stretch.tail.end();
      const bool is_last = std::ranges::none_of(graph_.successors(model), [&](NodeId n) { return stretch.holds(n); });
      if (repetition->is_rest ? is_last && !is_tail : is_tail) ends.push_back(NodeId(first + i));
    }
    return ends;
  }

  std::vector<NodeId> beginnings(NodeId node) const {
    const auto repetition = graph_.repetition(node);
    if (!repetition) return {NodeId(graph_.number(node))};
    if (repetition->is_rest) return {};
    const Stretch& stretch = graph_.stretches()[repetition->stretch];
    std::vector<bool> waits(stretch.count);
    for (std::uint32_t i = 0; i < stretch.count; ++i)
      for (const NodeId after : graph_.successors(NodeId(index_of(stretch.first) + i)))
        if (stretch.holds(after)) waits[index_of(after) - index_of(stretch.first)] = true;
    std::vector<NodeId> beginnings;
    for (std::uint32_t i = 0; i < stretch.count; ++i)
      if (!waits[i]) beginnings.push_back(NodeId(graph_.number(node) + i));
    return beginnings;
  }

  const ExecutionGraph& graph_;
  GraphBuilder builder_;
};

void check_written_out(const TrainingJob& repeated, const TrainingJob& written) {
  REQUIRE(repeated.job.graphs.size() == written.job.graphs.size());
  for (std::size_t i = 0; i < written.job.graphs.size(); ++i) {
    CHECK(Writing(repeated.job.graphs[i]).graph() == written.job.graphs[i]);
    CHECK(repeated.job.graphs[i].written_out_size() == written.job.graphs[i].size());
    const auto &changes = repeated.facts.memory[i].changes, &expected = written.facts.memory[i].changes;
    CHECK(std::ranges::equal(changes, expected, [](const MemoryChange& a, const MemoryChange& b) {
      return a.number == b.number && a.at_end == b.at_end && a.bytes == b.bytes;
    }));
    CHECK(std::ranges::equal(repeated.facts.marks[i]->passes, written.facts.marks[i]->passes,
                             [](const PassMark& a, const PassMark& b) {
                               return a.number == b.number && a.iteration == b.iteration && a.pass == b.pass;
                             }));
  }
}

bool is_same(const OperationRecord& a, const OperationRecord& b) {
  return a.number == b.number && a.start == b.start && a.moving == b.moving && a.end == b.end && a.slowed == b.slowed;
}

void check_same(const Outcome& repeated, const Outcome& written) {
  CHECK(repeated.totals.finish == written.totals.finish);
  CHECK(repeated.totals.rank_finish == written.totals.rank_finish);
  CHECK(repeated.totals.acting == written.totals.acting);
  CHECK(repeated.totals.link_classes == written.totals.link_classes);
  CHECK(repeated.totals.messages == written.totals.messages);
  for (const RankId acting : written.totals.acting)
    CHECK(std::ranges::equal(repeated.log.of(acting), written.log.of(acting), is_same));
  CHECK(std::ranges::equal(repeated.usage, written.usage, [](const LinkUsage& a, const LinkUsage& b) {
    return a.bytes == b.bytes && a.busy == b.busy;
  }));
}

// Boxes of a picture, pass by pass.
void check_same_passes(const TrainingJob& loops, const Outcome& repeated, const TrainingJob& whole,
                       const Outcome& written) {
  const auto passes = [](const TrainingJob& made, const Outcome& outcome) {
    return report::collect_passes({made.job, 0, made.facts, 0, outcome.log, outcome.totals.acting});
  };
  const auto one = passes(loops, repeated), other = passes(whole, written);
  REQUIRE(one.has_value() == other.has_value());
  for (std::size_t rank = 0; one && rank < one->ranks.size(); ++rank) {
    CHECK(one->ranks[rank].bubble == other->ranks[rank].bubble);
    CHECK(std::ranges::equal(one->ranks[rank].spans, other->ranks[rank].spans,
                             [](const report::PassSpan& a, const report::PassSpan& b) {
                               return a.pass == b.pass && a.iteration == b.iteration && a.start == b.start &&
                                      a.end == b.end && a.is_put_off == b.is_put_off;
                             }));
  }
}

// Tensor-parallel groups have a switch of their own, if there is more than one.
Fabric fabric_for(const TrainingSpec& training, std::uint32_t ranks) {
  const auto tensor = static_cast<std::uint32_t>(training.parallel.tensor());
  if (tensor == 1 || ranks % tensor != 0 || ranks == tensor)
    return one_dimension("switch", std::max(ranks, 2U), Bandwidth(25'000'000'000), Duration(700'000));
  return compose(std::vector{dimension("switch", tensor, Bandwidth(300'000'000'000), Duration(500'000)),
                             dimension("switch", ranks / tensor, Bandwidth(25'000'000'000), Duration(700'000))});
}

// True if a send slowed a computation that `job` has in a repetition, in the outcome of the same job `written` out.
bool repeats_beside_sends(const Job& job, const Job& written, const Outcome& outcome) {
  for (const RankId rank : std::set(outcome.totals.acting.begin(), outcome.totals.acting.end())) {
    const ExecutionGraph& graph = job.graph(rank);
    std::vector<bool> is_written(graph.written_out_size());
    for (std::uint32_t node = 0; node < graph.size(); ++node)
      if (!graph.repetition(NodeId(node))) is_written[graph.number(NodeId(node))] = true;
    const std::vector<OperationRecord> operations = outcome.log.of(rank);
    const auto is_repeated = [&](const OperationRecord& operation) {
      return operation.slowed > Duration::zero() && !is_written[operation.number];
    };
    for (const OperationRecord& slowed : operations) {
      if (!is_repeated(slowed)) continue;
      const auto is_beside = [&](const OperationRecord& other) {
        return written.graph(rank).kind(other.node) == NodeKind::kSend && other.start < slowed.end &&
               slowed.start < other.end;
      };
      if (std::ranges::any_of(operations, is_beside)) return true;
    }
  }
  return false;
}

// Kernels beside which latencies are next to nothing.
class LongTimes final : public OperatorTimes {
 public:
  Duration time(const Operator& op) const override { return FakeTimes().time(op) * 10'000; }
};

}  // namespace

TEST_CASE("what a program repeats is what is written out, and takes the same times") {
  std::mt19937_64 random(29);
  int tried = 0, repeated = 0, with_calls = 0, slowed = 0, beside_sends = 0, refused = 0;
  const FakeLibrary eager, awaited(Bytes(0));
  for (int i = 0; tried < 4000 && i < 100'000; ++i) {
    TrainingSpec training = random_training(random);
    Diagnostics problems;
    check_training(training, 24, problems);
    if (problems.has_errors()) continue;
    ++tried;
    INFO("try " << i);
    const FakeTimes short_times;
    const LongTimes long_times;
    const OperatorTimes& times = tried % 5 < 3 ? static_cast<const OperatorTimes&>(short_times) : long_times;
    const TrainingJob written = generate_job(training, times);
    const TrainingJob loops = generate_job(training, times, Loops::kRepeated);
    check_written_out(loops, written);
    if (std::ranges::all_of(loops.job.graphs, [](const ExecutionGraph& g) { return g.stretches().empty(); })) continue;
    const Fabric fabric = fabric_for(training, static_cast<std::uint32_t>(written.job.ranks.size()));
    SimulationOptions options;
    options.fold = FoldMode::kAuto;
    options.collectives.granularity = tried % 2 == 0 ? Granularity::kStep : Granularity::kPhase;
    if (tried % 4 == 1) {  // its calls slow down what is computed beside them
      options.collectives.library = tried % 8 == 1 ? &eager : &awaited;
      options.collectives.granularity = Granularity::kPhase;
    }
    const NetworkModel model = tried % 3 == 0 ? NetworkModel::kAlphaBeta : NetworkModel::kFlow;
    try {
      const Outcome outcome = simulate(written.job, fabric, options, model);
      const Outcome of_loops = simulate(loops.job, fabric, options, model);
      check_same(of_loops, outcome);
      check_same_passes(loops, of_loops, written, outcome);
      ++repeated;
      const auto is_slowed = [](const OperationRecord& operation) { return operation.slowed > Duration::zero(); };
      if (std::ranges::any_of(outcome.log.of(RankId(0)), is_slowed)) ++slowed;
      if (repeats_beside_sends(loops.job, written.job, outcome)) ++beside_sends;
      if (training.parallel.tensor() > 1) ++with_calls;
    } catch (const NotRepeatable&) {
      ++refused;
    }
  }
  INFO("repeated " << repeated << ", with calls " << with_calls << ", slowed " << slowed << ", beside sends "
                   << beside_sends << ", refused " << refused);
  CHECK(tried == 4000);
  CHECK(repeated > 2000);
  CHECK(with_calls > 80);
  CHECK(slowed > 50);
  CHECK(beside_sends > 3);
  CHECK(refused > 100);
}
