// SPDX-License-Identifier: MIT
// Stretches that programs go through again (workload::Stretch). The first time an agent runs one node by node, and what
// it did is recorded; from then on a repetition is one step, whose parts take the same times at the same distances, but
// for what calls and sends outside of the stretch slow meanwhile (StretchCourses).
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

#include "collectives/aggregate.h"
#include "core/ids.h"
#include "core/units.h"
#include "system/devices/operation_times.h"
#include "system/execution/calls.h"
#include "system/execution/observer.h"
#include "system/execution/ranks.h"
#include "system/execution/stretch_courses.h"
#include "system/folding/cast.h"
#include "workload/graph/execution_graph.h"
#include "workload/graph/job.h"

namespace orrery::system {

class Repetitions {
 public:
  // All outlive it. A rank takes the same times for what it does again (may_change_times()). `contends`: calls slow
  // down what is computed beside them.
  Repetitions(Cast& cast, const OperationTimes& times, Calls& calls, SimulationObserver& observer, bool contends)
      : job_(cast.input().job), cast_(cast), times_(times), calls_(calls), observer_(observer), contends_(contends) {}

  // An agent has done a node: of no interest if it is of no stretch.
  void ran(std::uint32_t agent, const workload::ExecutionGraph& graph, const OperationRecord& operation);
  // An agent begins the repetition `node`, of which calls under way take `outside` of its device: when that ends.
  Time begin(std::uint32_t agent, const RankExecution& execution, NodeId node, const collectives::DeviceShare& outside);
  // From `now` on they take `outside`: when it ends.
  Time go_on(std::uint32_t agent, const RankExecution& execution, NodeId node, const collectives::DeviceShare& outside,
             Time now);
  // It is over, and the observer is told. Returns when the host went on behind its last synchronisation, if it has any.
  Time finish(std::uint32_t agent, const RankExecution& execution, NodeId node);
  // Accounts for what was repeated since the last time. Before classes come apart, and at the end.
  void settle();
  // `part` goes on as `parent` did.
  void split(std::uint32_t part, std::uint32_t parent);

 private:
  // A stretch of one agent's program.
  struct Run {
    std::vector<OperationRecord> operations;  // until all are there
    std::shared_ptr<StretchCourses> courses;  // then
    // Latest repetition: when it began and the host turned to it, what calls outside took, and the record.
    Time begin;
    Time host;
    std::vector<OutsideUse> outside;
    std::shared_ptr<const StretchRecord> record;
    std::uint64_t repetitions = 0;            // not yet accounted for
    std::vector<std::uint32_t> streams_used;  // by communicator of the record: how often, when a repetition began
  };

  Run& run(std::uint32_t agent, const workload::ExecutionGraph& graph, std::uint32_t stretch);
  void open(std::uint32_t agent, const workload::ExecutionGraph& graph, std::uint32_t number, Run& run);
  void require_alone(std::uint32_t agent, const RankExecution& execution, const StretchRecord& record) const;

  const workload::Job& job_;
  Cast& cast_;
  const OperationTimes& times_;
  Calls& calls_;
  SimulationObserver& observer_;
  bool contends_;
  std::vector<std::vector<Run>> runs_;  // by agent, by stretch
};

}  // namespace orrery::system
