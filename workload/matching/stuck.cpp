// SPDX-License-Identifier: MIT
#include "workload/matching/stuck.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/config/quantity_text.h"
#include "workload/graph/rank_list.h"
#include "workload/matching/mending.h"
#include "workload/matching/screen_lines.h"
#include "workload/matching/trials.h"

namespace orrery::workload {
namespace {

constexpr std::string_view kHint =
    "hint: no order that the dependencies allow finishes the job. Every rank must issue the calls that depend on one "
    "another in the same order";
constexpr std::string_view kHintOfSends =
    ". A send of more than NCCL's buffer (`send_buffer`) ends after its receive is posted: the one must not wait for "
    "the "
    "other (ncclGroupStart, batch_isend_irecv)";

std::string ranks_text(std::span<const RankId> ranks) {
  std::vector<std::uint32_t> numbers;
  for (const RankId rank : ranks) numbers.push_back(index_of(rank));
  std::ranges::sort(numbers);
  return rank_list(numbers);
}

std::string who_have(std::span<const RankId> ranks) {
  return fmt::format("{} {}", ranks_text(ranks), ranks.size() == 1 ? "has" : "have");
}

class StuckReport {
 public:
  StuckReport(const Order& order, const SendWaits& send_waits) : job_(order.job()), order_(order) {
    for (const RankId rank : order.unfinished())
      for (const NodeId node : order.waits(rank)) add({rank, node});
    mendings_ = mend_order(order, send_waits);
  }

  // All but the first line.
  std::string text() const {
    std::string text = report_part(described_calls(), 2, 4, "calls");
    text += report_part(messages_, 2, calls_.empty() ? 5 : 2, "sends and receives");
    text += described_circle();
    std::string hint(kHint);
    if (sends_wait_) hint += kHintOfSends;
    const std::string last = report_lines(hint, 2);
    constexpr std::size_t kHead = 2;
    const std::size_t used = kHead + line_count(text) + line_count(last);
    const std::vector<std::string> lines = to_lines(job_, mendings_);
    if (!lines.empty()) {
      text += report_lines(lines.front(), 0);
      text += report_part(std::span(lines).subspan(1), 2, kReportLines - std::min(used + 1, kReportLines - 2), "ways");
    }
    return text + last;
  }
  std::span<const Mending> mendings() const { return mendings_; }

 private:
  using Call = std::pair<GroupId, std::uint32_t>;

  void add(const Wait& wait) {
    const ExecutionGraph& graph = job_.graph(wait.rank);
    if (graph.kind(wait.node) == NodeKind::kCollective) {
      calls_[{job_.communicator(wait.rank, wait.node), graph.call_index(wait.node)}].push_back(wait);
      return;
    }
    sends_wait_ = sends_wait_ || graph.kind(wait.node) == NodeKind::kSend;
    messages_.push_back(described(wait, job_.peer(wait.rank, wait.node)));
  }

  // Describes for each communicator the first call that some have come to, but not all.
  std::vector<std::string> described_calls() const {
    std::vector<std::string> items;
    std::optional<GroupId> described;
    for (const auto& [call, waits] : calls_) {
      if (described == call.first) continue;
      described = call.first;
      const ExecutionGraph& graph = job_.graph(waits.front().rank);
      std::vector<RankId> there, missing;
      for (const Wait& wait : waits) there.push_back(wait.rank);
      for (const Wait& wait : order_.missing(waits.front())) missing.push_back(wait.rank);
      items.push_back(fmt::format("call {} of '{}', {} of {}: {} come, {} not", call.second + 1,
                                  printable(job_.communicators[index_of(call.first)].name, 40),
                                  name_of(graph.collective_kind(waits.front().node)),
                                  rounded(graph.bytes(waits.front().node)), who_have(there), who_have(missing)));
    }
    return items;
  }

  std::string described(const Wait& wait, RankId for_rank) const {
    const ExecutionGraph& graph = job_.graph(wait.rank);
    const std::string node = job_.describe(wait.rank, wait.node);
    const std::string bytes = rounded(graph.bytes(wait.node));
    const std::uint32_t rank = index_of(wait.rank);
    if (graph.kind(wait.node) == NodeKind::kCollective)
      return fmt::format("rank {} waits in {} of {} (call {} on '{}', {}) for rank {}", rank,
                         name_of(graph.collective_kind(wait.node)), bytes, graph.call_index(wait.node) + 1,
                         printable(job_.communicators[index_of(job_.communicator(wait.rank, wait.node))].name, 40),
                         node, index_of(for_rank));
    return fmt::format("rank {} waits in {} of {} {} rank {} ({})", rank, name_of(graph.kind(wait.node)), bytes,
                       graph.kind(wait.node) == NodeKind::kSend ? "to" : "from", index_of(for_rank), node);
  }

  std::string described_circle() const {
    const std::vector<Hop> circle = find_circle(order_);
    if (circle.empty()) return {};
    constexpr std::size_t kShown = 3;
    std::string text = "they wait for one another in a circle:\n";
    for (std::size_t i = 0; i < circle.size(); ++i) {
      const bool is_last = i + 1 == circle.size();
      if (circle.size() > kShown && i == kShown - 1)
        text += report_lines(fmt::format("... {} more ...", circle.size() - kShown), 2);
      if (i < kShown - 1 || is_last) text += report_lines(described(circle[i].wait, circle[i].blocked.rank), 2);
    }
    return text;
  }

  const Job& job_;
  const Order& order_;
  std::map<Call, std::vector<Wait>> calls_;
  std::vector<std::string> messages_;
  std::vector<Mending> mendings_;
  bool sends_wait_ = false;  // some, for their receives
};

}  // namespace

namespace {

constexpr std::uint64_t kMostNodes = std::uint64_t{1} << 28;  // of which an order keeps some bytes each

std::uint64_t nodes_of(const Job& job) {
  std::uint64_t nodes = 0;
  for (std::uint32_t rank = 0; rank < job.ranks.size(); ++rank) nodes += job.graph(RankId(rank)).size();
  return nodes;
}

}  // namespace

StuckError stuck_error(const Job& job, const Matching& matching, const SendWaits& send_waits,
                       std::span<const RankId> unfinished, std::optional<Time> since) {
  const std::string when = since ? fmt::format(" at {}", rounded(since->time_since_epoch())) : std::string();
  std::string text = report_lines(fmt::format("the job is stuck{}: {} of {} ranks can never finish ({})", when,
                                              unfinished.size(), job.ranks.size(), ranks_text(unfinished)),
                                  0);
  std::optional<Order> order;
  if (!has_repetitions(job) && nodes_of(job) <= kMostNodes) order.emplace(job, matching, send_waits);
  std::string node;
  std::vector<Proposal> mendings;
  if (order && order->left() > 0) {
    const StuckReport report(*order, send_waits);
    text += report.text();
    mendings = proposals(job, report.mendings());
    if (const std::vector<NodeId> waits = order->waits(unfinished.front()); !waits.empty())
      node = job.describe(unfinished.front(), waits.front());
  } else {
    text += report_lines(kHint, 2);
  }
  text.pop_back();
  return StuckError(text, index_of(unfinished.front()), node, std::move(mendings));
}

}  // namespace orrery::workload
