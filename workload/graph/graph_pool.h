// SPDX-License-Identifier: MIT
// Keeps one of each graph, and one of each form: traces of ranks that do the same differ in how long it took.
#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "workload/graph/content_pool.h"
#include "workload/graph/execution_graph.h"

namespace orrery::workload {

class GraphPool {
 public:
  std::uint32_t intern(ExecutionGraph graph) {
    const std::uint64_t hash = graph.form_hash();
    bool is_known = false;
    const auto [begin, end] = by_form_.equal_range(hash);
    for (auto entry = begin; entry != end && !is_known; ++entry) is_known = graph.share_form(graphs_[entry->second]);
    const std::uint32_t index = graphs_.intern(std::move(graph));
    if (!is_known) by_form_.emplace(hash, index);
    return index;
  }

  const ExecutionGraph& operator[](std::uint32_t index) const { return graphs_[index]; }
  std::vector<ExecutionGraph> take() { return graphs_.take(); }

 private:
  std::multimap<std::uint64_t, std::uint32_t> by_form_;  // the first graph of each form
  ContentPool<ExecutionGraph> graphs_;
};

}  // namespace orrery::workload
