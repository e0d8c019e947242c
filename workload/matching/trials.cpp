// SPDX-License-Identifier: MIT
#include "workload/matching/trials.h"

#include <algorithm>
#include <set>
#include <utility>

#include "workload/matching/matching.h"

namespace orrery::workload {
namespace {

// True if both do the same, but for how long they compute.
bool do_the_same(const ExecutionGraph& a, const ExecutionGraph& b) {
  if (a.size() != b.size() || a.form_hash() != b.form_hash()) return false;
  const auto is_alike = [&](NodeId node) { return a.bytes(node) == b.bytes(node); };
  return std::ranges::all_of(a.collectives(), is_alike) && std::ranges::all_of(a.transfers(), is_alike);
}

}  // namespace

Trials::Trials(const Job& job, SendWaits send_waits) : job_(job), send_waits_(std::move(send_waits)) {
  constexpr std::size_t kVisits = std::size_t{1} << 28;
  visits_ = kVisits;
  for (std::uint32_t rank = 0; rank < job.ranks.size(); ++rank) nodes_ += job.graph(RankId(rank)).size();
}

std::optional<std::size_t> Trials::left_with(std::span<const Edit> edits) {
  visits_ -= std::min(visits_, nodes_);
  const Job changed = edited(job_, edits);
  const std::optional<Matching> matching = try_match(changed);
  if (!matching) return std::nullopt;
  return Order(changed, *matching, send_waits_).left();
}

std::optional<Mending> Trials::mending(std::span<const Edit> edits) {
  if (left_with(edits) != std::size_t{0}) return std::nullopt;
  return Mending{{edits.begin(), edits.end()}, true, alike(edited(job_, edits), edits)};
}

std::int64_t Trials::alike(const Job& changed, std::span<const Edit> edits) const {
  std::set<RankId> ranks;
  for (const Edit& edit : edits) ranks.insert(edit.rank);
  std::int64_t sum = 0;
  for (const RankId rank : ranks) sum += likes(changed, rank) - likes(job_, rank);
  return sum;
}

std::int64_t Trials::likes(const Job& job, RankId rank) const {
  const std::vector<std::int64_t>& tags = job.ranks.details(index_of(rank)).tags;
  std::vector<bool> is_like(job_.graphs.size());
  for (std::size_t graph = 0; graph < job_.graphs.size(); ++graph)
    is_like[graph] = do_the_same(job.graph(rank), job_.graphs[graph]);
  std::int64_t likes = 0;
  for (std::uint32_t other = 0; other < job_.ranks.size(); ++other)
    if (other != index_of(rank) && is_like[job_.ranks.graph(other)] && job_.ranks.details(other).tags == tags) ++likes;
  return likes;
}

bool has_repetitions(const Job& job) {
  return std::ranges::any_of(job.graphs, [](const ExecutionGraph& graph) { return !graph.stretches().empty(); });
}

}  // namespace orrery::workload
