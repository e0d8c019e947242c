// SPDX-License-Identifier: MIT
// The goodput of an experiment: its iteration is simulated, what fails and what checkpoints cost is in `reliability`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "core/config/tree.h"
#include "core/error.h"
#include "core/units.h"
#include "report/documents/documents.h"
#include "report/plot/picture.h"
#include "study/goodput/goodput.h"
#include "study/points/points.h"

namespace orrery::study {

// Goodput with a checkpoint every so many iterations.
struct IntervalGoodput {
  std::int64_t iterations = 0;
  double work = 0;         // seconds
  double goodput = 0;      // share of the time that is work
  double checkpoints = 0;  // share that writing takes, of checkpoints that were of use
  double failures = 0;     // share of restarts, and of what is lost and done again
  std::optional<SimulatedRuns> simulated;
  std::optional<double> simulated_goodput;
};

struct Goodput {
  std::string file;
  Duration iteration{};
  std::size_t ranks = 0, nodes = 0;
  std::string unit;                            // "device", "node" or "job": what `unit_mtbf` is of
  std::size_t units = 1;                       // of which any stops the job
  double unit_mtbf = 0;                        // seconds
  FailureModel model;                          // of the job
  std::optional<Bytes> checkpoint;             // of all ranks together; none of traces
  std::int64_t best = 0;                       // iterations
  IntervalGoodput taken;                       // as given, or the best
  std::vector<IntervalGoodput> intervals;      // around, ascending; with `taken`
  std::optional<double> tokens_per_iteration;  // samples where the model has no tokens
  bool has_tokens = true;
  std::optional<double> tokens;  // of the whole training
  std::int64_t iterations = 0;   // of it, or of 30 days of work
  double useful = 0;             // seconds of work in them
  std::vector<Problem> warnings;

  // Without failures and checkpoints, with them.
  std::optional<double> tokens_per_day() const;
  std::optional<double> effective_tokens_per_day() const;
};

struct GoodputRequest {
  std::string file;
  std::vector<std::string> settings;
  bool allow_oom = false;
};

// Throws InputError, also without `reliability`, and StuckError, also of a training that fails more often than it gets
// on. PointsMissing where the iteration has not been simulated.
Goodput find_goodput(const GoodputRequest& request, Points& points, const ConfigFiles& files);

std::string goodput_text(const Goodput& goodput);
// Goodput over the work between checkpoints.
report::Picture goodput_picture(const Goodput& goodput);
// The document "orrery.goodput/1".
nlohmann::ordered_json goodput_json(const Goodput& goodput);
report::Document goodput_document();

}  // namespace orrery::study
