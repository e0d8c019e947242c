// SPDX-License-Identifier: MIT
// A point of a study: one variant of an experiment, and what its simulation gave.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "core/error.h"
#include "report/figures.h"
#include "report/result.h"

namespace orrery::study {

// Figures of a result that studies compare and keep.
struct PointFigures {
  Duration iteration_time{};
  report::FigureValues values;           // all that the table of figures declares
  std::vector<report::JobFigures> jobs;  // if there are several
  std::vector<report::Part> parts;       // of an iteration, mean over ranks, largest first
  report::LinkShares links;
  std::size_t ranks = 0;
  std::uint32_t devices = 0;  // of the cluster, used or not
  std::string device{};       // name
  std::string job{};          // of an only job: its model, software and kind of attention; or its collective and size
  bool computes_as_measured = false;
};

PointFigures figures_of(const report::Result& result);

// A point either ran, was refused as an experiment, or is stuck.
struct Point {
  std::optional<PointFigures> figures{};
  std::vector<Problem> refusal{};
  std::string stuck{};  // the report; with the first rank that waits, where one is known
  std::optional<std::uint32_t> stuck_rank{};
  std::string stuck_node{};
  std::vector<Problem> warnings{};

  bool ran() const { return figures.has_value(); }
  bool is_stuck() const { return !stuck.empty(); }
  bool was_begun() const { return ran() || is_stuck() || !refusal.empty(); }
};

// Throws InputError or StuckError of a point that did not run.
void throw_unless_ran(const Point& point);

// A point as it is kept (study/points/store.h), and back. point_of() throws where something is missing.
nlohmann::ordered_json to_json(const Point& point);
Point point_of(const nlohmann::ordered_json& json);

}  // namespace orrery::study
