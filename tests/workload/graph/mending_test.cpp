// SPDX-License-Identifier: MIT
// Jobs that are broken in one known way: what is said of them names the rank, the call and what was done to it.
#include "workload/matching/mending.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <functional>
#include <map>
#include <optional>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "core/error.h"
#include "tests/workload/traces/trace_builder.h"
#include "workload/graph/builder.h"
#include "workload/matching/stuck.h"

using namespace orrery;
using namespace orrery::workload;
using namespace orrery::testing;

namespace {

constexpr std::int64_t kLarge = 1 << 22;  // a message that waits for its receive

std::uint32_t below(std::mt19937_64& random, std::size_t n) { return static_cast<std::uint32_t>(random() % n); }

struct Group {
  std::string name;
  std::vector<std::uint32_t> members;
};

// A job in which rank after rank runs its share of one program, each node behind the one before.
struct RandomTraces {
  std::vector<Trace> ranks;
  std::vector<Group> groups;

  std::string groups_text() const {
    std::string text;
    for (const Group& group : groups)
      text += fmt::format("{}\"{}\": [{}]", text.empty() ? "{" : ", ", group.name, fmt::join(group.members, ", "));
    return text + "}";
  }
};

RandomTraces random_traces(std::mt19937_64& random) {
  const std::uint32_t rows = 2 + below(random, 3), columns = 2 + below(random, 3), ranks = rows * columns;
  RandomTraces job{std::vector<Trace>(ranks), {}};
  Group all{"all", {}};
  for (std::uint32_t rank = 0; rank < ranks; ++rank) all.members.push_back(rank);
  job.groups.push_back(all);
  for (std::uint32_t row = 0; row < rows; ++row) {
    job.groups.push_back({fmt::format("row{}", row), {}});
    for (std::uint32_t column = 0; column < columns; ++column)
      job.groups.back().members.push_back(row * columns + column);
  }
  for (std::uint32_t column = 0; column < columns; ++column) {
    job.groups.push_back({fmt::format("column{}", column), {}});
    for (std::uint32_t row = 0; row < rows; ++row) job.groups.back().members.push_back(row * columns + column);
  }
  std::vector<std::uint64_t> last(ranks, 0);
  std::uint64_t id = 1;
  const auto add = [&](std::uint32_t rank, TraceNodeBuilder node) {
    if (last[rank] != 0) node.data({last[rank]});
    last[rank] = id;
    job.ranks[rank].push_back(node);
  };
  const std::uint32_t steps = 6 + below(random, 10);
  for (std::uint32_t step = 0; step < steps; ++step) {
    if (below(random, 3) == 0) {
      for (std::uint32_t rank = 0; rank < ranks; ++rank) add(rank, compute(id, 1 + below(random, 9)));
      ++id;
    }
    const std::int64_t bytes = 64 * (1 + below(random, 6));
    if (below(random, 4) == 0) {  // a chain of messages along the ranks
      const std::int64_t tag = below(random, 3);
      const std::uint64_t sent = id++, received = id++;
      for (std::uint32_t rank = 0; rank < ranks; ++rank) {
        id = received;
        if (rank > 0) add(rank, receive(received, rank - 1, bytes, tag));
        id = sent;
        if (rank + 1 < ranks) add(rank, send(sent, rank + 1, bytes, tag));
      }
      id = received + 1;
      continue;
    }
    const int types[] = {chakra::ALL_REDUCE, chakra::ALL_GATHER, chakra::REDUCE_SCATTER, chakra::BROADCAST};
    const int type = types[below(random, 4)];
    const std::uint32_t way = below(random, 3);
    for (const Group& group : job.groups) {
      if ((way == 0) != (group.name == "all") || (way == 1 && !group.name.starts_with("row")) ||
          (way == 2 && !group.name.starts_with("column")))
        continue;
      for (const std::uint32_t rank : group.members) {
        TraceNodeBuilder node = collective(id, type, bytes, group.name);
        if (type == chakra::BROADCAST) node.with("root", group.members[1]);
        add(rank, node);
      }
    }
    ++id;
  }
  return job;
}

// What is said of the job, in one line; empty where it finishes.
std::string report_of(const RandomTraces& traces, std::string* as_it_is = nullptr) {
  const auto send_waits = [](RankId, RankId, Bytes bytes) { return bytes.count() >= kLarge; };
  std::string report;
  const JobFiles files(traces.ranks, traces.groups_text());
  try {
    const Job job = files.load();
    const Matching matching = match(job);
    const Order order(job, matching, send_waits);
    if (order.left() > 0) throw stuck_error(job, matching, send_waits, order.unfinished(), {});
  } catch (const StuckError& error) {
    report = error.what();
  } catch (const InputError& error) {
    report = error.what();
  }
  if (as_it_is != nullptr) *as_it_is = report;
  std::istringstream words(report);
  std::string line;
  for (std::string word; words >> word;) line += line.empty() ? word : " " + word;
  return line;
}

chakra::Node& node_of(Trace& trace, std::uint64_t id) {
  return *std::ranges::find_if(trace, [&](const chakra::Node& node) { return node.id() == id; });
}

std::int64_t integer(const chakra::Node& node, std::string_view name) {
  for (const chakra::AttributeProto& attribute : node.attr())
    if (attribute.name() == name) return attribute.int64_val();
  return -1;
}

std::string text(const chakra::Node& node, std::string_view name) {
  for (const chakra::AttributeProto& attribute : node.attr())
    if (attribute.name() == name) return attribute.string_val();
  return {};
}

void set(chakra::Node& node, std::string_view name, std::int64_t value) {
  for (chakra::AttributeProto& attribute : *node.mutable_attr())
    if (attribute.name() == name) attribute.set_int64_val(value);
}

// The operation of a node in the words of reports.
std::string operation_of(const chakra::Node& node) {
  const std::int64_t bytes = integer(node, "comm_size");
  if (node.type() == chakra::COMM_SEND_NODE)
    return fmt::format("send of {} bytes to rank {}, tag {}", bytes, integer(node, "comm_dst"),
                       integer(node, "comm_tag"));
  if (node.type() == chakra::COMM_RECV_NODE)
    return fmt::format("receive of {} bytes from rank {}, tag {}", bytes, integer(node, "comm_src"),
                       integer(node, "comm_tag"));
  const std::map<std::int64_t, std::string> names = {{chakra::ALL_REDUCE, "all_reduce"},
                                                     {chakra::ALL_GATHER, "all_gather"},
                                                     {chakra::REDUCE_SCATTER, "reduce_scatter"},
                                                     {chakra::BROADCAST, "broadcast"}};
  std::string words =
      fmt::format("{} of {} bytes on \"{}\"", names.at(integer(node, "comm_type")), bytes, text(node, "pg_name"));
  if (integer(node, "root") >= 0) words += fmt::format(", root rank {}", integer(node, "root"));
  return words;
}

// The nodes of a rank that are of a kind.
std::vector<std::uint64_t> nodes_of(const Trace& trace, std::initializer_list<chakra::NodeType> types) {
  std::vector<std::uint64_t> ids;
  for (const chakra::Node& node : trace)
    if (std::ranges::find(types, node.type()) != types.end()) ids.push_back(node.id());
  return ids;
}

void remove(Trace& trace, std::uint64_t id) {
  const chakra::Node gone = node_of(trace, id);
  std::erase_if(trace, [&](const chakra::Node& node) { return node.id() == id; });
  for (chakra::Node& node : trace)
    for (std::uint64_t& before : *node.mutable_data_deps())
      if (before == id) before = gone.data_deps_size() > 0 ? gone.data_deps(0) : 0;
  for (chakra::Node& node : trace)
    if (node.data_deps_size() > 0 && node.data_deps(0) == 0) node.clear_data_deps();
}

// Changes one node of the rank and returns words that a report has to have in its mending; empty: there is nothing of
// the kind to break.
using Breakage = std::function<std::string(std::mt19937_64&, RandomTraces&, std::uint32_t rank)>;

std::uint64_t one_of(std::mt19937_64& random, const std::vector<std::uint64_t>& ids) {
  return ids[below(random, ids.size())];
}

std::string drop(std::mt19937_64& random, Trace& trace, std::uint32_t rank,
                 std::initializer_list<chakra::NodeType> types) {
  const std::vector<std::uint64_t> ids = nodes_of(trace, types);
  if (ids.empty()) return {};
  const std::uint64_t id = one_of(random, ids);
  const std::string expected = fmt::format("rank {}: add {}", rank, operation_of(node_of(trace, id)));
  std::string place;
  for (const std::uint64_t other : ids)
    if (other < id && text(node_of(trace, other), "pg_name") == text(node_of(trace, id), "pg_name"))
      place = fmt::format(", after node {} ", other);
  const bool is_call = node_of(trace, id).type() == chakra::COMM_COLL_NODE;
  remove(trace, id);
  return is_call ? expected + place : expected;
}

// Sets an attribute to another value.
std::string alter(Trace& trace, std::uint32_t rank, std::uint64_t id, std::string_view name, std::int64_t value) {
  chakra::Node& node = node_of(trace, id);
  const std::string before = operation_of(node);
  set(node, name, value);
  return fmt::format("rank {}: node {} \"{}\" ({}) becomes {}", rank, id, node.name(), operation_of(node), before);
}

std::string other_size(std::mt19937_64& random, Trace& trace, std::uint32_t rank, std::uint64_t id) {
  return alter(trace, rank, id, "comm_size", integer(node_of(trace, id), "comm_size") + 1 + below(random, 9));
}

const std::vector<std::pair<std::string, Breakage>> kBreakages = {
    {"a call is missing",
     [](std::mt19937_64& random, RandomTraces& job, std::uint32_t rank) {
       return drop(random, job.ranks[rank], rank, {chakra::COMM_COLL_NODE});
     }},
    {"a send is missing",
     [](std::mt19937_64& random, RandomTraces& job, std::uint32_t rank) {
       return drop(random, job.ranks[rank], rank, {chakra::COMM_SEND_NODE});
     }},
    {"a receive is missing",
     [](std::mt19937_64& random, RandomTraces& job, std::uint32_t rank) {
       return drop(random, job.ranks[rank], rank, {chakra::COMM_RECV_NODE});
     }},
    {"two neighbours have changed places",
     [](std::mt19937_64& random, RandomTraces& job, std::uint32_t rank) -> std::string {
       Trace& trace = job.ranks[rank];
       const std::vector<std::uint64_t> ids = nodes_of(trace, {chakra::COMM_COLL_NODE});
       if (ids.size() < 2) return {};
       const std::size_t at = below(random, ids.size() - 1);
       chakra::Node &a = node_of(trace, ids[at]), &b = node_of(trace, ids[at + 1]);
       if (operation_of(a) == operation_of(b)) return {};
       a.mutable_attr()->Swap(b.mutable_attr());
       return fmt::format("rank {}: swap node {} \"{}\" ({}) and node {} \"{}\" ({})", rank, a.id(), a.name(),
                          operation_of(a), b.id(), b.name(), operation_of(b));
     }},
    {"a call of another size",
     [](std::mt19937_64& random, RandomTraces& job, std::uint32_t rank) -> std::string {
       const std::vector<std::uint64_t> ids = nodes_of(job.ranks[rank], {chakra::COMM_COLL_NODE});
       return ids.empty() ? "" : other_size(random, job.ranks[rank], rank, one_of(random, ids));
     }},
    {"a message of another size",
     [](std::mt19937_64& random, RandomTraces& job, std::uint32_t rank) -> std::string {
       const std::vector<std::uint64_t> ids =
           nodes_of(job.ranks[rank], {chakra::COMM_SEND_NODE, chakra::COMM_RECV_NODE});
       return ids.empty() ? "" : other_size(random, job.ranks[rank], rank, one_of(random, ids));
     }},
    {"another operation",
     [](std::mt19937_64& random, RandomTraces& job, std::uint32_t rank) -> std::string {
       std::vector<std::uint64_t> ids = nodes_of(job.ranks[rank], {chakra::COMM_COLL_NODE});
       std::erase_if(ids, [&](std::uint64_t id) { return integer(node_of(job.ranks[rank], id), "root") >= 0; });
       if (ids.empty()) return {};
       const std::uint64_t id = one_of(random, ids);
       const bool is_gather = integer(node_of(job.ranks[rank], id), "comm_type") == chakra::ALL_GATHER;
       return alter(job.ranks[rank], rank, id, "comm_type", is_gather ? chakra::ALL_REDUCE : chakra::ALL_GATHER);
     }},
    {"another root",
     [](std::mt19937_64& random, RandomTraces& job, std::uint32_t rank) -> std::string {
       std::vector<std::uint64_t> ids = nodes_of(job.ranks[rank], {chakra::COMM_COLL_NODE});
       std::erase_if(ids, [&](std::uint64_t id) { return integer(node_of(job.ranks[rank], id), "root") < 0; });
       if (ids.empty()) return {};
       const std::uint64_t id = one_of(random, ids);
       const auto group = std::ranges::find(job.groups, text(node_of(job.ranks[rank], id), "pg_name"), &Group::name);
       return alter(job.ranks[rank], rank, id, "root", group->members[0]);
     }},
    {"a call on another communicator",
     [](std::mt19937_64& random, RandomTraces& job, std::uint32_t rank) -> std::string {
       Trace& trace = job.ranks[rank];
       std::vector<std::uint64_t> ids = nodes_of(trace, {chakra::COMM_COLL_NODE});
       std::erase_if(ids, [&](std::uint64_t id) { return integer(node_of(trace, id), "root") >= 0; });
       if (ids.empty()) return {};
       const std::uint64_t id = one_of(random, ids);
       chakra::Node& node = node_of(trace, id);
       const std::string before = operation_of(node);
       const std::string other =
           text(node, "pg_name") == "all" ? fmt::format("row{}", rank / job.groups[1].members.size()) : "all";
       for (chakra::AttributeProto& attribute : *node.mutable_attr())
         if (attribute.name() == "pg_name") attribute.set_string_val(other);
       return fmt::format("rank {}: node {} \"collective\" ({}) becomes {}", rank, id, operation_of(node), before);
     }},
    {"another tag",
     [](std::mt19937_64& random, RandomTraces& job, std::uint32_t rank) -> std::string {
       const std::vector<std::uint64_t> ids =
           nodes_of(job.ranks[rank], {chakra::COMM_SEND_NODE, chakra::COMM_RECV_NODE});
       return ids.empty() ? "" : alter(job.ranks[rank], rank, one_of(random, ids), "comm_tag", 77);
     }},
    {"another receiver",
     [](std::mt19937_64& random, RandomTraces& job, std::uint32_t rank) -> std::string {
       const std::vector<std::uint64_t> ids = nodes_of(job.ranks[rank], {chakra::COMM_SEND_NODE});
       const auto ranks = static_cast<std::uint32_t>(job.ranks.size());
       return ids.empty() ? "" : alter(job.ranks[rank], rank, one_of(random, ids), "comm_dst", (rank + 2) % ranks);
     }},
    {"a send in place of a receive",
     [](std::mt19937_64& random, RandomTraces& job, std::uint32_t rank) -> std::string {
       const std::vector<std::uint64_t> ids = nodes_of(job.ranks[rank], {chakra::COMM_RECV_NODE});
       if (ids.empty()) return {};
       chakra::Node& node = node_of(job.ranks[rank], one_of(random, ids));
       const std::string before = operation_of(node);
       node.set_type(chakra::COMM_SEND_NODE);
       for (chakra::AttributeProto& attribute : *node.mutable_attr())
         if (attribute.name() == "comm_src") attribute.set_name("comm_dst");
       return fmt::format("rank {}: node {} \"receive\" ({}) becomes {}", rank, node.id(), operation_of(node), before);
     }},
    {"a member too many",
     [](std::mt19937_64&, RandomTraces& job, std::uint32_t rank) -> std::string {
       const std::string own = fmt::format("row{}", rank / job.groups[1].members.size());
       for (Group& group : job.groups) {
         if (!group.name.starts_with("row") || group.name == own) continue;
         const bool is_called = std::ranges::any_of(job.ranks[group.members[0]], [&](const chakra::Node& node) {
           return text(node, "pg_name") == group.name;
         });
         if (!is_called) continue;
         group.members.push_back(rank);
         return fmt::format("rank {}: is no member of \"{}\"", rank, group.name);
       }
       return {};
     }},
    {"a receive that waits for a later send",
     [](std::mt19937_64&, RandomTraces& job, std::uint32_t rank) -> std::string {
       // Rank and its next: each receives from the other, and then sends to it. One of the two ought not to wait.
       const std::uint32_t next = (rank + 1) % static_cast<std::uint32_t>(job.ranks.size());
       for (const auto& [here, there] : {std::pair(rank, next), std::pair(next, rank)}) {
         job.ranks[here].push_back(receive(900, there, 8, 9));
         job.ranks[here].push_back(send(901, there, 8, 9).data({900}));
       }
       return fmt::format("rank {}: node 901 \"send\" (send of 8 bytes to rank {}, tag 9) waits no more for node 900",
                          rank, next);
     }},
    {"large sends before their receives",
     [](std::mt19937_64&, RandomTraces& job, std::uint32_t rank) -> std::string {
       const std::uint32_t next = (rank + 1) % static_cast<std::uint32_t>(job.ranks.size());
       for (const auto& [here, there] : {std::pair(rank, next), std::pair(next, rank)}) {
         job.ranks[here].push_back(send(900, there, kLarge, 9));
         job.ranks[here].push_back(receive(901, there, kLarge, 9).data({900}));
       }
       return fmt::format(
           "rank {}: node 901 \"receive\" (receive of {} bytes from rank {}, tag 9) waits no more for node 900", rank,
           kLarge, next);
     }},
    {"a dependency on a node that is missing",
     [](std::mt19937_64& random, RandomTraces& job, std::uint32_t rank) -> std::string {
       chakra::Node& node = job.ranks[rank][below(random, job.ranks[rank].size())];
       node.add_data_deps(5000);
       return fmt::format("job.{}.et: error: dependency on an id that no node of the file has: node {} \"{}\" on 5000",
                          rank, node.id(), node.name());
     }},
    {"dependencies in a circle",
     [](std::mt19937_64& random, RandomTraces& job, std::uint32_t rank) -> std::string {
       Trace& trace = job.ranks[rank];
       const std::size_t i = below(random, trace.size() - 1), j = i + 1 + below(random, trace.size() - 1 - i);
       trace[i].add_data_deps(trace[j].id());
       return fmt::format("of node {} \"{}\" on {}", trace[i].id(), trace[i].name(), trace[j].id());
     }},
};

}  // namespace

TEST_CASE("what is broken in one place is named: rank, call and mending, on one screen") {
  std::mt19937_64 random(11);
  for (const auto& [name, breakage] : kBreakages) {
    int broken = 0, first = 0, among = 0;
    std::string missed;
    for (int trial = 0; trial < 60; ++trial) {
      RandomTraces job = random_traces(random);
      REQUIRE(report_of(job).empty());
      const std::uint32_t rank = below(random, job.ranks.size());
      const std::string expected = breakage(random, job, rank);
      if (expected.empty()) continue;
      std::string as_it_is;
      const std::string report = report_of(job, &as_it_is);
      if (report.empty()) continue;  // as sound as before: what has changed places was alike
      ++broken;
      const std::size_t at = report.find(expected);
      if (at == std::string::npos)
        missed = expected + "\n" + as_it_is;
      else
        ++(at < report.find("edit, one of") + 16 || report.find("one of:") == std::string::npos ? first : among);
      std::istringstream lines(as_it_is);
      int count = 0;
      bool is_one_screen = true;
      for (std::string line; std::getline(lines, line); ++count) is_one_screen = is_one_screen && line.size() <= 80;
      if (!report.starts_with("/")) CHECK((is_one_screen && count <= 24));  // an error of a file has lines of its own
    }
    INFO(fmt::format("{}: {} broken, {} named first, {} among equals\n{}", name, broken, first, among, missed));
    CHECK(broken > 10);
    CHECK(first + among == broken);
  }
}

TEST_CASE("thousands of stuck ranks are one screen, and the one that calls in another order is named") {
  constexpr std::uint32_t kRanks = 4096, kOdd = 8;
  Job job;
  std::vector<RankId> everybody;
  for (std::uint32_t rank = 0; rank < kRanks; ++rank) everybody.push_back(RankId(rank));
  for (const char* name : {"world", "a", "b"}) job.communicators.push_back({name, Members(everybody)});
  for (const std::uint32_t first : {0U, 1U}) {
    GraphBuilder builder;
    std::optional<NodeId> last;
    for (std::uint32_t call = 0; call < 4; ++call) {
      GraphNode node;
      node.kind = NodeKind::kCollective;
      node.bytes = Bytes(64);
      node.slot = call < 2 ? 0 : (call + first) % 2;
      const NodeId added = builder.add(node);
      if (last) builder.depend(added, *last);
      last = added;
    }
    job.graphs.push_back(std::move(builder).build());
  }
  const std::vector<NodeLabel> labels = {{0, "w"}, {1, "x"}, {2, "y"}, {3, "z"}};
  job.labels.emplace_back(labels);
  for (std::uint32_t rank = 0; rank < kRanks; ++rank)
    job.ranks.push_back({rank == kOdd ? 1U : 0U, 0, {GroupId(1), GroupId(2)}, {}, {}});
  const Matching matching = match(job);
  const Order order(job, matching, {});
  const std::vector<RankId> unfinished = order.unfinished();
  REQUIRE(unfinished.size() == kRanks);
  const std::string report = stuck_error(job, matching, {}, unfinished, {}).what();
  INFO(report);
  CHECK(report.find("rank 8: swap node 2 \"y\"") != std::string::npos);
  CHECK(report.find("(as 4095 other ranks do)") != std::string::npos);
  CHECK(std::ranges::count(report, '\n') < 24);
}

// Each message lacks its other end, so that there are as many things to settle as messages, and no small change does.
TEST_CASE("a job of which one trace is cut off is refused without a search for what would mend it") {
  RandomTraces job{std::vector<Trace>(2), {{"all", {0, 1}}}};
  job.ranks[1].push_back(compute(1, 1));
  for (std::uint64_t id = 1; id <= 20'000; ++id) job.ranks[0].push_back(send(id, 1, 8, 0));
  const std::string report = report_of(job);
  CHECK(report.find("rank 1") != std::string::npos);
  CHECK(report.find("edit") == std::string::npos);
}
