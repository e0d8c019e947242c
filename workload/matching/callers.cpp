#include "workload/matching/callers.h"

#include <algorithm>

namespace orrery {
namespace {

constexpr std::uint32_t kNeverCalls = 0;

std::vector<std::pair<RankId, std::uint32_t>> positions_of(const Communicator& communicator) {
  std::vector<std::pair<RankId, std::uint32_t>> positions;
  for (std::uint32_t i = 0; i < communicator.members.size(); ++i) positions.emplace_back(communicator.members[i], i);
  std::ranges::sort(positions);
  return positions;
}

}  // namespace

CallRequest CallerKind::request(std::size_t call) const {
  const NodeId node = calls[call];
  return {graph->collective_kind(node), graph->bytes(node), roots.empty() ? 0 : roots[call]};
}

Callers::Callers(const Job& job) : job_(job), kinds_(1) {
  for (const ExecutionGraph& graph : job.graphs) {
    first_of_graph_.push_back(static_cast<std::uint32_t>(kinds_.size()));
    for (std::uint32_t slot = 0; slot < graph.communicator_slots(); ++slot)
      kinds_.push_back({&graph, graph.calls(slot), {}});
  }
  collect_bindings();
}

void Callers::collect_bindings() {
  first_of_group_.resize(job_.communicators.size() + 1);
  for (const RankBinding& binding : job_.ranks)
    for (const GroupId group : binding.communicators) ++first_of_group_[index_of(group) + 1];
  for (std::size_t group = 1; group < first_of_group_.size(); ++group)
    first_of_group_[group] += first_of_group_[group - 1];
  bindings_.resize(first_of_group_.back());
  std::vector<std::size_t> next = first_of_group_;
  for (std::uint32_t rank = 0; rank < job_.ranks.size(); ++rank) {
    const std::vector<GroupId>& communicators = job_.ranks[rank].communicators;
    for (std::uint32_t slot = 0; slot < communicators.size(); ++slot)
      bindings_[next[index_of(communicators[slot])]++] = {RankId(rank), slot};
  }
}

std::optional<std::uint32_t> Callers::slot_of(RankId rank, GroupId group) const {
  const std::size_t first = first_of_group_[index_of(group)];
  const auto of_group = std::span(bindings_).subspan(first, first_of_group_[index_of(group) + 1] - first);
  const auto after = std::ranges::upper_bound(of_group, rank, {}, &Binding::rank);
  if (after == of_group.begin() || std::prev(after)->rank != rank) return std::nullopt;
  return std::prev(after)->slot;
}

std::vector<std::uint32_t> Callers::kinds_of(GroupId group) {
  const Communicator& communicator = job_.communicators[index_of(group)];
  std::vector<std::uint32_t> kinds;
  kinds.reserve(communicator.members.size());
  std::optional<Positions> positions;
  for (const RankId rank : communicator.members) {
    const RankBinding& binding = job_.ranks[index_of(rank)];
    const std::optional<std::uint32_t> slot = slot_of(rank, group);
    const bool calls = slot && *slot < job_.graphs[binding.graph].communicator_slots();
    kinds.push_back(calls ? first_of_graph_[binding.graph] + *slot : kNeverCalls);
    if (!calls || binding.roots.empty()) continue;
    if (!positions) positions = positions_of(communicator);
    std::vector<std::uint32_t> roots = roots_of(binding, kinds_[kinds.back()], *positions);
    if (roots.empty()) continue;
    const auto [known, is_new] = rooted_.try_emplace({kinds.back(), roots}, static_cast<std::uint32_t>(kinds_.size()));
    if (is_new) kinds_.push_back({kinds_[kinds.back()].graph, kinds_[kinds.back()].calls, std::move(roots)});
    kinds.back() = known->second;
  }
  return kinds;
}

// Empty where all are the first member, as without roots.
std::vector<std::uint32_t> Callers::roots_of(const RankBinding& binding, const CallerKind& caller,
                                             const Positions& positions) const {
  std::vector<std::uint32_t> roots;
  for (const NodeId node : caller.calls) {
    const std::int64_t root = binding.roots[caller.graph->collective_index(node)];
    std::uint32_t& position = roots.emplace_back(0);
    if (root < 0) continue;
    const RankId rank{static_cast<std::uint32_t>(root)};
    const auto found = std::ranges::lower_bound(positions, rank, {}, &Positions::value_type::first);
    if (found != positions.end() && found->first == rank) position = found->second;
  }
  if (std::ranges::all_of(roots, [](std::uint32_t position) { return position == 0; })) roots.clear();
  return roots;
}

}  // namespace orrery
