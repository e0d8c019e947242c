// SPDX-License-Identifier: MIT
#include "study/validate/measured/measured.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>

namespace orrery::study {
namespace {

using Json = nlohmann::ordered_json;

Json to_json(const Prediction& prediction) {
  Json json = {{"seconds", prediction.seconds}, {"facts", prediction.facts}};
  if (prediction.measured) json["measured"] = *prediction.measured;
  return json;
}

Prediction prediction_of(const Json& json) {
  Prediction prediction{json.at("seconds"), {}, json.at("facts")};
  if (json.contains("measured")) prediction.measured = json["measured"].get<double>();
  return prediction;
}

// `predictions` by row; only those of the first of several that are alike are looked at.
void take_predictions(MeasuredRows& rows, std::span<const std::size_t> first,
                      std::span<const Prediction> predictions) {
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const Prediction& prediction = predictions[first[i]];
    rows[i].predicted = prediction.seconds;
    rows[i].measured = prediction.measured.value_or(rows[i].measured);
    rows[i].facts.update(prediction.facts);
  }
}

}  // namespace

std::vector<MeasuredGroup> grouped(const MeasuredRows& rows,
                                   const std::function<std::string(const Measured&)>& name_of) {
  std::vector<MeasuredGroup> groups;
  std::map<std::string, std::size_t> places;
  for (const Measured& row : rows) {
    const std::string name = name_of(row);
    const auto [place, is_new] = places.try_emplace(name, groups.size());
    if (is_new) groups.push_back({name, {}});
    groups[place->second].rows.push_back(row);
  }
  return groups;
}

MeasuredRows rows_where(const MeasuredRows& rows, const std::function<bool(const Measured&)>& holds) {
  MeasuredRows found;
  std::ranges::copy_if(rows, std::back_inserter(found), holds);
  return found;
}

std::optional<ErrorSummary> errors_of(const MeasuredRows& rows) {
  std::vector<double> errors;
  for (const Measured& row : rows)
    if (row.scored) errors.push_back(row.error());
  return summary_of(std::move(errors));
}

const Measured* worst_of(const MeasuredRows& rows) {
  const Measured* worst = nullptr;
  for (const Measured& row : rows)
    if (row.scored && (worst == nullptr || std::abs(row.error()) > std::abs(worst->error()))) worst = &row;
  return worst;
}

std::optional<ErrorSummary> errors_of_medians(std::span<const MeasuredGroup> groups) {
  std::vector<double> medians;
  for (const MeasuredGroup& group : groups)
    if (const auto errors = errors_of(group.rows)) medians.push_back(errors->median);
  return summary_of(std::move(medians));
}

std::vector<std::size_t> first_alike(const MeasuredRows& rows) {
  std::map<std::string, std::size_t> known;
  std::vector<std::size_t> first;
  for (std::size_t i = 0; i < rows.size(); ++i)
    first.push_back(rows[i].same.empty() ? i : known.try_emplace(rows[i].same, i).first->second);
  return first;
}

std::vector<std::size_t> each_once(std::span<const std::size_t> first) {
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < first.size(); ++i)
    if (first[i] == i) places.push_back(i);
  return places;
}

void predict_rows(MeasuredRows& rows, const Predictor& predict, const WorkProgress& progress) {
  const std::vector<std::size_t> first = first_alike(rows), distinct = each_once(first);
  std::vector<Prediction> predictions(rows.size());
  in_parallel(
      distinct.size(), hardware_threads(), [&](std::size_t i) { predictions[distinct[i]] = predict(distinct[i]); },
      progress);
  take_predictions(rows, first, predictions);
}

void RowPoint::answer(const std::function<std::string()>& key, const std::function<Prediction()>& predict) const {
  ask_.answer(
      ask_.is_kept() ? key() : std::string(), [&] { return to_json(predict()); },
      [&](const Json& answer) { prediction_ = prediction_of(answer); });
}

void predict_rows(MeasuredRows& rows, const std::function<void(std::size_t row, const RowPoint& point)>& predict,
                  Points* points, std::string_view what) {
  const std::vector<std::size_t> first = first_alike(rows), distinct = each_once(first);
  std::vector<Prediction> predictions(rows.size());
  Points here({.jobs = hardware_threads()});
  (points != nullptr ? *points : here).take_all(what, distinct.size(), [&](std::size_t i, Points::Ask& ask) {
    predict(distinct[i], RowPoint(ask, predictions[distinct[i]]));
  });
  take_predictions(rows, first, predictions);
}

}  // namespace orrery::study
