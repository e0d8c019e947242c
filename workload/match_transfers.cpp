#include "workload/match_transfers.h"

#include <algorithm>
#include <compare>
#include <cstdint>
#include <span>
#include <string>

#include <fmt/format.h>

namespace orrery {
namespace {

// A send or receive, under what its other end must agree with.
struct End {
  RankId source{};
  RankId destination{};
  std::int64_t tag = 0;
  bool is_receive = false;
  std::uint32_t position = 0;  // in the canonical order of its rank
  NodeId node{};

  auto operator<=>(const End&) const = default;

  RankId rank() const { return is_receive ? destination : source; }
  bool same_channel(const End& other) const {
    return source == other.source && destination == other.destination && tag == other.tag;
  }
};

std::vector<End> collect(const Job& job) {
  std::vector<End> ends;
  for (std::uint32_t i = 0; i < job.ranks.size(); ++i) {
    const RankId rank{i};
    const ExecutionGraph& graph = job.graph(rank);
    if (graph.transfers().empty()) continue;
    std::uint32_t position = 0;
    for (const NodeId node : graph.order()) {
      ++position;
      const NodeKind kind = graph.kind(node);
      if (kind != NodeKind::kSend && kind != NodeKind::kReceive) continue;
      const RankId peer = job.peer(rank, node);
      const bool is_receive = kind == NodeKind::kReceive;
      ends.push_back(
          {is_receive ? peer : rank, is_receive ? rank : peer, job.tag(rank, node), is_receive, position, node});
    }
  }
  std::ranges::sort(ends);
  return ends;
}

// The sends and the receives of one (source, destination, tag), each in order.
class Channel {
 public:
  Channel(const Job& job, std::span<const End> ends) : job_(job) {
    const auto first_receive = std::ranges::find(ends, true, &End::is_receive);
    const std::size_t sends = static_cast<std::size_t>(first_receive - ends.begin());
    sends_ = ends.first(sends);
    receives_ = ends.subspan(sends);
  }

  void match(std::vector<std::vector<TransferEnd>>& transfers, DisagreementReport& report) const {
    const std::size_t pairs = std::min(sends_.size(), receives_.size());
    for (std::size_t k = 0; k < pairs; ++k) {
      if (bytes(sends_[k]) != bytes(receives_[k])) return report.add(describe_sizes(k));
      tie(sends_[k], receives_[k], transfers);
      tie(receives_[k], sends_[k], transfers);
    }
    if (sends_.size() != receives_.size()) report.add(describe_unmatched(pairs));
  }

 private:
  Bytes bytes(const End& end) const { return job_.graph(end.rank()).bytes(end.node); }
  std::string describe(const End& end) const { return job_.describe(end.rank(), end.node); }

  void tie(const End& end, const End& other, std::vector<std::vector<TransferEnd>>& transfers) const {
    const std::uint32_t index = job_.graph(end.rank()).transfer_index(end.node);
    transfers[index_of(end.rank())][index] = {other.rank(), other.node};
  }

  std::string heading() const {
    const End& end = sends_.empty() ? receives_.front() : sends_.front();
    return fmt::format("  from rank {} to rank {}, tag {}: ", index_of(end.source), index_of(end.destination), end.tag);
  }

  std::string describe_sizes(std::size_t k) const {
    return heading() + fmt::format("transfer {} is sent with {} bytes ({}) and received with {} bytes ({})", k + 1,
                                   bytes(sends_[k]).count(), describe(sends_[k]), bytes(receives_[k]).count(),
                                   describe(receives_[k]));
  }

  std::string describe_unmatched(std::size_t pairs) const {
    const auto count = [](std::size_t n, std::string_view what) {
      return fmt::format("{} {}{}", n, what, n == 1 ? "" : "s");
    };
    const bool sends_left = sends_.size() > receives_.size();
    const End& first = sends_left ? sends_[pairs] : receives_[pairs];
    return heading() + fmt::format("{} but {}; the first without {} is {} on rank {}", count(sends_.size(), "send"),
                                   count(receives_.size(), "receive"), sends_left ? "a receive" : "a send",
                                   describe(first), index_of(first.rank()));
  }

  const Job& job_;
  std::span<const End> sends_;
  std::span<const End> receives_;
};

}  // namespace

std::vector<std::vector<TransferEnd>> match_transfers(const Job& job, DisagreementReport& report) {
  std::vector<std::vector<TransferEnd>> transfers;
  for (std::uint32_t rank = 0; rank < job.ranks.size(); ++rank)
    transfers.emplace_back(job.graph(RankId(rank)).transfers().size());

  const std::vector<End> ends = collect(job);
  for (std::size_t begin = 0; begin < ends.size();) {
    std::size_t end = begin + 1;
    while (end < ends.size() && ends[end].same_channel(ends[begin])) ++end;
    Channel(job, std::span(ends).subspan(begin, end - begin)).match(transfers, report);
    begin = end;
  }
  return transfers;
}

}  // namespace orrery
