#include "workload/matching/transfer_sides.h"

#include <algorithm>
#include <utility>

#include "workload/graph/content_digest.h"

namespace orrery {

TransferSides::TransferSides(const Job& job) : job_(job), sides_(1) {
  for (std::uint32_t graph = 0; graph < job.graphs.size(); ++graph) {
    programs_.push_back({graph, nullptr});
    transfers_.push_back(transfers_by_slot(job.graphs[graph]));
  }
  for (const RankBinding& binding : job.ranks) {
    first_peer_.push_back(peers_.size());
    add_peers(binding);
  }
  first_peer_.push_back(peers_.size());
}

TransferSides::SlotTransfers TransferSides::transfers_by_slot(const ExecutionGraph& graph) {
  SlotTransfers transfers(graph.peer_slots());
  if (transfers.empty()) return transfers;
  std::uint32_t position = 0;
  for (const NodeId node : graph.order()) {
    const NodeKind kind = graph.kind(node);
    if (kind == NodeKind::kSend || kind == NodeKind::kReceive)
      transfers[graph.peer_slot(node)].push_back({position, node});
    ++position;
  }
  return transfers;
}

std::uint32_t TransferSides::program_of(const RankBinding& binding) {
  if (binding.tags.empty()) return binding.graph;
  ContentDigest digest;
  digest.add(binding.graph);
  digest.add_column(binding.tags);
  const auto [begin, end] = tagged_.equal_range(digest.value());
  for (auto known = begin; known != end; ++known) {
    const Program& program = programs_[known->second];
    if (program.graph == binding.graph && *program.tags == binding.tags) return known->second;
  }
  const auto program = static_cast<std::uint32_t>(programs_.size());
  programs_.push_back({binding.graph, &binding.tags});
  tagged_.emplace(digest.value(), program);
  return program;
}

void TransferSides::add_peers(const RankBinding& binding) {
  const SlotTransfers& transfers = transfers_[binding.graph];
  std::vector<std::pair<RankId, std::uint32_t>> slots;
  for (std::uint32_t slot = 0; slot < transfers.size(); ++slot)
    if (!transfers[slot].empty()) slots.emplace_back(binding.peers[slot], slot);
  if (slots.empty()) return;
  std::ranges::sort(slots);
  const std::uint32_t program = program_of(binding);
  std::vector<std::uint32_t> of_peer;
  for (std::size_t i = 0; i < slots.size(); ++i) {
    of_peer.push_back(slots[i].second);
    if (i + 1 < slots.size() && slots[i + 1].first == slots[i].first) continue;
    peers_.push_back({slots[i].first, intern(program, of_peer)});
    of_peer.clear();
  }
}

std::uint32_t TransferSides::intern(std::uint32_t program, std::span<const std::uint32_t> slots) {
  key_.assign(1, program);
  key_.insert(key_.end(), slots.begin(), slots.end());
  const auto [known, is_new] = side_of_.try_emplace(key_, static_cast<std::uint32_t>(sides_.size()));
  if (is_new) sides_.push_back(make_side(programs_[program], slots));
  return known->second;
}

TransferSide TransferSides::make_side(const Program& program, std::span<const std::uint32_t> slots) const {
  const ExecutionGraph& graph = job_.graphs[program.graph];
  TransferSide side{program.graph, {slots.begin(), slots.end()}, {}, {}};
  for (const std::uint32_t slot : slots)
    for (const Transfer& transfer : transfers_[program.graph][slot]) {
      const std::int64_t tag = program.tags == nullptr ? 0 : (*program.tags)[graph.transfer_index(transfer.node)];
      (graph.kind(transfer.node) == NodeKind::kSend ? side.sends : side.receives)
          .push_back({tag, transfer.position, transfer.node, graph.bytes(transfer.node)});
    }
  std::ranges::sort(side.sends);
  std::ranges::sort(side.receives);
  return side;
}

std::span<const TransferSides::Peer> TransferSides::peers(RankId rank) const {
  const std::size_t first = first_peer_[index_of(rank)];
  return std::span(peers_).subspan(first, first_peer_[index_of(rank) + 1] - first);
}

std::uint32_t TransferSides::side(RankId rank, RankId peer) const {
  const std::span<const Peer> all = peers(rank);
  const auto found = std::ranges::lower_bound(all, peer, {}, &Peer::rank);
  return found != all.end() && found->rank == peer ? found->side : 0;
}

}  // namespace orrery
