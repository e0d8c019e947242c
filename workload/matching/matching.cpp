// SPDX-License-Identifier: MIT
#include "workload/matching/matching.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/error.h"
#include "workload/graph/builder.h"
#include "workload/matching/disagreement.h"
#include "workload/matching/mending.h"
#include "workload/matching/screen_lines.h"

namespace orrery::workload {
namespace {

// A slot of a graph under its labels: ranks that have it call alike.
struct Caller {
  std::uint32_t graph = 0;
  std::uint32_t labels = 0;
  std::uint32_t slot = 0;

  auto operator<=>(const Caller&) const = default;
};

// Identity of a communicator's calls, where the traces tell it by more than their order.
//
// The k-th call of each member meets the k-th of the others. A rank's canonical order is one of many that its
// dependencies allow, though: with another dependency on one rank it may begin a call earlier or later than the other
// members' orders do, and every call behind that would meet another. Where all members call with the same ids, under
// the same names and for the same operation, these say which calls belong together.
class CallIdentity {
 public:
  explicit CallIdentity(Job& job) : job_(job), callers_(job.communicators.size()) {
    for (const RankBinding& rank : job.ranks)
      for (std::uint32_t slot = 0; slot < rank.communicators.size(); ++slot)
        callers_[index_of(rank.communicators[slot])].push_back({rank.graph, rank.labels, slot});
    for (std::vector<Caller>& callers : callers_) {
      std::ranges::sort(callers);
      callers.erase(std::unique(callers.begin(), callers.end()), callers.end());
    }
  }

  void apply() {
    std::vector<bool> by_id(callers_.size());
    for (std::size_t group = 0; group < callers_.size(); ++group)
      by_id[group] = !all_alike(callers_[group], false) && all_alike(callers_[group], true);
    std::map<std::pair<std::uint32_t, std::vector<std::uint32_t>>, std::uint32_t> made;
    for (RankBinding& rank : job_.ranks) {
      std::vector<std::uint32_t> slots;
      for (std::uint32_t slot = 0; slot < rank.communicators.size(); ++slot)
        if (by_id[index_of(rank.communicators[slot])]) slots.push_back(slot);
      if (slots.empty()) continue;
      const auto [known, is_new] = made.try_emplace({rank.graph, slots}, rank.graph);
      if (is_new) known->second = counted_by_node(rank.graph, slots);
      rank.graph = known->second;
    }
  }

 private:
  // The two orders are the same on most ranks.
  std::uint32_t counted_by_node(std::uint32_t graph, const std::vector<std::uint32_t>& slots) {
    ExecutionGraph other = with_calls_by_node(job_.graphs[graph], slots);
    if (other == job_.graphs[graph]) return graph;
    job_.graphs.push_back(std::move(other));
    return static_cast<std::uint32_t>(job_.graphs.size() - 1);
  }

  // True if all call in the same order: the canonical one, or that of their ids.
  bool all_alike(const std::vector<Caller>& callers, bool by_id) const {
    if (callers.size() < 2) return true;
    const std::vector<NodeId> first = calls(callers.front(), by_id);
    return std::ranges::all_of(callers, [&](const Caller& caller) {
      return std::ranges::equal(first, calls(caller, by_id),
                                [&](NodeId a, NodeId b) { return is_same(callers.front(), a, caller, b); });
    });
  }

  std::vector<NodeId> calls(const Caller& caller, bool by_id) const {
    const auto canonical = job_.graphs[caller.graph].calls(caller.slot);
    std::vector<NodeId> calls(canonical.begin(), canonical.end());
    if (by_id) std::ranges::sort(calls);
    return calls;
  }

  bool is_same(const Caller& caller, NodeId a, const Caller& other, NodeId b) const {
    const NodeLabels& labels = job_.labels[caller.labels];
    const NodeLabels& others = job_.labels[other.labels];
    const ExecutionGraph& graph = job_.graphs[caller.graph];
    const ExecutionGraph& other_graph = job_.graphs[other.graph];
    return labels.trace_id(a) == others.trace_id(b) && labels.name(a) == others.name(b) &&
           can_be_one(graph.collective_kind(a), graph.bytes(a), other_graph.collective_kind(b), other_graph.bytes(b));
  }

  Job& job_;
  std::vector<std::vector<Caller>> callers_;  // by GroupId
};

// The entry's lines, each no longer than a screen is wide.
std::string entry_lines(std::string_view entry) {
  std::string lines;
  while (!entry.empty()) {
    const std::size_t end = std::min(entry.find('\n'), entry.size());
    const std::string_view line = entry.substr(0, end);
    const std::size_t indent = std::min(line.find_first_not_of(' '), line.size());
    lines += report_lines(line.substr(indent), indent);
    entry.remove_prefix(std::min(end + 1, entry.size()));
  }
  return lines;
}

}  // namespace

StuckError DisagreementReport::error(const Job& job) const {
  const std::vector<Mending> mendings = mend_disagreement(job, groups_, routes_);
  const std::vector<std::string> lines = to_lines(job, mendings);
  std::string mending;
  if (!lines.empty()) {
    constexpr std::size_t kMending = 9;
    mending = report_lines(lines.front(), 0) + report_part(std::span(lines).subspan(1), 2, kMending, "ways");
  }
  std::string text = "the ranks disagree about their communication: the job could never finish\n";
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    std::string entry = i < kMost ? entry_lines(entries_[i]) : std::string();
    const std::size_t lines_then = line_count(text) + line_count(entry) + line_count(mending);
    if (i > 0 && (entry.empty() || lines_then + (i + 1 < entries_.size() ? 1 : 0) > kReportLines)) {
      text += fmt::format("... and {} more\n", entries_.size() - i);
      break;
    }
    text += entry;
  }
  text += mending;
  text.pop_back();
  return StuckError(text, {}, {}, proposals(job, mendings));
}

std::string early_end(const Job& job, RankId rank, RankId other) {
  const ExecutionGraph &graph = job.graph(rank), &longer = job.graph(other);
  if (graph.written_out_size() >= longer.written_out_size()) return {};
  const std::string last = graph.size() == 0 ? "" : fmt::format(", with {}", job.describe(rank, graph.order().back()));
  return fmt::format("; the trace of rank {} ends after {} node{}{}, that of rank {} after {}", index_of(rank),
                     graph.size(), graph.size() == 1 ? "" : "s", last, index_of(other), longer.size());
}

Matching match(const Job& job) {
  DisagreementReport report;
  CallLists calls = match_collectives(job, report);
  EndLists ends = match_transfers(job, report);
  if (!report.empty()) throw report.error(job);
  return {std::move(calls), std::move(ends)};
}

std::optional<Matching> try_match(const Job& job) {
  DisagreementReport report;
  CallLists calls = match_collectives(job, report);
  EndLists ends = match_transfers(job, report);
  if (!report.empty()) return std::nullopt;
  return Matching(std::move(calls), std::move(ends));
}

void count_calls_by_id(Job& job) { CallIdentity(job).apply(); }

}  // namespace orrery::workload
