// SPDX-License-Identifier: MIT
// The figures of a sweep's points by name, as points.csv has them.
#pragma once

#include <map>
#include <string>

#include "study/constraint.h"
#include "study/sweep/sweep.h"

namespace orrery::study {

// Of a point that ran: "iteration_time_s", "exposed_tensor_s", "bound_by", ...
std::map<std::string, NamedValue> figures_of(const SweepPoint& point);

}  // namespace orrery::study
