// SPDX-License-Identifier: MIT
#include "report/path/slack.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/assert.h"
#include "core/config/number_text.h"
#include "core/error.h"
#include "report/parts.h"
#include "report/table.h"

namespace orrery::report {
namespace {

using system::OperationRecord;
using workload::ExecutionGraph;
using workload::NodeKind;

constexpr std::uint32_t kNone = UINT32_MAX;

// An operation of a rank that acts, or where members of a call have come together.
struct Vertex {
  RankId rank{};
  OperationRecord operation;
  bool is_meeting = false;
  Time latest;                  // end of an operation; when a meeting begins to move
  std::uint32_t waits_for = 0;  // successors whose latest is not known yet
};

// `to` begins at the earliest `lag` after the end of `from`; of a message, after its start.
struct Edge {
  std::uint32_t from = 0;
  std::uint32_t to = 0;
  bool to_end = false;      // `to` ends, not begins
  bool from_start = false;  // `from` begins, not ends
  Duration lag{};
};

bool computes(NodeKind kind) {
  return kind == NodeKind::kCompute || kind == NodeKind::kHostCompute || kind == NodeKind::kMemoryLoad ||
         kind == NodeKind::kMemoryStore || workload::is_host_copy(kind);
}

class Backward {
 public:
  Backward(const workload::Job& job, const workload::Matching& matching, const OperationLog& log,
           std::span<const RankId> acting, Time finish)
      : job_(job), matching_(matching), log_(log), acting_(acting), finish_(finish) {}

  Slack run() {
    take_operations();
    for (const auto& [rank, vertices] : of_rank_) join_rank(rank, vertices);
    solve();
    return result();
  }

 private:
  void take_operations() {
    for (const RankId rank : std::set<RankId>(acting_.begin(), acting_.end())) {
      std::vector<std::uint32_t>& vertices = of_rank_[rank];
      vertices.assign(job_.graph(rank).size(), kNone);
      for (const OperationRecord& operation : log_.of(rank)) {
        vertices[index_of(operation.node)] = static_cast<std::uint32_t>(vertices_.size());
        vertices_.push_back({rank, operation, false, finish_, 0});
      }
    }
  }

  std::uint32_t vertex_of(RankId rank, NodeId node) const {
    return of_rank_.at(acting_[index_of(rank)])[index_of(node)];
  }

  void join_rank(RankId rank, std::span<const std::uint32_t> vertices) {
    const ExecutionGraph& graph = job_.graph(rank);
    for (std::uint32_t node = 0; node < graph.size(); ++node) {
      if (vertices[node] == kNone) continue;
      for (const NodeId after : graph.successors(NodeId(node)))
        if (vertices[index_of(after)] != kNone) edges_.push_back({vertices[node], begin_of(rank, after)});
      if (graph.kind(NodeId(node)) == NodeKind::kSend) join_message(rank, NodeId(node), vertices[node]);
    }
    join_in_order(rank, vertices);
    if (graph.has_host()) join_host(rank, vertices);
  }

  // Edges from a synchronisation to the computations that the host launches after it, which a delay of it delays.
  void join_host(RankId rank, std::span<const std::uint32_t> vertices) {
    const ExecutionGraph& graph = job_.graph(rank);
    std::uint32_t synchronised = kNone;
    for (std::uint32_t node = 0; node < graph.size(); ++node) {
      if (vertices[node] == kNone) continue;
      const workload::HostWork host = graph.host(NodeId(node));
      const bool is_launched = graph.kind(NodeId(node)) == NodeKind::kCompute && host.span > Duration::zero();
      if (synchronised != kNone && is_launched) {
        const OperationRecord& operation = vertices_[vertices[node]].operation;
        const Duration lag = operation.end - vertices_[synchronised].operation.end;
        const bool waits = operation.moving > operation.start;
        edges_.push_back({synchronised, vertices[node], true, false,
                          waits ? lag : std::min(lag, graph.host_before(NodeId(node)) + host.span)});
      }
      if (host.synchronises) synchronised = vertices[node];
    }
  }

  // Vertex that has to wait until an operation may begin: for a call, the first meeting with its member.
  std::uint32_t begin_of(RankId rank, NodeId node) {
    const ExecutionGraph& graph = job_.graph(rank);
    const std::uint32_t vertex = vertex_of(rank, node);
    if (graph.kind(node) != NodeKind::kCollective) return vertex;
    const std::map<Time, std::uint32_t>& meetings = meetings_of(job_.communicator(rank, node), graph.call_index(node));
    return meetings.lower_bound(vertices_[vertex].operation.start)->second;
  }

  // Meetings of a call, by when the last member came that had to: members may be through before others have come. A
  // meeting is of all members that had come by then, so that each takes place before the next.
  const std::map<Time, std::uint32_t>& meetings_of(GroupId group, std::uint32_t call) {
    const auto [known, is_new] = meetings_.try_emplace({group, call});
    std::map<Time, std::uint32_t>& meetings = known->second;
    if (!is_new) return meetings;
    const std::set<std::uint32_t> members = members_of(group, call);
    std::set<Time> comings;
    for (const std::uint32_t member : members) comings.insert(vertices_[member].operation.start);
    std::uint32_t before = kNone;
    for (const std::uint32_t member : members) meetings.try_emplace(last_coming(member, comings), kNone);
    for (auto& [time, meeting] : meetings) {
      meeting = static_cast<std::uint32_t>(vertices_.size());
      Vertex vertex = vertices_[*members.begin()];
      vertex.operation.moving = time;
      vertex.is_meeting = true;
      vertices_.push_back(vertex);
      if (before != kNone) edges_.push_back({before, meeting});
      before = meeting;
    }
    for (const std::uint32_t member : members) {
      const Time met = last_coming(member, comings);
      edges_.push_back({meetings.at(met), member, true, false, vertices_[member].operation.end - met});
    }
    return meetings;
  }

  // Coming of the last member that another may have waited for in its call: of all, who had come by `moving`, or of
  // those who came before it was through.
  Time last_coming(std::uint32_t member, const std::set<Time>& comings) const {
    const OperationRecord& operation = vertices_[member].operation;
    if (operation.moving >= *comings.rbegin()) return *comings.rbegin();
    const auto later = comings.lower_bound(operation.end);
    return later == comings.begin() ? operation.start : std::max(operation.start, *std::prev(later));
  }

  std::set<std::uint32_t> members_of(GroupId group, std::uint32_t call) const {
    std::set<std::uint32_t> members;
    for (const RankId member : job_.communicators[index_of(group)].members) {
      const std::uint32_t slot = job_.ranks.slot_of(index_of(member), group);
      if (slot == job_.ranks.communicator_count(index_of(member))) continue;
      const std::span<const NodeId> calls = job_.graph(member).calls(slot);
      if (call >= calls.size()) continue;
      const std::uint32_t theirs = vertex_of(member, calls[call]);
      if (theirs != kNone) members.insert(theirs);
    }
    return members;
  }

  void join_message(RankId rank, NodeId node, std::uint32_t vertex) {
    const workload::TransferEnd end = matching_.end(rank, job_.graph(rank).transfer_index(node));
    const std::uint32_t receive = vertex_of(end.rank, end.node);
    if (receive == kNone) return;
    const OperationRecord &sent = vertices_[vertex].operation, &received = vertices_[receive].operation;
    if (sent.moving > sent.start) {  // it waited until the receive was posted
      edges_.push_back({receive, vertex, true, true, sent.end - sent.moving});
      return;
    }
    const Duration lag = received.end - sent.start;
    if (lag >= Duration::zero()) edges_.push_back({vertex, receive, true, true, lag});
  }

  // On streams of one kind, and on communicators.
  void join_in_order(RankId rank, std::span<const std::uint32_t> vertices) {
    const ExecutionGraph& graph = job_.graph(rank);
    std::map<std::tuple<NodeKind, std::uint32_t, std::uint32_t>, std::vector<std::uint32_t>> queues;
    for (std::uint32_t i = 0; i < graph.size(); ++i) {
      if (vertices[i] == kNone) continue;
      const auto node = static_cast<NodeId>(i);
      const NodeKind kind = graph.kind(node);
      const OperationRecord& operation = vertices_[vertices[i]].operation;
      if (operation.start == operation.end) continue;
      if (computes(kind) || graph.stream(node) > 0) queues[{kind, graph.stream(node), kNone}].push_back(vertices[i]);
      if (kind == NodeKind::kCollective) queues[{kind, kNone, graph.communicator_slot(node)}].push_back(vertices[i]);
    }
    for (auto& [key, queue] : queues) {
      const auto place = [&](std::uint32_t vertex) {
        const OperationRecord& operation = vertices_[vertex].operation;
        return std::tuple(operation.start, operation.end, operation.number);
      };
      std::ranges::sort(queue, {}, place);
      for (std::size_t i = 1; i < queue.size(); ++i)
        if (vertices_[queue[i - 1]].operation.end <= vertices_[queue[i]].operation.start)
          edges_.push_back({queue[i - 1], begin_of(rank, vertices_[queue[i]].operation.node)});
    }
  }

  bool is_computation(const Vertex& vertex) const {
    return job_.graph(vertex.rank).kind(vertex.operation.node) == NodeKind::kCompute;
  }
  // Wait of a computation for its host, in which it may begin later and end as it does.
  Duration wait_of(const Vertex& vertex) const {
    const bool waits = !vertex.is_meeting && is_computation(vertex);
    return waits ? vertex.operation.moving - vertex.operation.start : Duration::zero();
  }
  Duration length_of(const Vertex& vertex) const {
    return vertex.is_meeting ? Duration::zero() : vertex.operation.end - vertex.operation.start - wait_of(vertex);
  }

  // Computes the latest end of each vertex whose successors are known.
  void solve() {
    std::ranges::sort(edges_, {}, &Edge::to);
    first_from_.assign(vertices_.size() + 1, 0);
    for (const Edge& edge : edges_) ++first_from_[edge.from + 1];
    for (std::size_t vertex = 0; vertex < vertices_.size(); ++vertex) first_from_[vertex + 1] += first_from_[vertex];
    by_from_.resize(edges_.size());
    std::vector<std::uint32_t> free = first_from_;
    for (std::uint32_t edge = 0; edge < edges_.size(); ++edge) by_from_[free[edges_[edge].from]++] = edge;
    for (const Edge& edge : edges_) ++vertices_[edge.from].waits_for;
    std::vector<std::uint32_t>& known = order_;
    for (std::uint32_t vertex = 0; vertex < vertices_.size(); ++vertex)
      if (vertices_[vertex].waits_for == 0) known.push_back(vertex);
    for (std::size_t next = 0; next < known.size(); ++next)
      for (auto edge = std::ranges::lower_bound(edges_, known[next], {}, &Edge::to);
           edge != edges_.end() && edge->to == known[next]; ++edge) {
        Vertex& from = vertices_[edge->from];
        const Vertex& to = vertices_[edge->to];
        const Time by = to.latest - (edge->to_end || to.is_meeting ? Duration::zero() : length_of(to)) - edge->lag;
        from.latest = std::min(from.latest, edge->from_start ? by + length_of(from) : by);
        if (--from.waits_for == 0) known.push_back(edge->from);
      }
    ORRERY_ASSERT(known.size() == vertices_.size());
  }

  Slack result() {
    Slack slack;
    std::map<RankId, double> slower, at_least;
    for (const auto& [rank, vertices] : of_rank_)
      slower[rank] = at_least[rank] = std::numeric_limits<double>::infinity();
    std::map<RankId, Duration> computed;
    for (const Vertex& vertex : vertices_) {
      const OperationRecord& operation = vertex.operation;
      if (vertex.is_meeting) continue;
      const Duration spare = vertex.latest - operation.end;
      ORRERY_ASSERT(spare >= Duration::zero());
      if (is_slowed(vertex, vertex.rank)) {
        const Duration all = computed[vertex.rank] += length_of(vertex);
        at_least[vertex.rank] = std::min(at_least[vertex.rank], seconds(spare) / seconds(all));
        slower[vertex.rank] = std::min(slower[vertex.rank], seconds(spare) / seconds(length_of(vertex)));
      }
      if (operation.end > operation.moving)
        slack.operations.push_back({vertex.rank, operation.node, operation.end - operation.moving, spare});
    }
    constexpr std::size_t kMostExact = 100'000'000;
    slack.is_exact = of_rank_.size() * (vertices_.size() + edges_.size()) <= kMostExact;
    for (const auto& [rank, share] : slower)
      slack.ranks.push_back({rank, slack.is_exact ? slower_at_most(rank, share) : at_least[rank]});
    return slack;
  }

  bool is_slowed(const Vertex& vertex, RankId rank) const {
    return !vertex.is_meeting && vertex.rank == rank && vertex.operation.end > vertex.operation.start &&
           computes(job_.graph(rank).kind(vertex.operation.node));
  }

  // Delay of something, in picoseconds, when a rank computes slower by a share, and its growth with that share.
  struct Delay {
    double time = 0;
    double slope = 0;

    void take(double other, double other_slope) {
      if (other > time) *this = {other, other_slope};
    }
  };

  // The delay of the finish is the largest of straight lines in the share, so that going back from too large a share
  // along the line that holds there leads to the next, until there is no delay.
  double slower_at_most(RankId rank, double share) {
    constexpr int kMostSteps = 60;
    constexpr double kNoDelay = 0.5;
    if (std::isinf(share)) return share;
    for (int step = 0; step < kMostSteps && share > 0; ++step) {
      const Delay delay = delay_of_finish(rank, share);
      if (delay.time < kNoDelay) return share;
      share = std::max(0.0, share - delay.time / delay.slope);
    }
    return share;
  }

  Delay delay_of_finish(RankId rank, double share) {
    delays_.assign(vertices_.size(), {});
    begins_.assign(vertices_.size(), {});
    Delay of_finish;
    const auto count = [](Duration duration) { return static_cast<double>(duration.count()); };
    for (auto next = order_.rbegin(); next != order_.rend(); ++next) {
      const std::uint32_t vertex = *next;
      const Vertex& from = vertices_[vertex];
      Delay end = delays_[vertex];
      const double length = count(length_of(from));
      const double more = is_slowed(from, rank) ? length : 0;
      end.take(begins_[vertex].time - count(wait_of(from)) + share * more, begins_[vertex].slope + more);
      const Time ends = from.is_meeting ? from.operation.moving : from.operation.end;
      if (!from.is_meeting) of_finish.take(end.time - count(finish_ - ends), end.slope);
      for (const std::uint32_t number :
           std::span(by_from_).subspan(first_from_[vertex], first_from_[vertex + 1] - first_from_[vertex])) {
        const Edge& edge = edges_[number];
        const Vertex& to = vertices_[edge.to];
        const Time leaves = edge.from_start ? from.operation.start : ends;
        const Time due = edge.to_end ? to.operation.end : to.is_meeting ? to.operation.moving : to.operation.start;
        const Delay& delay = edge.from_start ? begins_[vertex] : end;
        (edge.to_end ? delays_ : begins_)[edge.to].take(delay.time - count(due - leaves - edge.lag), delay.slope);
      }
    }
    return of_finish;
  }

  const workload::Job& job_;
  const workload::Matching& matching_;
  const OperationLog& log_;
  std::span<const RankId> acting_;
  Time finish_;
  std::vector<Vertex> vertices_;
  std::vector<Edge> edges_;
  std::map<RankId, std::vector<std::uint32_t>> of_rank_;  // by rank that acts, by node; kNone: it was not run
  std::map<std::pair<GroupId, std::uint32_t>, std::map<Time, std::uint32_t>> meetings_;  // of calls
  std::vector<std::uint32_t> order_;                 // of vertices, what comes after one before it
  std::vector<std::uint32_t> first_from_, by_from_;  // by vertex: numbers of the edges from it
  std::vector<Delay> begins_, delays_;               // scratch of delay_of_finish(): of beginnings and ends
};

constexpr std::size_t kSlackRows = 20;

// All operations of one name, whatever the number of the layer, on all ranks.
struct NamedSlack {
  std::string name;
  std::size_t count = 0;
  Duration longest{};
  Duration least = Duration::max();
  double seconds_of_all = 0;
};

std::vector<NamedSlack> by_name(const Slack& slack, const workload::Job& job, std::span<const RankId> acting) {
  std::map<RankId, std::size_t> alike;
  for (const RankId rank : acting) ++alike[rank];
  std::map<std::string, NamedSlack> names;
  for (const OperationSlack& one : slack.operations) {
    NamedSlack& named = names[every_layer(job.labels_of(one.rank).name(one.node))];
    named.count += alike.at(one.rank);
    named.longest = std::max(named.longest, one.time);
    named.least = std::min(named.least, one.slack);
    named.seconds_of_all += seconds(one.time) * static_cast<double>(alike.at(one.rank));
  }
  std::vector<NamedSlack> rows;
  for (auto& [name, named] : names) {
    named.name = name;
    rows.push_back(std::move(named));
  }
  // To nine digits: sums differ in the last with the order of ranks.
  std::ranges::stable_sort(rows, std::ranges::greater{},
                           [](const NamedSlack& row) { return std::stod(fmt::format("{:.9g}", row.seconds_of_all)); });
  if (rows.size() > kSlackRows) rows.resize(kSlackRows);
  return rows;
}

// Ranks that may be as much slower, those that may least first.
std::vector<std::pair<double, std::vector<std::size_t>>> rank_rows(const Slack& slack, const Result& result) {
  std::map<double, std::vector<std::size_t>> rows;
  std::map<std::uint32_t, double> of_class;
  // To nine digits, as above.
  for (const RankSlack& one : slack.ranks)
    of_class[result.class_of_rank[index_of(one.rank)]] = std::stod(fmt::format("{:.9g}", one.slower));
  for (std::size_t rank = 0; rank < result.class_of_rank.size(); ++rank)
    rows[of_class.at(result.class_of_rank[rank])].push_back(rank);
  return {rows.begin(), rows.end()};
}

}  // namespace

Slack find_slack(const workload::Job& job, const workload::Matching& matching, const OperationLog& log,
                 std::span<const RankId> acting, Time finish) {
  return Backward(job, matching, log, acting, finish).run();
}

std::string slack_text(const Slack& slack, const workload::Job& job, std::span<const RankId> acting,
                       const Result& result) {
  using Ranks = std::pair<double, std::vector<std::size_t>>;
  const std::vector<Ranks> rows = rank_rows(slack, result);
  std::string text =
      table_of(by_name(slack, job, acting),
               {{"slack of operations", [](const NamedSlack& row) { return printable(row.name, 60); }},
                {"count", &NamedSlack::count},
                {"longest", &NamedSlack::longest},
                {"least slack", &NamedSlack::least}})
          .text() +
      "\n" +
      table_of(std::span(rows).first(std::min(rows.size(), kSlackRows)),
               {{"ranks that may compute slower", [](const Ranks& row) { return rank_ranges(row.second, 40); }},
                {"count", [](const Ranks& row) { return row.second.size(); }},
                {slack.is_exact ? "by" : "by at least",
                 [](const Ranks& row) { return std::isinf(row.first) ? "any" : percent(row.first, 2); }, kRight}})
          .text();
  if (rows.size() > kSlackRows) text += fmt::format("  ... {} more rows\n", rows.size() - kSlackRows);
  return text;
}

void add_slack(const Slack& slack, const workload::Job& job, std::span<const RankId> acting, const Result& result,
               nlohmann::ordered_json& document) {
  nlohmann::ordered_json operations = nlohmann::ordered_json::array(), ranks = nlohmann::ordered_json::array();
  for (const NamedSlack& row : by_name(slack, job, acting))
    operations.push_back({{"what", printable(row.name, 200)},
                          {"count", row.count},
                          {"longest_s", seconds(row.longest)},
                          {"least_slack_s", seconds(row.least)}});
  for (const auto& [share, of_ranks] : rank_rows(slack, result))
    if (!std::isinf(share)) ranks.push_back({{"members", rank_ranges(of_ranks)}, {"slower", share}});
  document["slack_operations"] = std::move(operations);
  document["slack_ranks"] = std::move(ranks);
  document["slack_exact"] = slack.is_exact;
}

}  // namespace orrery::report
