// SPDX-License-Identifier: MIT
// Names of nodes in a trace: 64-bit ids and texts, for messages and reports. Kept apart from the graph, since ranks
// with equal graphs may number or name their nodes differently.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/ids.h"

namespace orrery::workload {

struct NodeLabel {
  std::uint64_t trace_id = 0;
  std::string_view name;
};

class NodeLabels {
 public:
  NodeLabels() = default;
  // Takes labels by NodeId. Equal names are stored once.
  explicit NodeLabels(std::span<const NodeLabel> labels);
  // Takes the ids and names of nodes by NodeId. `ids` is empty where they are the numbers of the nodes; `names` are
  // numbers of `texts`, no two of which are equal.
  NodeLabels(std::vector<std::uint64_t> ids, std::vector<std::uint32_t> names, std::span<const std::string_view> texts);

  std::size_t size() const { return names_.size(); }
  std::uint64_t trace_id(NodeId node) const { return ids_.empty() ? first_id_ + index_of(node) : ids_[index_of(node)]; }
  std::string_view name(NodeId node) const;
  // `node 12 "aten::mm"`, safe to print.
  std::string describe(NodeId node) const;

  std::uint64_t content_hash() const { return hash_; }
  bool operator==(const NodeLabels& other) const = default;
  std::size_t memory_bytes() const;

 private:
  void add_text(std::string_view text);
  void finish();

  std::uint64_t first_id_ = 0;
  std::vector<std::uint64_t> ids_;        // empty: they follow one another
  std::vector<std::uint32_t> names_;      // per node: which of the distinct names
  std::string text_;                      // the distinct names, one after the other
  std::vector<std::uint64_t> name_ends_;  // into text_
  std::uint64_t hash_ = 0;
};

// `node 12 "aten::mm"`, safe to print.
std::string describe_node(std::uint64_t trace_id, std::string_view name);

}  // namespace orrery::workload
