// SPDX-License-Identifier: MIT
// Measured times and what is predicted of them: the rows that every kind of validation has, how they are predicted, by
// shipped constants or by those fitted to other rows, and how far off they are. A kind adds a reader, which gives rows,
// and a predictor of a row.
#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/in_parallel.h"
#include "study/errors.h"
#include "study/points/points.h"

namespace orrery::study {

// The part of a table of published measurements that all kinds have.
struct MeasuredTable {
  std::string name;      // no other table of its kind has it
  Location where;        // of the name
  std::string measured;  // the machine, in the words of the source
  std::string system;    // tables of one system share its name; empty where no systems are told apart
  bool scored = true;
  std::string why_not;  // if not scored
};

struct Measured {
  const MeasuredTable* table = nullptr;
  std::size_t number = 0;  // of its row of the table, from 0
  std::string family{};    // rows of one family are summed up together
  std::string label{};     // what was measured: a job, a size, a shape
  Location where{};        // of the row
  double measured = 0;     // seconds; above 0 when all is predicted
  double predicted = 0;    // seconds
  bool scored = true;      // whether its error counts
  std::string same{};      // rows with the same text here have the same prediction; empty: it has its own
  nlohmann::ordered_json facts = nlohmann::ordered_json::object();  // what else is known, by its key in documents

  double error() const { return predicted / measured - 1; }  // signed
};

using MeasuredRows = std::vector<Measured>;

// The table of a row of a kind whose tables are of this type.
template <class Table>
const Table& table_of(const Measured& row) {
  return static_cast<const Table&>(*row.table);
}

struct MeasuredGroup {
  std::string name;
  MeasuredRows rows;  // at least one
};

// In the order of their first rows.
std::vector<MeasuredGroup> grouped(const MeasuredRows& rows,
                                   const std::function<std::string(const Measured&)>& name_of);
// The rows of which this holds.
MeasuredRows rows_where(const MeasuredRows& rows, const std::function<bool(const Measured&)>& holds);

// Errors of the rows that count; empty if none does.
std::optional<ErrorSummary> errors_of(const MeasuredRows& rows);
// The row that counts and is farthest off, the first of equals; null without any.
const Measured* worst_of(const MeasuredRows& rows);
// Each group counts the same, however many rows it has; those in which nothing counts are left out.
std::optional<ErrorSummary> errors_of_medians(std::span<const MeasuredGroup> groups);

// First row, for each, of those that have the same prediction.
std::vector<std::size_t> first_alike(const MeasuredRows& rows);
// The places of which first_alike() gives themselves, ascending.
std::vector<std::size_t> each_once(std::span<const std::size_t> first);

struct Prediction {
  double seconds = 0;
  std::optional<double> measured{};  // seconds, where only the experiment tells what a published rate comes to
  // Further facts on a row, added to its document.
  nlohmann::ordered_json facts = nlohmann::ordered_json::object();
};

// Predicts by place among the rows; has to give the same on every call, and may be called on several threads at once.
using Predictor = std::function<Prediction(std::size_t row)>;

// Predicts all rows, several at a time; of those that have the same prediction only the first is worked out. What the
// first row throws comes out.
void predict_rows(MeasuredRows& rows, const Predictor& predict, const WorkProgress& progress = {});

// A row that is predicted as a point of a study (study/points/points.h).
class RowPoint {
 public:
  RowPoint(Points::Ask& ask, Prediction& prediction) : ask_(ask), prediction_(prediction) {}

  // Takes the prediction that is kept, or that of `predict`. `key` stands for all that it depends on, and is asked for
  // where predictions are kept.
  void answer(const std::function<std::string()>& key, const std::function<Prediction()>& predict) const;
  // For the simulation, which ends with the study.
  experiment::RunProgress progress() const { return ask_.progress(); }

 private:
  Points::Ask& ask_;
  Prediction& prediction_;
};

// Predicts all rows as points, `what` they are called: the function calls answer() of the row's point. Without `points`
// they are predicted here and kept nowhere. Throws PointsMissing.
void predict_rows(MeasuredRows& rows, const std::function<void(std::size_t row, const RowPoint& point)>& predict,
                  Points* points, std::string_view what);

// Rows of groups that were left out of a fit, each predicted by the constants that the other groups give.
template <class Constants>
struct LeftOut {
  std::vector<std::string> names;    // of the groups, ascending
  std::vector<Constants> constants;  // by group
  MeasuredRows rows;                 // in the order in which they were given

  const Constants& without(const std::string& name) const {
    const auto found = std::ranges::lower_bound(names, name);
    return constants[static_cast<std::size_t>(found - names.begin())];
  }
};

// Leaves out each group in turn: `fit` gives the constants without the rows of one, `predict` the prediction of a row
// by such constants. Both are called on several threads at once. `progress` is told of the fits, then of the
// predictions.
template <class Constants>
LeftOut<Constants> leave_one_out(MeasuredRows rows, const std::function<std::string(const Measured&)>& name_of,
                                 const std::function<Constants(const std::string& without)>& fit,
                                 const std::function<Prediction(std::size_t row, const Constants&)>& predict,
                                 const WorkProgress& progress_of_fits = {}, const WorkProgress& progress_of_rows = {}) {
  LeftOut<Constants> left{{}, {}, std::move(rows)};
  std::set<std::string> names;
  for (const Measured& row : left.rows) names.insert(name_of(row));
  left.names.assign(names.begin(), names.end());
  left.constants.resize(left.names.size());
  in_parallel(
      left.names.size(), hardware_threads(), [&](std::size_t i) { left.constants[i] = fit(left.names[i]); },
      progress_of_fits);
  predict_rows(
      left.rows, [&](std::size_t row) { return predict(row, left.without(name_of(left.rows[row]))); },
      progress_of_rows);
  return left;
}

}  // namespace orrery::study
