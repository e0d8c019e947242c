// How a trace calls its nodes: the 64-bit ids and the names, for messages and reports. Kept apart from the graph, since
// ranks with equal graphs may number or name their nodes differently.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/ids.h"

namespace orrery {

class NodeLabels {
 public:
  // Labels the next node. Equal names are stored once.
  void add(std::uint64_t trace_id, std::string_view name);
  // Drops what only add() needs. Call it once, after the last node.
  void finish();

  std::size_t size() const { return ids_.size(); }
  std::uint64_t trace_id(NodeId node) const { return ids_[index_of(node)]; }
  std::string_view name(NodeId node) const { return name_at(names_[index_of(node)]); }
  // `12 "aten::mm"`, safe to print.
  std::string describe(NodeId node) const;

  std::uint64_t content_hash() const { return hash_; }
  bool operator==(const NodeLabels& other) const;
  std::size_t memory_bytes() const;

 private:
  std::string_view name_at(std::uint32_t name) const;

  std::vector<std::uint64_t> ids_;
  std::vector<std::uint32_t> names_;        // per node: which name
  std::string text_;                        // all names, one after the other
  std::vector<std::uint64_t> name_ends_;    // into text_
  std::vector<std::uint32_t> name_table_;   // open addressing, while adding
  std::uint64_t hash_ = 0;
};

// `12 "aten::mm"`, safe to print.
std::string describe_node(std::uint64_t trace_id, std::string_view name);

}  // namespace orrery
