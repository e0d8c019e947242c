// SPDX-License-Identifier: MIT
// Source of all that is told of the operations of a run: timelines, passes, tables of operations.
#pragma once

#include <optional>
#include <span>

#include "core/ids.h"
#include "report/operation_log.h"
#include "report/result.h"
#include "workload/graph/job.h"
#include "workload/training/program/generate_job.h"

namespace orrery::report {

class MachineFacts;  // report/operations/machine_facts.h

// All outlive it.
struct TimelineSource {
  const workload::Job& job;
  const std::optional<workload::TrainingFacts>& training;
  const OperationLog& log;
  std::span<const RankId> acting;  // by rank: whose operations the log has for it
  const Result& result;
  const MachineFacts* machine = nullptr;  // null: nobody asked for it
};

}  // namespace orrery::report
