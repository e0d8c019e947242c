// SPDX-License-Identifier: MIT
#include "system/plans/transfer_slots.h"

#include <algorithm>
#include <map>
#include <tuple>

namespace orrery::system {
namespace {

// Tells which lists of transfers have the same sizes and surroundings: the nodes before and after them. Lists mostly
// differ in their first transfer, so that hardly any are gone through.
class ListKinds {
 public:
  // Both outlive it.
  ListKinds(const workload::ExecutionGraph& graph, const std::vector<std::vector<NodeId>>& lists)
      : graph_(graph), lists_(lists) {}

  // Returns, by list, the first that is like it.
  std::vector<std::uint32_t> find() {
    std::map<Start, std::vector<std::uint32_t>> known;  // lists that are the first of their kind
    std::vector<std::uint32_t> kinds;
    for (std::uint32_t list = 0; list < lists_.size(); ++list) {
      std::vector<std::uint32_t>& firsts = known[start_of(lists_[list])];
      const auto like = std::ranges::find_if(firsts, [&](std::uint32_t first) { return are_alike(first, list); });
      kinds.push_back(like == firsts.end() ? firsts.emplace_back(list) : *like);
    }
    return kinds;
  }

 private:
  // Number of transfers; size of the first one, and how many nodes come after it and which is the first of these.
  using Start = std::tuple<std::size_t, Bytes, std::size_t, NodeId>;

  Start start_of(const std::vector<NodeId>& list) const {
    if (list.empty()) return {};
    const auto after = graph_.successors(list.front());
    return {list.size(), graph_.bytes(list.front()), after.size(), after.empty() ? NodeId{} : after.front()};
  }

  bool are_alike(std::uint32_t first, std::uint32_t second) {
    const std::vector<NodeId>&one = lists_[first], &other = lists_[second];
    return std::ranges::equal(one, other, [&](NodeId a, NodeId b) {
      return graph_.bytes(a) == graph_.bytes(b) && std::ranges::equal(graph_.successors(a), graph_.successors(b)) &&
             before(a) == before(b);
    });
  }

  // Nodes before a transfer, ascending.
  const std::vector<NodeId>& before(NodeId transfer) {
    if (before_.empty()) find_before();
    return before_[graph_.transfer_index(transfer)];
  }

  void find_before() {
    before_.resize(graph_.transfers().size());
    for (std::uint32_t i = 0; i < graph_.size(); ++i)
      for (const NodeId successor : graph_.successors(NodeId(i))) {
        const workload::NodeKind kind = graph_.kind(successor);
        if (kind == workload::NodeKind::kSend || kind == workload::NodeKind::kReceive)
          before_[graph_.transfer_index(successor)].push_back(NodeId(i));
      }
  }

  const workload::ExecutionGraph& graph_;
  const std::vector<std::vector<NodeId>>& lists_;
  std::vector<std::vector<NodeId>> before_;  // by transfer index; empty until somebody asks
};

}  // namespace

TransferSlots::TransferSlots(const workload::ExecutionGraph& graph)
    : sends_(graph.peer_slots()), receives_(graph.peer_slots()) {
  for (const NodeId node : graph.transfers()) {
    std::vector<NodeId>& list =
        (graph.kind(node) == workload::NodeKind::kSend ? sends_ : receives_)[graph.peer_slot(node)];
    ordinals_.push_back(static_cast<std::uint32_t>(list.size()));
    list.push_back(node);
  }
  send_kinds_ = ListKinds(graph, sends_).find();
  receive_kinds_ = ListKinds(graph, receives_).find();
}

}  // namespace orrery::system
