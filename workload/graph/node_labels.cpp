// SPDX-License-Identifier: MIT
#include "workload/graph/node_labels.h"

#include <unordered_map>

#include <fmt/format.h>

#include "core/error.h"
#include "core/hash.h"

namespace orrery::workload {

NodeLabels::NodeLabels(std::span<const NodeLabel> labels) {
  std::unordered_map<std::string_view, std::uint32_t> known;
  ids_.reserve(labels.size());
  names_.reserve(labels.size());
  for (const NodeLabel& label : labels) {
    ids_.push_back(label.trace_id);
    const auto [entry, is_new] = known.try_emplace(label.name, static_cast<std::uint32_t>(name_ends_.size()));
    if (is_new) {
      text_ += label.name;
      name_ends_.push_back(text_.size());
    }
    names_.push_back(entry->second);
  }
  text_.shrink_to_fit();
  name_ends_.shrink_to_fit();

  ContentDigest digest;
  digest.add_column(ids_);
  digest.add_column(names_);
  digest.add_text(text_);
  hash_ = digest.value();

  if (ids_.empty()) return;
  first_id_ = ids_.front();
  for (std::size_t i = 0; i < ids_.size(); ++i)
    if (ids_[i] != first_id_ + i) return;
  ids_ = {};
}

std::string_view NodeLabels::name(NodeId node) const {
  const std::uint32_t name = names_[index_of(node)];
  const std::uint64_t begin = name == 0 ? 0 : name_ends_[name - 1];
  return std::string_view(text_).substr(begin, name_ends_[name] - begin);
}

std::string NodeLabels::describe(NodeId node) const { return describe_node(trace_id(node), name(node)); }

std::size_t NodeLabels::memory_bytes() const {
  return ids_.capacity() * sizeof(ids_[0]) + names_.capacity() * sizeof(names_[0]) + text_.capacity() +
         name_ends_.capacity() * sizeof(name_ends_[0]);
}

std::string describe_node(std::uint64_t trace_id, std::string_view name) {
  constexpr std::size_t kNameShown = 60;  // C++ kernel names run to thousands of characters
  return fmt::format("node {} \"{}\"", trace_id, printable(name, kNameShown));
}

}  // namespace orrery::workload
