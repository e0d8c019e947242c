// Where a rank's time went. The parts are disjoint and sum to the iteration time, to the picosecond.
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "core/units.h"
#include "system/observer.h"
#include "workload/job.h"

namespace orrery {

// At every instant: a device, host or memory node runs -> compute. Else the first unfinished operation in canonical
// order decides: a collective or message that moves -> exposed communication; a collective whose members have not all
// come -> wait; a receive whose sender has not started -> bubble, or wait if it is known not to be of a pipeline.
// Nothing under way, or finished -> idle.
struct Breakdown {
  Duration compute{};
  Duration host{};                          // of `compute`: the host ran and no device or memory node did
  Duration memory{};                        // of `compute`: remote memory, and no device node did
  std::map<std::string, Duration> exposed;  // by communicator name; sends and receives by Job::peer_family
  Duration bubble{};
  Duration wait{};
  Duration idle{};
  Time finish;

  Duration exposed_total() const;
  bool operator==(const Breakdown&) const = default;
};

// `operations` are all of `rank`'s; `end` is the end of the iteration.
Breakdown break_down(const Job& job, RankId rank, std::span<const OperationRecord> operations, Time end);

}  // namespace orrery
