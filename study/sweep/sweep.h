// SPDX-License-Identifier: MIT
// All points of a sweep (study/sweep/file.h), and what is told of them.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "report/documents/documents.h"
#include "study/points/points.h"
#include "study/sweep/file.h"

namespace orrery::study {

using SweepFigures = PointFigures;
using SweepPoint = Point;

// Called one point at a time, in no particular order, as points end. `result` is the document of its run; null of one
// that did not run.
using PointDone = std::function<void(std::size_t point, const SweepPoint& found, const nlohmann::ordered_json& result)>;

// All points, in order; those without an answer now are empty. What is wrong with a point is in it; nothing is thrown
// but what `done` and the store throw, after which no further point is begun.
std::vector<SweepPoint> run_sweep(const Sweep& sweep, bool allow_oom, Points& points, const ConfigFiles& files,
                                  const PointDone& done = {});

// Reads the experiment of every point, so many at a time, and whether it fits the devices' memory, without running it.
std::vector<SweepPoint> check_points(const Sweep& sweep, unsigned jobs, bool allow_oom, const ConfigFiles& files);

// Reason why a point did not run, on one line; empty if it ran.
std::string reason_of(const SweepPoint& point);

// Problems of points, each once, with the points that have it.
std::vector<Problem> refusals_of(const Sweep& sweep, std::span<const SweepPoint> points);

// The values of axes that no point of theirs can be simulated with, however much memory there were: an error each,
// where the value stands.
std::vector<Problem> refused_values(const Sweep& sweep, std::span<const SweepPoint> points);

// Problems of the other points: a warning each, on one line.
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
report::Document sweep_document();

}  // namespace orrery::study
