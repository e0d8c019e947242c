// SPDX-License-Identifier: MIT
// The answer of a calibration as a document.
#include <array>
#include <cmath>
#include <string_view>
#include <utility>

#include <nlohmann/json.hpp>

#include "study/calibrate/machine/stages.h"

namespace orrery::study {
namespace {

using Json = nlohmann::ordered_json;

std::string_view name_of(CalibratedFile file) { return file == CalibratedFile::kCluster ? "cluster" : "software"; }

std::string_view unit_name(ConstantUnit unit) {
  constexpr std::array<std::string_view, 5> kNames = {"", "", "s", "B/s", "B"};
  return kNames[static_cast<std::size_t>(unit)];
}

std::string_view size_name(MeasuredSizes sizes) {
  constexpr std::array<std::string_view, 3> kNames = {"", "B", "FLOP"};
  return kNames[static_cast<std::size_t>(sizes)];
}

Json fitted_json(const Finding& finding, const CalibratedConstant& constant) {
  Json item = {{"stage", finding.title},
               {"file", name_of(constant.file)},
               {"constant", constant.key},
               {"before", constant_text(constant.unit, constant.before)},
               {"after", constant_text(constant.unit, constant.after)},
               {"unit", unit_name(constant.unit)},
               {"before_value", constant.before},
               {"after_value", constant.after}};
  if (constant.low <= constant.high) {
    item["interval"] = interval_text(constant);
    item["low_value"] = constant.low;
    item["high_value"] = constant.high;
  }
  item["evidence"] = constant.evidence;
  if (!constant.remark.empty()) item["remark"] = constant.remark;
  return item;
}

Json unfitted_json(const Finding& finding, const CalibratedConstant& constant) {
  return {{"stage", finding.title},
          {"file", name_of(constant.file)},
          {"constant", constant.key},
          {"value", constant_text(constant.unit, constant.before)},
          {"reason", constant.stays}};
}

Json row_json(const Finding& finding, const CalibratedMeasurement& row) {
  Json item = {{"stage", finding.title}, {"group", row.group}, {"label", row.label}, {"source", row.source}};
  if (row.size > 0) item["size"] = row.size;
  item["measured_s"] = row.measured;
  item["before_s"] = row.before;
  item["after_s"] = row.after;
  if (row.held_out > 0) item["held_out_s"] = row.held_out;
  return item;
}

Json stage_json(const Finding& finding) {
  Json item = {{"stage", finding.title}, {"size_unit", size_name(finding.sizes)}, {"notes", finding.notes}};
  if (finding.parts.empty()) return item;
  Json parts = Json::array();
  for (const TimePart& part : finding.parts) {
    Json one = {{"part", part.name}};
    if (std::isfinite(part.predicted)) one["predicted_s"] = part.predicted;
    if (std::isfinite(part.measured)) one["measured_s"] = part.measured;
    if (!part.because.empty()) one["because"] = part.because;
    parts.push_back(std::move(one));
  }
  item["parts"] = std::move(parts);
  return item;
}

}  // namespace

Json calibration_json(const MachineCalibration& calibration) {
  Json files = Json::array(), stages = Json::array(), fitted = Json::array(), unfitted = Json::array(),
       rows = Json::array();
  for (const EvidenceFile& file : calibration.files)
    files.push_back({{"file", file.path}, {"kind", name_of(file.kind)}});
  for (const Finding& finding : calibration.findings) {
    stages.push_back(stage_json(finding));
    for (const CalibratedConstant& constant : finding.constants)
      constant.determined() ? fitted.push_back(fitted_json(finding, constant))
                            : unfitted.push_back(unfitted_json(finding, constant));
    for (const CalibratedMeasurement& row : finding.rows) rows.push_back(row_json(finding, row));
  }
  Json document = {{"schema", "orrery.calibration/2"}, {"cluster", calibration.cluster}};
  if (!calibration.software.empty()) document["software"] = calibration.software;
  document["files"] = std::move(files);
  document["stages"] = std::move(stages);
  document["fitted"] = std::move(fitted);
  document["unfitted"] = std::move(unfitted);
  document["rows"] = std::move(rows);
  return document;
}

report::Document calibration_document() {
  using enum report::KeyType;
  using report::maybe;
  const report::DocumentKeys parts = {{kText, "part", "\"products\", \"host\", \"not explained\""},
                                      maybe({kNumber, "predicted_s", ""}),
                                      maybe({kNumber, "measured_s", "by a profile"}),
                                      maybe({kText, "because", "what the measured one is known from"})};
  const report::DocumentKeys fitted = {{kText, "stage", ""},
                                       {kText, "file", "that has it: \"cluster\" or \"software\""},
                                       {kText, "constant", "its key in the file"},
                                       {kText, "before", "as the file writes it"},
                                       {kText, "after", ""},
                                       {kText, "unit", "of the values below: \"s\", \"B/s\", \"B\", or none"},
                                       {kNumber, "before_value", ""},
                                       {kNumber, "after_value", ""},
                                       maybe({kText, "interval", "that holds the true value in 95 % of calibrations"}),
                                       maybe({kNumber, "low_value", ""}),
                                       maybe({kNumber, "high_value", ""}),
                                       {kText, "evidence", "measurements that depend on it"},
                                       maybe({kText, "remark", "\"hard to tell apart from ...\", \"at its bound\""})};
  return {"orrery.calibration/2",
          "`calibrate --json`",
          "",
          {{kText, "cluster", ""},
           maybe({kText, "software", ""}),
           {kList, "files", "", {{kText, "file", ""}, {kText, "kind", "collectives, kernels, profile or steps"}}},
           {kList,
            "stages",
            "that had measurements",
            {{kText, "stage", ""},
             {kText, "size_unit", "of `rows[].size`: \"B\", \"FLOP\", or none"},
             {kTexts, "notes", ""},
             maybe({kList, "parts", "of a measured step", parts})}},
           {kList, "fitted", "constants that the measurements determine", fitted},
           {kList,
            "unfitted",
            "constants that stay",
            {{kText, "stage", ""},
             {kText, "file", ""},
             {kText, "constant", ""},
             {kText, "value", "at which it stays"},
             {kText, "reason", ""}}},
           {kList,
            "rows",
            "the measurements",
            {{kText, "stage", ""},
             {kText, "group", "that errors are summed up by"},
             {kText, "label", ""},
             {kText, "source", "file and line"},
             maybe({kNumber, "size", ""}),
             {kNumber, "measured_s", ""},
             {kNumber, "before_s", "predicted"},
             {kNumber, "after_s", "predicted with the constants found"},
             maybe({kNumber, "held_out_s", "by a fit that has not seen it"})}}}};
}

}  // namespace orrery::study
