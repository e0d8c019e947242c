// SPDX-License-Identifier: MIT
#include "workload/graph/node_labels.h"

#include <unordered_map>
#include <utility>

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
    if (is_new) add_text(label.name);
    names_.push_back(entry->second);
  }
  finish();
}

// Texts that are no node's are left out, and the others are in the order in which nodes first have them.
NodeLabels::NodeLabels(std::vector<std::uint64_t> ids, std::vector<std::uint32_t> names,
                       std::span<const std::string_view> texts)
    : ids_(std::move(ids)), names_(std::move(names)) {
  constexpr std::uint32_t kNone = UINT32_MAX;
  std::vector<std::uint32_t> number_of(texts.size(), kNone);
  for (std::uint32_t& name : names_) {
    std::uint32_t& number = number_of[name];
    if (number == kNone) {
      number = static_cast<std::uint32_t>(name_ends_.size());
      add_text(texts[name]);
    }
    name = number;
  }
  finish();
}

void NodeLabels::add_text(std::string_view text) {
  text_ += text;
  name_ends_.push_back(text_.size());
}

// Leaves out ids that follow one another.
void NodeLabels::finish() {
  text_.shrink_to_fit();
  name_ends_.shrink_to_fit();
  if (!ids_.empty()) first_id_ = ids_.front();
  bool is_line = true;
  for (std::size_t i = 0; i < ids_.size() && is_line; ++i) is_line = ids_[i] == first_id_ + i;
  if (is_line) ids_ = {};
  ContentDigest digest;
  digest.add(first_id_);
  digest.add_column(ids_);
  digest.add_column(names_);
  digest.add_text(text_);
  hash_ = digest.value();
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
