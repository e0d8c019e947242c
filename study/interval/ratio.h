// SPDX-License-Identifier: MIT
// How far off ratios of predicted times are: of one job on two machines, or of two plans of one job.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>

#include <nlohmann/json_fwd.hpp>

#include "report/documents/documents.h"
#include "study/interval/interval.h"

namespace orrery::study {

// Pairs of published runs of one family whose distance is at most kFarthestPair (study/interval/nearest.h). What both
// are off by cancels out. A family counts by the root of its pairs.
struct RatioError {
  double at_most = 0;  // that kIntervalShare of the pairs have, of the measured by the predicted ratio, 1.05 being 0.05
  std::size_t pairs = 0;
  std::size_t families = 0;
  std::string of;  // "transformer"; "any training" where its sort of model has fewer than five families
};
inline constexpr double kFarthestPair = 1;

// Nothing without pairs.
std::optional<RatioError> ratio_error(const RunKind& kind, std::span<const MeasuredError> errors);

// A job that is held against another.
struct ComparedJob {
  RunKind kind;
  JobShape shape;
};
// True if they are no farther apart than the pairs of published runs, which tell nothing of others.
bool are_near(const ComparedJob& first, const ComparedJob& second);

// True if a predicted ratio of times, above 0, may as well be 1.
bool is_within(double ratio, const RatioError& error);

// "6.1 % or less in 80 % of 312 pairs of published runs".
std::string ratio_errors_text(const RatioError& error);

// Interval in which kIntervalShare of the pairs put a ratio of times of which another was predicted.
struct RatioInterval {
  double low = 0, high = 0;
  bool is_told_apart = false;  // 1 is not within
};
RatioInterval ratio_interval(double ratio, const RatioError& error);
nlohmann::ordered_json to_json(const RatioInterval& interval);
report::DocumentKeys ratio_interval_keys();

// "it takes 5.3 % more time; 80 % of 2307 pairs of published runs (transformer) put that between 3.6 % less and 15.0 %
// more: the two cannot be told apart".
std::string ratio_interval_text(double ratio, const RatioError& error);
// "no error of the ratio is given: no published run has 'cluster.node.nics.bandwidth' so"; of a key_by_hand().
std::string no_ratio_error_text(const std::string& by_hand);
// "no error of the ratio is given: pairs of published runs are more alike than these two (hopper against ampere)"; of
// jobs that are not near.
std::string no_ratio_error_text(const ComparedJob& first, const ComparedJob& second);

// "80 % of 312 pairs of published runs (transformer) have ratios within 6.1 % of the predicted".
std::string ratio_error_text(const RatioError& error);
nlohmann::ordered_json to_json(const RatioError& error);
report::DocumentKeys ratio_error_keys();

}  // namespace orrery::study
