// SPDX-License-Identifier: MIT
// How sure a predicted iteration time is: where the measured one would lie in 80 % of comparable runs. The errors are
// those of published runs of whose families nothing was known (validate training --cross), in
// configs/validation/training-errors.csv, one line a run.
//
// Comparable runs are of the same software, architecture of devices and kind of model; of the same architecture and
// kind, where those are of fewer than kLeastFamilies families; of the same kind; or all. The interval leaves out a
// tenth of them on either side. A run counts by one over the root of how many its family has, which are alike; and as
// the next job is one of another family, of n families the share (0.1 (n + 1) - 0.5) / n is left out on a side, which
// of five is next to nothing.
//
// A job beyond what was measured (more devices, another precision) gets the interval of the next wider circle of
// comparable runs, with half as much left out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/config/tree.h"
#include "experiment/experiment.h"
#include "report/result.h"

namespace orrery::study {

// What makes runs comparable.
struct JobKind {
  std::string software;
  std::string architecture;  // "hopper"
  std::string model;         // "transformer", "experts", "lora", "dlrm", ...
  std::string precision;     // of computing
  std::int64_t devices = 0;  // in use

  bool operator==(const JobKind&) const = default;
};

// Of a job that trains a model; nothing of traces and of several jobs.
std::optional<JobKind> job_kind(const experiment::Experiment& experiment);

struct MeasuredError {
  std::string family;
  JobKind kind;
  double error = 0;  // measured / predicted - 1, by constants fitted to other families; above -1

  bool operator==(const MeasuredError&) const = default;
};

// Reads a file as errors_csv() writes it. Problems go to `diagnostics`.
std::vector<MeasuredError> read_errors_csv(std::string_view text, const std::string& name, Diagnostics& diagnostics);
std::string errors_csv(std::span<const MeasuredError> errors);
// The shipped ones; none where configurations are another folder's that has none. InputError.
std::vector<MeasuredError> shipped_errors(const ConfigFiles& files);

struct ErrorInterval {
  double low = 0;  // measured / predicted - 1
  double high = 0;
  std::size_t runs = 0;
  std::size_t families = 0;
  std::string of;      // "transformer on hopper with megatron-2025"
  std::string beyond;  // "transformer on hopper with precision fp8", which was never measured; empty if all was
};

inline constexpr double kIntervalShare = 0.8;

// `errors` is not empty.
ErrorInterval interval_of(const JobKind& job, std::span<const MeasuredError> errors);

// The same of what a simulation found.
report::TimeInterval time_interval(const ErrorInterval& interval, Duration iteration);

// Which share of the runs lies inside the interval that other families give.
struct Coverage {
  double runs = 0;      // of all runs
  double families = 0;  // mean over families
  double halves = 0;    // of runs: families split at random into two halves, each by the other; mean of 100 splits
};
Coverage coverage(std::span<const MeasuredError> errors);

}  // namespace orrery::study
