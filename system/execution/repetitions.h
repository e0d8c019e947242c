// SPDX-License-Identifier: MIT
// Stretches that programs go through again (workload::Stretch). The first time an agent runs one node by node, and what
// it did is recorded; from then on a repetition is one step, whose parts take the same times at the same distances.
//
// Exact, as long as nothing comes in between: the recorded nodes waited for one another and for nothing else, all
// members of the communicators that they call are one agent, the links of these calls carry nothing else, nothing else
// wants the agent's streams meanwhile, and the host is as far ahead as not to be waited for before it synchronises with
// one of them. Where that does not hold NotRepeatable is thrown, and the job has to be
// written out.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "core/ids.h"
#include "core/units.h"
#include "system/execution/calls.h"
#include "system/execution/observer.h"
#include "system/execution/ranks.h"
#include "system/folding/cast.h"
#include "workload/graph/execution_graph.h"
#include "workload/graph/job.h"

namespace orrery::system {

// A repetition would not be exact.
struct NotRepeatable {};

// Throws NotRepeatable unless the operations of the stretch, in any order, follow from one another.
// `contends`: calls slow down what is computed beside them.
StretchRecord record_of(const workload::ExecutionGraph& graph, const workload::Stretch& stretch,
                        std::vector<OperationRecord> operations, bool contends);

class Repetitions {
 public:
  // All outlive it. A rank takes the same times for what it does again (may_change_times()).
  Repetitions(Cast& cast, Calls& calls, SimulationObserver& observer, bool contends)
      : job_(cast.input().job), cast_(cast), calls_(calls), observer_(observer), contends_(contends) {}

  // An agent has done a node: of no interest if it is of no stretch.
  void ran(std::uint32_t agent, const workload::ExecutionGraph& graph, const OperationRecord& operation);
  // A node that it has done was slowed by a call that is not of the node's stretch: that cannot be repeated.
  void disturb(std::uint32_t agent, const workload::ExecutionGraph& graph, NodeId node);
  // An agent begins the repetition `node`: how long that takes.
  Duration begin(std::uint32_t agent, const RankExecution& execution, NodeId node);
  // It is over, and the observer is told. Returns when the host went on behind its last synchronisation, if it has any.
  Time finish(std::uint32_t agent, const RankExecution& execution, NodeId node);
  // Accounts for what was repeated since the last time. Before classes come apart, and at the end.
  void settle();
  // `part` goes on as `parent` did.
  void split(std::uint32_t part, std::uint32_t parent);

 private:
  // Record of one agent's run of a stretch.
  struct Run {
    std::vector<OperationRecord> operations;  // until all are there
    std::shared_ptr<const StretchRecord> record;
    bool is_disturbed = false;
    std::uint64_t repetitions = 0;            // not yet accounted for
    std::vector<std::uint32_t> streams_used;  // by communicator of the record: how often, when a repetition began
  };

  Run& run(std::uint32_t agent, const workload::ExecutionGraph& graph, std::uint32_t stretch);
  void require_alone(std::uint32_t agent, const RankExecution& execution, const StretchRecord& record) const;

  const workload::Job& job_;
  Cast& cast_;
  Calls& calls_;
  SimulationObserver& observer_;
  bool contends_;
  std::vector<std::vector<Run>> runs_;  // by agent, by stretch
};

}  // namespace orrery::system
