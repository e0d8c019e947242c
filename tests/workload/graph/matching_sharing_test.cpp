// SPDX-License-Identifier: MIT
// Ranks that share graphs share what was matched; it must be what each of them would get by itself.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdint>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <tuple>
#include <vector>

#include <fmt/format.h>

#include "core/error.h"
#include "tests/workload/graph/grid_job.h"
#include "workload/graph/builder.h"
#include "workload/graph/collective_job.h"
#include "workload/matching/matching.h"

using namespace orrery;
using namespace orrery::workload;
using namespace orrery::testing;

namespace {

// Graphs that are built anew have forms of their own.
Job with_own_graphs(const Job& job) {
  Job own = job;
  own.graphs.clear();
  for (RankBinding& binding : own.ranks) {
    own.graphs.push_back(with_communicator_slots(job.graphs[binding.graph], {}));
    binding.graph = static_cast<std::uint32_t>(own.graphs.size() - 1);
  }
  return own;
}

struct Outcome {
  std::optional<Matching> matching;
  std::string disagreement;
};

Outcome outcome_of(const Job& job) {
  try {
    return {match(job), ""};
  } catch (const StuckError& error) {
    return {std::nullopt, error.what()};
  }
}

// The rule itself: the k-th send of a source, destination and tag meets the k-th receive.
std::map<std::pair<RankId, NodeId>, TransferEnd> ends_by_definition(const Job& job) {
  std::map<std::tuple<RankId, RankId, std::int64_t, NodeKind>, std::vector<TransferEnd>> all;
  for (std::uint32_t i = 0; i < job.ranks.size(); ++i) {
    const RankId rank{i};
    for (const NodeId node : job.graph(rank).order()) {
      const NodeKind kind = job.graph(rank).kind(node);
      if (kind == NodeKind::kSend) all[{rank, job.peer(rank, node), job.tag(rank, node), kind}].push_back({rank, node});
      if (kind == NodeKind::kReceive)
        all[{job.peer(rank, node), rank, job.tag(rank, node), kind}].push_back({rank, node});
    }
  }
  std::map<std::pair<RankId, NodeId>, TransferEnd> ends;
  for (const auto& [channel, here] : all) {
    const auto& [source, destination, tag, kind] = channel;
    const NodeKind other = kind == NodeKind::kSend ? NodeKind::kReceive : NodeKind::kSend;
    const std::vector<TransferEnd>& there = all.at({source, destination, tag, other});
    for (std::size_t k = 0; k < here.size(); ++k) ends[{here[k].rank, here[k].node}] = there.at(k);
  }
  return ends;
}

// The k-th calls of all members, of which the rule about sizes is all that is left where they agree.
std::vector<CollectiveCall> calls_by_definition(const Job& job, GroupId group) {
  std::vector<CollectiveCall> calls;
  std::vector<std::vector<Bytes>> sizes;  // by call
  for (const RankId rank : job.communicators[index_of(group)].members) {
    std::size_t k = 0;
    for (const NodeId node : job.graph(rank).order()) {
      if (job.graph(rank).kind(node) != NodeKind::kCollective || job.communicator(rank, node) != group) continue;
      if (k == calls.size()) calls.push_back({job.graph(rank).collective_kind(node), {}, job.root(rank, node), {}});
      sizes.resize(calls.size());
      sizes[k++].push_back(job.graph(rank).bytes(node));
    }
  }
  for (std::size_t k = 0; k < calls.size(); ++k) {
    calls[k].bytes = std::ranges::max(sizes[k]);
    if (std::ranges::min(sizes[k]) < calls[k].bytes) calls[k].bytes_of_member = MemberSizes(std::move(sizes[k]));
  }
  return calls;
}

void check_calls(const Job& job, const Matching& matching) {
  REQUIRE(matching.communicators() == job.communicators.size());
  for (std::uint32_t a = 0; a < matching.communicators(); ++a) {
    CHECK(std::ranges::equal(matching.calls(GroupId{a}), calls_by_definition(job, GroupId{a})));
    for (std::uint32_t b = 0; b < a; ++b)
      CHECK((matching.call_list(GroupId{a}) == matching.call_list(GroupId{b})) ==
            std::ranges::equal(matching.calls(GroupId{a}), matching.calls(GroupId{b})));
  }
}

void check_ends(const Job& job, const Matching& matching) {
  const auto expected = ends_by_definition(job);
  for (std::uint32_t i = 0; i < job.ranks.size(); ++i) {
    const RankId rank{i};
    for (const NodeId node : job.graph(rank).transfers())
      CHECK(matching.end(rank, job.graph(rank).transfer_index(node)) == expected.at({rank, node}));
  }
}

}  // namespace

TEST_CASE("ranks that share graphs meet whom they would meet with graphs of their own") {
  std::mt19937_64 random(11);
  std::uint32_t agreed = 0, disagreed = 0;
  std::uint32_t lists = 0, lists_by_itself = 0;
  for (int trial = 0; trial < 2000; ++trial) {
    INFO("trial " << trial);
    const Job job = random_grid_job(random);
    const Outcome shared = outcome_of(job);
    const Outcome by_itself = outcome_of(with_own_graphs(job));
    CHECK(shared.disagreement == by_itself.disagreement);
    REQUIRE(shared.matching.has_value() == by_itself.matching.has_value());
    ++(shared.matching ? agreed : disagreed);
    if (!shared.matching) continue;
    for (const Matching* matching : {&*shared.matching, &*by_itself.matching}) {
      check_calls(job, *matching);
      check_ends(job, *matching);
    }
    lists += shared.matching->end_lists();
    lists_by_itself += by_itself.matching->end_lists();
  }
  // Both happen, and there was something to share: grids have six ranks on average, of two graphs.
  CHECK(agreed > 500);
  CHECK(disagreed > 200);
  CHECK(lists * 2 < lists_by_itself);
}

TEST_CASE("what is matched does not grow with the ranks of a graph") {
  // Every rank sends to the next and receives from the one before: a list for each of the two slots.
  for (const std::uint32_t ranks : {2U, 3U, 1000U}) CHECK(match(neighbour_job(Bytes(8), ranks)).end_lists() == 2);
  CHECK(match(collective_job(CollectiveKind::kAllToAll, Bytes(8), 1000)).call_lists() == 1);

  // 100 groups of ten ranks of one graph: their list, and the empty one of the world.
  Job job = collective_job(CollectiveKind::kAllReduce, Bytes(8), 1000);
  for (std::uint32_t group = 0; group < 100; ++group) {
    Communicator& ten = job.communicators.emplace_back(Communicator{fmt::format("group{}", group), {}});
    for (std::uint32_t rank = group * 10; rank < group * 10 + 10; ++rank) {
      ten.members.push_back(RankId{rank});
      job.ranks[rank].communicators = {GroupId{group + 1}};
    }
  }
  const Matching matching = match(job);
  CHECK(matching.call_lists() == 2);
  CHECK(matching.call_list(GroupId{1}) == matching.call_list(GroupId{100}));
  CHECK(matching.calls(GroupId{0}).empty());
  CHECK(matching.calls(GroupId{100}).size() == 1);
}

TEST_CASE("groups whose roots are at the same position share their calls though the ranks differ") {
  // Pairs (0, 1), (2, 3), (4, 5); a broadcast from the second member, but in the last pair from the first.
  Job job = collective_job(CollectiveKind::kBroadcast, Bytes(8), 6);
  for (std::uint32_t pair = 0; pair < 3; ++pair) {
    const std::uint32_t first = 2 * pair;
    job.communicators.push_back({fmt::format("pair{}", pair), {RankId{first}, RankId{first + 1}}});
    for (const std::uint32_t rank : {first, first + 1}) {
      job.ranks[rank].communicators = {GroupId{pair + 1}};
      job.ranks[rank].own_details().roots = {pair < 2 ? first + 1 : first};
    }
  }
  const Matching matching = match(job);
  CHECK(matching.call_list(GroupId{1}) == matching.call_list(GroupId{2}));
  CHECK(matching.call_list(GroupId{1}) != matching.call_list(GroupId{3}));
  CHECK(matching.calls(GroupId{2})[0].root == 1);
  CHECK(matching.calls(GroupId{3})[0].root == 0);
}

TEST_CASE("ranks of equal tags share their ends and ranks of other tags do not") {
  // Three pairs: each rank sends twice to its partner and receives twice; the last pair crosses the tags of its sends
  // and receives, so that the first send meets the second receive.
  GraphBuilder builder;
  for (const NodeKind kind : {NodeKind::kSend, NodeKind::kSend, NodeKind::kReceive, NodeKind::kReceive})
    builder.add({.kind = kind, .bytes = Bytes(8)});
  Job job = collective_job(CollectiveKind::kAllReduce, Bytes(8), 6);
  job.graphs = {std::move(builder).build()};
  for (std::uint32_t rank = 0; rank < 6; ++rank) {
    job.ranks[rank].communicators.clear();
    job.ranks[rank].peers = {RankId{rank ^ 1U}};
    job.ranks[rank].own_details().tags =
        rank < 4 ? std::vector<std::int64_t>{7, 9, 7, 9} : std::vector<std::int64_t>{7, 9, 9, 7};
  }
  const Matching matching = match(job);
  CHECK(matching.end_lists() == 2);
  CHECK(matching.end(RankId{2}, 0) == TransferEnd{RankId{3}, NodeId{2}});
  CHECK(matching.end(RankId{4}, 0) == TransferEnd{RankId{5}, NodeId{3}});
}
