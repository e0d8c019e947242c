// SPDX-License-Identifier: MIT
// Interval of a predicted time that contains the measured time in 80 % of comparable runs. The errors are those of
// published measurements of whose families nothing was known (validate --cross): of training in
// configs/validation/training-errors.csv, of collectives in collective-errors.csv, one line a run.
//
// Words say what makes runs comparable, the broadest first ("transformer", "hopper", "megatron-2025"). Comparable runs
// share all of them; all but the last, where those are of fewer than kLeastFamilies families; and so on to all runs of
// the schema. The interval leaves out a tenth of them on either side. A run counts by one over the root of how many its
// family has, which are alike; and as the next one is of another family, of n families the share (0.1 (n + 1) - 0.5) /
// n is left out on a side, which of five is next to nothing.
//
// A run beyond what was measured (more devices, another precision, a first word that no run has) gets the interval of
// the next wider circle of comparable runs, if there is one, with half as much left out. An interval of all runs is
// never narrower than the errors of those that share the first word, where these are of three families or more and the
// schema says so.
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "core/config/tree.h"
#include "report/result.h"

namespace orrery::study {

// Schema that tells runs of one sort apart.
struct RunSchema {
  struct Word {
    std::string_view column;           // "architecture"
    std::string_view before;           // " on ", between the word before and this one
    std::vector<std::string> known{};  // all that there are; empty: any word
  };
  std::string_view runs{};   // "training jobs"
  std::string_view any{};    // all of them: "any training"
  std::string_view file{};   // the shipped errors, beneath the configurations
  std::string_view about{};  // the comment that the file begins with
  std::vector<Word> words{};
  bool has_precision = false;
  bool has_shapes = false;  // columns of MeasuredRun
  bool holds_own = false;   // no interval is narrower than the errors of runs that share the first word
};

struct RunKind {
  std::vector<std::string> words;  // as many as its schema has
  std::string precision;           // of computing; empty where the schema has none
  std::int64_t devices = 0;        // in use

  auto operator<=>(const RunKind&) const = default;
};

// Figures by which training jobs are near one another or not.
inline constexpr std::array<std::string_view, 5> kShapeDegrees = {"tensor", "pipeline", "context", "data", "expert"};
struct JobShape {
  std::string device;                                        // name
  std::int64_t parameters = 0;                               // of the model
  std::int64_t sequence = 0;                                 // tokens; 0: the model has none
  std::int64_t batch = 0;                                    // sequences or samples of a step, of all ranks
  std::array<std::int64_t, kShapeDegrees.size()> degrees{};  // as kShapeDegrees names them

  bool operator==(const JobShape&) const = default;
};

struct MeasuredRun {
  std::string name;  // of its row
  JobShape shape;
  double measured = 0;  // seconds of an iteration; above 0

  bool operator==(const MeasuredRun&) const = default;
};

struct MeasuredError {
  std::string family;
  RunKind kind;
  double error = 0;                  // measured / predicted - 1, by constants fitted to other families; above -1
  std::optional<MeasuredRun> run{};  // if its schema has shapes

  bool operator==(const MeasuredError&) const = default;
};

// Reads a file as errors_csv() writes it. Problems go to `diagnostics`.
std::vector<MeasuredError> read_errors_csv(std::string_view text, const std::string& name, const RunSchema& schema,
                                           Diagnostics& diagnostics);
std::string errors_csv(std::span<const MeasuredError> errors, const RunSchema& schema);
// The shipped ones; none where configurations are another folder's that has none. InputError.
std::vector<MeasuredError> shipped_errors(const RunSchema& schema, const ConfigFiles& files);

struct ErrorInterval {
  double low = 0;  // measured / predicted - 1
  double high = 0;
  std::size_t runs = 0;
  std::size_t families = 0;
  std::string of;      // "transformer on hopper with megatron-2025"
  std::string beyond;  // "transformer on hopper with precision fp8", which was never measured; empty if all was
};

inline constexpr double kIntervalShare = 0.8;

// `errors` is not empty, and of the schema of `run`.
ErrorInterval interval_of(const RunKind& run, std::span<const MeasuredError> errors, const RunSchema& schema);

// The same of a time that was predicted.
report::TimeInterval time_interval(const ErrorInterval& interval, Duration predicted);

// Coverage: the share of runs inside the interval that other families give.
struct Coverage {
  double runs = 0;      // of all runs
  double families = 0;  // mean over families
  double halves = 0;    // of runs: families split at random into two halves, each by the other; mean of 100 splits
};
Coverage coverage(std::span<const MeasuredError> errors, const RunSchema& schema);
std::string coverage_text(const Coverage& coverage);
nlohmann::ordered_json to_json(const Coverage& coverage);

}  // namespace orrery::study
