// SPDX-License-Identifier: MIT
// Culprits on the critical path, worse than their like: a slow or late rank, a node, a link that has lost bandwidth,
// links between switches that take longer than those of the devices and NICs below them. Of a job in which all are
// alike nothing is named: then the path says what takes the time, and nobody is to blame.
#pragma once

#include <span>
#include <vector>

#include "core/ids.h"
#include "network/fabric/fabric.h"
#include "network/network.h"
#include "report/critical_path.h"
#include "report/operation_log.h"
#include "report/result.h"
#include "system/devices/perturbation.h"
#include "workload/graph/job.h"

namespace orrery::report {

// Data of the run that the path is from. All outlive the call.
struct CulpritSource {
  const workload::Job& job;
  const network::Fabric& fabric;
  std::span<const DeviceId> placement;  // by rank
  const system::Perturbation& perturbation;
  const system::LinkUsages& usage;
  const OperationLog& log;
  std::span<const RankId> acting;  // by rank
};

// At most three, those that cost most first; none that costs less than half a percent of the time. The same whether
// ranks were folded or not.
std::vector<Culprit> find_culprits(const CriticalPath& path, const Result& result, const CulpritSource& source);

}  // namespace orrery::report
