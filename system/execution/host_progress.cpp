// SPDX-License-Identifier: MIT
#include "system/execution/host_progress.h"

#include <algorithm>

#include "core/assert.h"

namespace orrery::system {

bool HostProgress::finish(const workload::ExecutionGraph& graph, NodeId node, Time time,
                          std::span<const std::uint32_t> computations_up_to) {
  const std::span<const NodeId> all = graph.synchronisations();
  if (passed_ == all.size() || node < all[passed_]) return false;
  if (node != all[passed_]) {
    if (std::ranges::binary_search(all, node)) done_ahead_.emplace(node, time);
    return false;
  }
  for (;;) {
    if (taken_ < computations_up_to[passed_])
      earlier_.emplace_back(passed_, since_);
    else
      earlier_.clear();
    const Time through = since_ + graph.host_through(passed_);
    ++passed_;
    since_ = std::max(through, time - graph.host_ahead(passed_));
    if (done_ahead_.empty() || passed_ == all.size()) return true;
    if (done_ahead_.top().first != all[passed_]) return true;
    time = done_ahead_.top().second;
    done_ahead_.pop();
  }
}

Time HostProgress::turns_to(const workload::ExecutionGraph& graph, NodeId node) const {
  const bool is_behind_all = passed_ == 0 || node > graph.synchronisations()[passed_ - 1];
  if (is_behind_all) return since_ + graph.host_before(node);
  const std::uint32_t before = graph.synchronisations_before(node);
  const auto launched = std::ranges::lower_bound(earlier_, before, {}, &std::pair<std::uint32_t, Time>::first);
  ORRERY_ASSERT(launched != earlier_.end() && launched->first == before);
  return launched->second + graph.host_before(node);
}

}  // namespace orrery::system
