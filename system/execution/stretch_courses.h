// SPDX-License-Identifier: MIT
// Records of a stretch (workload::Stretch) by what calls outside of it take of the device while it is repeated: made
// from its first run, and kept.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "system/execution/observer.h"
#include "system/execution/replay.h"
#include "workload/graph/execution_graph.h"

namespace orrery::system {

class StretchCourses {
 public:
  // `graph` and `stretch` outlive it. `first_run`: the operations of the stretch in any order. Without a `device`
  // nothing slows a computation. Throws NotRepeatable unless they follow from one another.
  StretchCourses(const workload::ExecutionGraph& graph, const workload::Stretch& stretch,
                 std::vector<OperationRecord> first_run, std::optional<ContendedDevice> device);

  // `outside`: ascending in time; empty, as long as they take nothing. Throws NotRepeatable where the stretch would not
  // go on by itself, or its operations did not follow from one another.
  const std::shared_ptr<const StretchRecord>& beside(const std::vector<OutsideUse>& outside);

 private:
  const workload::ExecutionGraph& graph_;
  const workload::Stretch& stretch_;
  std::vector<OperationRecord> first_run_;  // by node
  std::optional<Replay> replay_;            // none: it runs as it ran first
  std::map<std::vector<OutsideUse>, std::shared_ptr<const StretchRecord>> records_;
};

}  // namespace orrery::system
