// SPDX-License-Identifier: MIT
// The sends and receives of a graph by peer, and which peers are the same to it: sends that start together and receives
// that are waited for together, node for node.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/ids.h"
#include "workload/graph/execution_graph.h"

namespace orrery::system {

class TransferSlots {
 public:
  explicit TransferSlots(const workload::ExecutionGraph& graph);

  // In ascending order.
  std::span<const NodeId> sends(std::uint32_t peer_slot) const { return sends_[peer_slot]; }
  std::span<const NodeId> receives(std::uint32_t peer_slot) const { return receives_[peer_slot]; }
  // Position of a send or receive among those with the same peer.
  std::uint32_t ordinal(const workload::ExecutionGraph& graph, NodeId node) const {
    return ordinals_[graph.transfer_index(node)];
  }

  // The first peer whose sends (receives) have the same sizes, and wait for and are waited for by the same nodes.
  std::uint32_t send_kind(std::uint32_t peer_slot) const { return send_kinds_[peer_slot]; }
  std::uint32_t receive_kind(std::uint32_t peer_slot) const { return receive_kinds_[peer_slot]; }

 private:
  std::vector<std::vector<NodeId>> sends_;
  std::vector<std::vector<NodeId>> receives_;
  std::vector<std::uint32_t> ordinals_;  // by transfer index
  std::vector<std::uint32_t> send_kinds_;
  std::vector<std::uint32_t> receive_kinds_;
};

}  // namespace orrery::system
