// SPDX-License-Identifier: MIT
// The published run that is nearest to a job: what the job's predicted time can be held against by hand.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "core/units.h"
#include "report/result.h"
#include "study/interval/interval.h"

namespace orrery::study {

// Distance of two runs, 0 for equals: doublings between their parameters, half of those between devices, sequences and
// the degrees of parallelism, 2 for another architecture, 1 for another precision, 0.5 each for another device and
// other software. Nothing for runs of another sort of model, which is the first word of their kinds, or without a
// shape.
std::optional<double> distance_of(const RunKind& kind, const JobShape& shape, const RunKind& other_kind,
                                  const JobShape& other);
std::optional<double> distance_of(const RunKind& kind, const JobShape& shape, const MeasuredError& run);

// Runs that are farther away tell people nothing about their own: a model of four times the parameters on an eighth of
// the devices is as far.
inline constexpr double kFarthestRun = 4;

// The nearest run within kFarthestRun, the first of equals. Its error is that of the prediction by constants fitted
// without its family. It keeps `untold`: keys that the job sets and of which nobody knows what the run had
// (keys_untold() in study/interval/kinds.h).
std::optional<report::NearestRun> nearest_run(const RunKind& kind, const JobShape& shape,
                                              std::span<const MeasuredError> errors,
                                              std::span<const std::string> untold = {});

// "a measured run of its model, plan and device fit: 22B of sc21-table-2 on 8 a100-sxm-80gb, ...", of a job that is
// said not to fit; empty if there is none. Its sequence and batch are no larger than the run's.
std::string measured_fit_text(const RunKind& kind, const JobShape& shape, std::span<const MeasuredError> errors);

}  // namespace orrery::study
