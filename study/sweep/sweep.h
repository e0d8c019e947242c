// SPDX-License-Identifier: MIT
// Runs of all points of a sweep (study/sweep/file.h), several at a time, and what is told of them. Answers do not
// depend on how many run at a time.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "report/parts.h"
#include "report/result.h"
#include "study/sweep/file.h"

namespace orrery::study {

// What is kept of a result.
struct SweepFigures {
  Duration iteration_time{};
  std::optional<report::TrainingFigures> training;  // of an only job
  std::optional<report::CallFigures> call;          // likewise
  std::vector<report::JobFigures> jobs;             // if there are several
  std::vector<report::Part> parts;                  // of an iteration, mean over ranks, largest first
  // Utilisation of the busiest link of each class, without its direction, of those in use; the most utilised first.
  std::vector<std::pair<std::string, double>> links;
};

// A point either ran, was refused as an experiment, or is stuck.
struct SweepPoint {
  std::optional<SweepFigures> figures;
  std::vector<Problem> refusal;
  std::string stuck;  // the report
  std::vector<Problem> warnings;

  bool ran() const { return figures.has_value(); }
  bool is_stuck() const { return !stuck.empty(); }
  bool was_begun() const { return ran() || is_stuck() || !refusal.empty(); }
};

class PointStore;

struct SweepOptions {
  unsigned jobs = 1;  // points at a time, at least 1
  bool allow_oom = false;
  PointStore* store = nullptr;  // has results from before, and gets those of now
  bool only_known = false;      // simulates nothing: points without a result are not begun
  // Of the points, the ones whose number leaves `part` when divided by `parts`.
  std::size_t part = 0;
  std::size_t parts = 1;
  // Whether to begin no further point; asked by any thread.
  std::function<bool()> is_stopped{};
};

// Called one point at a time, in no particular order, as points end. `result` is the document of its run; null of one
// that did not run.
using PointDone = std::function<void(std::size_t point, const SweepPoint& found, const nlohmann::ordered_json& result)>;

// All points, in order; empty ones that were not begun. What is wrong with a point is in it; nothing is thrown but what
// `done` and the store throw, after which no further point is begun.
std::vector<SweepPoint> run_sweep(const Sweep& sweep, const SweepOptions& options, const ConfigFiles& files,
                                  const PointDone& done = {});

// What the point's result is kept under (study/sweep/store.h); nothing of a point whose experiment is refused, which
// then has the reason in `refused`.
std::string key_of_point(const Sweep& sweep, std::size_t point, const SweepOptions& options, const ConfigFiles& files,
                         SweepPoint& refused);

// Reads the experiment of every point, and whether it fits the devices' memory, without running it.
std::vector<SweepPoint> check_points(const Sweep& sweep, const SweepOptions& options, const ConfigFiles& files);

// Why a point did not run, on one line; empty of one that did.
std::string reason_of(const SweepPoint& point);

// What is wrong with points, once each, and with which.
std::vector<Problem> refusals_of(const Sweep& sweep, std::span<const SweepPoint> points);

// The values of axes that no point of theirs can be simulated with, however much memory there were: an error each,
// where the value stands.
std::vector<Problem> refused_values(const Sweep& sweep, std::span<const SweepPoint> points);

// What is wrong with the other points: a warning each, on one line.
std::vector<Problem> refused_combinations(const Sweep& sweep, std::span<const SweepPoint> points);

// Throws what is wrong as InputError if no point ran and none is stuck.
void refuse_if_all_refused(const Sweep& sweep, std::span<const SweepPoint> points);

// Warnings of points, once each, and of which points unless it is all.
std::vector<Problem> warnings_of(const Sweep& sweep, std::span<const SweepPoint> points);

// Neighbouring values of an axis with which points take equally long: a warning each, with the reason. Without results
// (of check_points()) those that the configuration itself says nothing follows from.
std::vector<Problem> equal_values(const Sweep& sweep, std::span<const SweepPoint> points, const ConfigFiles& files);

// A line for each combination of the axes that are not compared.
std::string sweep_text(const Sweep& sweep, std::span<const SweepPoint> points);
// A line for each point.
std::string sweep_csv(const Sweep& sweep, std::span<const SweepPoint> points);
// The same as a data base of SQLite, table `points`: its bytes.
std::string sweep_sqlite(const Sweep& sweep, std::span<const SweepPoint> points);
// A JSON object for each point, of the document "orrery.sweep/1".
std::string sweep_json_lines(const nlohmann::ordered_json& document);
// The document "orrery.sweep/1".
nlohmann::ordered_json sweep_json(const Sweep& sweep, std::span<const SweepPoint> points);

}  // namespace orrery::study
