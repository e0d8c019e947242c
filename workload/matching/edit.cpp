// SPDX-License-Identifier: MIT
#include "workload/matching/edit.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/assert.h"
#include "core/error.h"
#include "workload/graph/builder.h"

namespace orrery::workload {
namespace {

// One rank's program, written anew with the edits of it.
class RankEditor {
 public:
  RankEditor(const Job& job, RankId rank, std::span<const Edit> edits)
      : job_(job),
        rank_(rank),
        edits_(edits),
        graph_(job.graph(rank)),
        labels_(job.labels_of(rank)),
        binding_(job.ranks[index_of(rank)]) {
    ORRERY_ASSERT(graph_.stretches().empty());
    for (const Edit& edit : edits) {
      if (edit.kind == Edit::Kind::kRemove) removed_.insert(*edit.node);
      if (edit.kind == Edit::Kind::kUnlink) unlinked_.emplace(*edit.other, *edit.node);
      if (edit.kind == Edit::Kind::kChange) changed_[*edit.node] = edit.operation;
      if (edit.kind != Edit::Kind::kSwap) continue;
      changed_[*edit.node] = operation_of(job, rank, *edit.other);
      changed_[*edit.other] = operation_of(job, rank, *edit.node);
    }
  }

  void write_to(Job& job) {
    write_nodes();
    write_dependencies();
    binding_.graph = static_cast<std::uint32_t>(job.graphs.size());
    binding_.labels = static_cast<std::uint32_t>(job.labels.size());
    RankDetails& details = binding_.own_details();
    details.tags =
        std::ranges::all_of(tags_, [](std::int64_t tag) { return tag == 0; }) ? std::vector<std::int64_t>() : tags_;
    details.roots = roots_;
    job.graphs.push_back(std::move(builder_).build());
    job.labels.emplace_back(texts_);
    job.ranks[index_of(rank_)] = std::move(binding_);
  }

 private:
  void write_nodes() {
    write_added({});
    for (std::uint32_t i = 0; i < graph_.size(); ++i) {
      const NodeId node{i};
      place_.push_back(write(node));
      texts_.push_back({labels_.trace_id(node), labels_.name(node)});
      write_added(node);
    }
  }

  NodeId write(NodeId node) {
    if (removed_.contains(node)) return builder_.add({});
    if (!is_communication(graph_.kind(node))) return builder_.add(graph_.node(node));
    const auto changed = changed_.find(node);
    return write(graph_.node(node), changed == changed_.end() ? operation_of(job_, rank_, node) : changed->second);
  }

  NodeId write(GraphNode node, const Operation& operation) {
    if (node.kind != operation.kind) node.host = {};
    node.kind = operation.kind;
    node.collective = operation.collective;
    node.bytes = operation.bytes;
    if (operation.kind == NodeKind::kCollective) {
      node.slot = slot_of(binding_.communicators, operation.group);
      roots_.push_back(operation.root);
    } else {
      node.slot = slot_of(binding_.peers, operation.peer);
      tags_.push_back(operation.tag);
    }
    return builder_.add(node);
  }

  template <class Id>
  static std::uint32_t slot_of(IdList<Id>& slots, Id id) {
    const auto slot = static_cast<std::uint32_t>(std::ranges::find(slots, id) - slots.begin());
    if (slot == slots.size()) slots.push_back(id);
    return slot;
  }

  void write_added(std::optional<NodeId> behind) {
    for (const Edit& edit : edits_) {
      if (edit.kind != Edit::Kind::kAdd || edit.node != behind) continue;
      added_.emplace_back(write(GraphNode{}, edit.operation), &edit);
      texts_.push_back({0, "added"});
    }
  }

  void write_dependencies() {
    for (std::uint32_t i = 0; i < graph_.size(); ++i)
      for (const NodeId after : graph_.successors(NodeId(i)))
        if (!unlinked_.contains({NodeId(i), after})) builder_.depend(place_[index_of(after)], place_[i]);
    for (const auto& [added, edit] : added_) {
      if (edit->node) builder_.depend(added, place_[index_of(*edit->node)]);
      if (edit->other) builder_.depend(place_[index_of(*edit->other)], added);
    }
    for (std::uint32_t slot = 0; slot < graph_.communicator_slots(); ++slot)
      if (counts_by_node(slot)) builder_.count_calls_by_node(slot);
  }

  bool counts_by_node(std::uint32_t slot) const {
    if (graph_.calls(slot).empty()) return false;
    std::vector<NodeId> canonical;
    for (const NodeId node : graph_.order())
      if (graph_.kind(node) == NodeKind::kCollective && graph_.communicator_slot(node) == slot)
        canonical.push_back(node);
    return !std::ranges::equal(canonical, graph_.calls(slot));
  }

  const Job& job_;
  RankId rank_;
  std::span<const Edit> edits_;
  const ExecutionGraph& graph_;
  const NodeLabels& labels_;
  RankBinding binding_;
  std::set<NodeId> removed_;
  std::set<std::pair<NodeId, NodeId>> unlinked_;
  std::map<NodeId, Operation> changed_;
  GraphBuilder builder_;
  std::vector<NodeLabel> texts_;
  std::vector<std::int64_t> tags_;
  std::vector<std::int64_t> roots_;
  std::vector<NodeId> place_;  // of the graph's nodes in the new one
  std::vector<std::pair<NodeId, const Edit*>> added_;
};

void leave(Job& job, GroupId group, RankId rank) {
  Communicator& communicator = job.communicators[index_of(group)];
  std::vector<RankId> left;
  for (const RankId member : communicator.members)
    if (member != rank) left.push_back(member);
  communicator.members = Members(std::move(left));
}

// `node 3 "mm"`, with its operation if it communicates.
std::string described(const Job& job, RankId rank, NodeId node) {
  if (!is_communication(job.graph(rank).kind(node))) return job.describe(rank, node);
  return fmt::format("{} ({})", job.describe(rank, node), to_text(job, operation_of(job, rank, node)));
}

}  // namespace

Operation operation_of(const Job& job, RankId rank, NodeId node) {
  const ExecutionGraph& graph = job.graph(rank);
  Operation operation{graph.kind(node), CollectiveKind::kAllReduce, graph.bytes(node)};
  if (graph.kind(node) != NodeKind::kCollective) {
    operation.peer = job.peer(rank, node);
    operation.tag = job.tag(rank, node);
    return operation;
  }
  operation.collective = graph.collective_kind(node);
  operation.group = job.communicator(rank, node);
  const std::vector<std::int64_t>& roots = job.ranks.details(index_of(rank)).roots;
  if (!roots.empty()) operation.root = roots[graph.collective_index(node)];
  return operation;
}

std::string to_text(const Job& job, const Operation& operation) {
  if (operation.kind != NodeKind::kCollective)
    return fmt::format("{} of {} bytes {} rank {}, tag {}", name_of(operation.kind), operation.bytes.count(),
                       operation.kind == NodeKind::kSend ? "to" : "from", index_of(operation.peer), operation.tag);
  const Communicator& group = job.communicators[index_of(operation.group)];
  std::string text = fmt::format("{} of {} bytes on \"{}\"", name_of(operation.collective), operation.bytes.count(),
                                 printable(group.name, 40));
  if (has_root(operation.collective))
    text += fmt::format(", root rank {}",
                        operation.root < 0 ? std::int64_t{index_of(group.members.front())} : operation.root);
  return text;
}

std::string_view name_of(Edit::Kind kind) {
  constexpr std::array<std::string_view, 6> kNames = {"add", "remove", "change", "swap", "unlink", "leave"};
  return kNames[static_cast<std::size_t>(kind)];
}

std::string to_text(const Job& job, const Edit& edit) {
  switch (edit.kind) {
    case Edit::Kind::kAdd: {
      const std::string where = edit.node    ? "after " + job.describe(edit.rank, *edit.node)
                                : edit.other ? "before " + job.describe(edit.rank, *edit.other)
                                             : "anywhere";
      return fmt::format("add {}, {}", to_text(job, edit.operation), where);
    }
    case Edit::Kind::kRemove:
      return fmt::format("remove {}", described(job, edit.rank, *edit.node));
    case Edit::Kind::kChange:
      return fmt::format("{} becomes {}", described(job, edit.rank, *edit.node), to_text(job, edit.operation));
    case Edit::Kind::kSwap:
      return fmt::format("swap {} and {}", described(job, edit.rank, *edit.node),
                         described(job, edit.rank, *edit.other));
    case Edit::Kind::kUnlink:
      return fmt::format("{} waits no more for {}", described(job, edit.rank, *edit.node),
                         job.describe(edit.rank, *edit.other));
    case Edit::Kind::kLeave: {
      const Communicator& group = job.communicators[index_of(edit.operation.group)];
      return fmt::format("is no member of \"{}\"{}", printable(group.name, 40),
                         group.source.empty() ? "" : fmt::format(" ({})", printable(group.source)));
    }
  }
  return {};
}

Job edited(const Job& job, std::span<const Edit> edits) {
  Job result = job;
  result.known_facts.clear();
  std::map<RankId, std::vector<Edit>> by_rank;
  for (const Edit& edit : edits) {
    if (edit.kind == Edit::Kind::kLeave)
      leave(result, edit.operation.group, edit.rank);
    else
      by_rank[edit.rank].push_back(edit);
  }
  for (Communicator& communicator : result.communicators) communicator.shifted_from.reset();
  for (const auto& [rank, of_rank] : by_rank) RankEditor(job, rank, of_rank).write_to(result);
  return result;
}

}  // namespace orrery::workload
