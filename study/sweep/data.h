// SPDX-License-Identifier: MIT
// The figures of a sweep's points by name, as points.csv has them.
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "study/constraint.h"
#include "study/sweep/sweep.h"

namespace orrery::study {

// Figures of a point that ran: "iteration_time_s", "exposed_tensor_s", "bound_by", ...
std::map<std::string, NamedValue> figures_of(const SweepPoint& point);

// True if points.csv may have a column of this name; and the columns that most have, beside which there are kinds of
// communication ("exposed_tensor_s") and jobs ("time_alone_a_s").
bool is_point_column(std::string_view name);
std::vector<std::string> point_columns();

// A line for each point that was begun; null where it has nothing.
struct PointTable {
  std::vector<std::string> columns;
  std::vector<std::vector<nlohmann::ordered_json>> rows;
};
PointTable point_table(const Sweep& sweep, std::span<const SweepPoint> points);

}  // namespace orrery::study
