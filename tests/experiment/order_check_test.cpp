// SPDX-License-Identifier: MIT
// Which jobs can finish, found without times: what the dependencies allow, no more and no less.
#include "experiment/runs/check.h"

#include <catch2/catch.hpp>
#include <random>
#include <string>
#include <vector>

#include "core/error.h"
#include "tests/system/plans/fake_library.h"
#include "tests/system/small_jobs.h"

using namespace orrery;
using namespace orrery::experiment;
using namespace orrery::network;
using namespace orrery::system;
using namespace orrery::workload;
using namespace orrery::test;

namespace {

constexpr Bytes kSize{1000};

Fabric switched(std::uint32_t size) {
  return one_dimension("switch", size, Bandwidth(1'000'000'000), Duration(1'000'000));
}

// The report without the time at which the job got stuck; empty where it finishes.
template <class Run>
std::string report_of(Run run) {
  try {
    run();
  } catch (const StuckError& error) {
    std::string text = error.what();
    const std::size_t at = text.find(" at ");
    return at == std::string::npos ? text : text.replace(at, text.find(':') - at, "");
  }
  return {};
}

std::string report_of(const Job& job, Bytes send_buffer = Bytes::max()) {
  return report_of([&] { check_order(job, match(job), send_buffer); });
}

// Calls of a few groups, messages and computations of random lengths: each rank has them in an order and with
// dependencies of its own, so that many of these jobs cannot finish. With hosts, these launch the computations, and
// wait for some of them, for calls and for work of their own.
Job tangled_job(std::mt19937_64& random, bool has_hosts) {
  const auto below = [&](std::uint64_t n) { return static_cast<std::uint32_t>(random() % n); };
  const std::uint32_t ranks = 2 + below(4);
  JobBuilder builder(ranks);
  std::vector<std::pair<GroupId, std::vector<std::uint32_t>>> groups(1);
  for (std::uint32_t rank = 0; rank < ranks; ++rank) groups[0].second.push_back(rank);
  for (const char* name : {"a", "b"}) {
    std::vector<std::uint32_t> members;
    for (std::uint32_t rank = 0; rank < ranks; ++rank)
      if (below(3) > 0) members.push_back(rank);
    if (members.size() > 1) groups.emplace_back(builder.group(name, members), members);
  }
  struct Item {
    NodeKind kind = NodeKind::kCompute;
    std::uint32_t other = 0;  // group or peer
  };
  std::vector<std::vector<Item>> items(ranks);
  for (std::uint32_t i = 0; i < 2 + below(8); ++i) {
    const std::uint32_t group = below(groups.size());
    for (const std::uint32_t rank : groups[group].second) items[rank].push_back({NodeKind::kCollective, group});
    const std::uint32_t from = below(ranks), to = (from + 1 + below(ranks - 1)) % ranks;
    items[from].push_back({NodeKind::kSend, to});
    items[to].push_back({NodeKind::kReceive, from});
  }
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    std::vector<Item>& own = items[rank];
    for (std::size_t i = 0; i + 1 < own.size(); ++i)
      if (below(3) == 0) std::swap(own[i], own[i + 1 + below(std::min<std::size_t>(3, own.size() - i - 1))]);
    std::vector<NodeId> nodes;
    for (const Item& item : own) {
      std::vector<NodeId> after;
      for (const NodeId node : nodes)
        if (below(4) == 0) after.push_back(node);
      if (has_hosts && below(4) == 0) nodes.push_back(builder.host(rank, Duration(1 + below(5'000'000)), after, true));
      const Duration time(1 + below(5'000'000)), launch(has_hosts ? 1 + below(5'000'000) : 0);
      const HostWork launched = has_hosts ? HostWork{launch, launch + time, below(4) == 0} : HostWork{};
      if (below(2) == 0) after = {builder.launched(rank, time, launched, after)};
      if (item.kind == NodeKind::kCollective)
        nodes.push_back(builder.collective(rank, CollectiveKind::kAllReduce, kSize, groups[item.other].first, after, 0,
                                           has_hosts && below(4) == 0));
      else if (item.kind == NodeKind::kSend)
        nodes.push_back(builder.send(rank, item.other, kSize, after));
      else
        nodes.push_back(builder.receive(rank, item.other, kSize, after));
    }
  }
  return builder.build();
}

// Whether every operation can be done when it waits for nothing but its dependencies, what its host waits for before it
// launches a computation, and the other ranks.
bool can_finish(const Job& job, const Matching& matching, Bytes send_buffer) {
  const auto ranks = static_cast<std::uint32_t>(job.ranks.size());
  std::vector<std::vector<std::uint32_t>> waiting(ranks);
  std::vector<std::vector<bool>> done(ranks);
  std::size_t left = 0;
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    const ExecutionGraph& graph = job.graph(RankId(rank));
    left += graph.size();
    done[rank].resize(graph.size());
    for (std::uint32_t i = 0; i < graph.size(); ++i) waiting[rank].push_back(graph.predecessor_count(NodeId(i)));
  }
  const auto is_ready = [&](RankId rank, NodeId node) {
    if (waiting[index_of(rank)][index_of(node)] != 0) return false;
    const ExecutionGraph& graph = job.graph(rank);
    return graph.kind(node) != NodeKind::kCompute ||
           std::ranges::all_of(graph.synchronisations(), [&](NodeId synchronisation) {
             return synchronisation >= node || done[index_of(rank)][index_of(synchronisation)];
           });
  };
  const auto may_end = [&](RankId rank, NodeId node) {
    const ExecutionGraph& graph = job.graph(rank);
    if (!is_ready(rank, node)) return false;
    const bool is_awaited = graph.kind(node) == NodeKind::kSend && graph.bytes(node) > send_buffer;
    if (graph.kind(node) == NodeKind::kReceive || is_awaited) {
      const TransferEnd end = matching.end(rank, graph.transfer_index(node));
      return is_ready(end.rank, end.node);
    }
    if (graph.kind(node) != NodeKind::kCollective) return true;
    const GroupId group = job.communicator(rank, node);
    for (const RankId member : job.communicators[index_of(group)].members) {
      const auto& groups = job.ranks[index_of(member)].communicators;
      const auto slot = static_cast<std::uint32_t>(std::ranges::find(groups, group) - groups.begin());
      if (!is_ready(member, job.graph(member).calls(slot)[graph.call_index(node)])) return false;
    }
    return true;
  };
  for (bool any = true; any;) {
    any = false;
    for (std::uint32_t rank = 0; rank < ranks; ++rank)
      for (std::uint32_t i = 0; i < done[rank].size(); ++i) {
        if (done[rank][i] || !may_end(RankId(rank), NodeId(i))) continue;
        done[rank][i] = any = true;
        --left;
        for (const NodeId after : job.graph(RankId(rank)).successors(NodeId(i))) --waiting[rank][index_of(after)];
      }
  }
  return left == 0;
}

}  // namespace

TEST_CASE("a job is stuck exactly where no order does, with and without times, folded or not, with one report") {
  std::mt19937_64 random(3);
  const FakeLibrary library(Bytes(0));
  int stuck = 0, finished = 0;
  for (int trial = 0; trial < 1600; ++trial) {
    INFO("trial " << trial);
    const Job job = tangled_job(random, trial % 4 > 1);
    const Matching matching = match(job);
    // Sends that wait for their receives wait for nothing else: not for those before them either.
    const Bytes send_buffer = trial % 2 == 1 ? Bytes(0) : Bytes::max();
    const std::string report = report_of(job, send_buffer);
    CHECK(report.empty() == can_finish(job, matching, send_buffer));
    ++(report.empty() ? finished : stuck);
    for (const FoldMode fold : {FoldMode::kOff, FoldMode::kAuto})
      for (const NetworkModel model : {NetworkModel::kAlphaBeta, NetworkModel::kFlow}) {
        SimulationOptions options;
        options.fold = fold;
        if (trial % 2 == 1) {
          options.collectives.library = &library;
          options.collectives.granularity = Granularity::kPhase;
        }
        const auto ranks = static_cast<std::uint32_t>(job.ranks.size());
        CHECK(report_of([&] { simulate(job, switched(ranks), options, model); }) == report);
      }
  }
  CHECK(stuck > 100);
  CHECK(finished > 100);
}

TEST_CASE("ranks that wait in different calls of a communicator join one that all of them could") {
  // Each waits for a message that the other sends after its third call; until then rank 0 may make its first and third
  // call, rank 1 its second and third.
  JobBuilder builder(2);
  const auto call = [&](std::uint32_t rank, const std::vector<NodeId>& after) {
    return builder.collective(rank, CollectiveKind::kAllReduce, kSize, kWorld, after);
  };
  const NodeId to_0 = builder.receive(0, 1, kSize);
  call(0, {});
  call(0, {to_0});
  builder.send(0, 1, kSize, {call(0, {})});
  const NodeId to_1 = builder.receive(1, 0, kSize);
  call(1, {to_1});
  call(1, {});
  builder.send(1, 0, kSize, {call(1, {})});
  const Job job = builder.build();
  CHECK(report_of(job).empty());
  CHECK_NOTHROW(simulate(job, switched(2)));
}

TEST_CASE("nothing takes time: what is too long to be simulated is in order") {
  JobBuilder builder(2);
  for (std::uint32_t rank = 0; rank < 2; ++rank) {
    NodeId last = builder.compute(rank, Duration::max() - Duration(1));
    last = builder.compute(rank, Duration::max() - Duration(1), {last});
    builder.collective(rank, CollectiveKind::kAllGather, kMostNodeBytes, kWorld, {last});
  }
  const Job job = builder.build();
  CHECK(report_of(job).empty());
  CHECK_THROWS_AS(simulate(job, switched(2)), InputError);
}
