// SPDX-License-Identifier: MIT
// The answer of a calibration as text.
#include <algorithm>
#include <cmath>
#include <optional>
#include <set>
#include <string_view>

#include <fmt/format.h>

#include "core/config/number_text.h"
#include "core/config/quantity_text.h"
#include "report/table.h"
#include "study/calibrate/machine/stages.h"
#include "study/calibrate/steps.h"
#include "study/errors.h"
#include "study/fit/confidence.h"

namespace orrery::study {
namespace {

using report::Cell;
using report::Table;

constexpr int kBoundDigits = 3;
constexpr double kExact = 1e-3;
// Groups of fewer rows are not divided by size.
constexpr std::size_t kFewToDivide = 6;

// The keys' common beginning, up to a dot: "nccl.".
std::string prefix_of(const std::vector<CalibratedConstant>& constants) {
  if (constants.size() < 2) return {};
  std::string prefix = constants.front().key;
  for (const CalibratedConstant& constant : constants) {
    const auto [end, other] = std::ranges::mismatch(prefix, constant.key);
    prefix.erase(end, prefix.end());
  }
  const std::size_t dot = prefix.rfind('.');
  return dot == std::string::npos ? "" : prefix.substr(0, dot + 1);
}

std::string below(std::string_view heading, const std::string& prefix) {
  return prefix.empty() ? std::string(heading)
                        : fmt::format("{}: {}", heading, std::string_view(prefix).substr(0, prefix.size() - 1));
}

// "17 rows" of "17 rows of all_reduce.log": the notes name the files.
std::string short_evidence(const std::string& evidence) { return evidence.substr(0, evidence.find(" of ")); }

std::string dash(std::string text) { return text.empty() ? "-" : std::move(text); }

std::string determined_text(const Finding& finding, const std::string& prefix) {
  Table table({below("determined", prefix)}, {"before", "after", "95 % interval"}, {"evidence"});
  std::string remarks;
  bool any = false;
  for (const CalibratedConstant& constant : finding.constants) {
    if (!constant.determined()) continue;
    any = true;
    const std::string name = constant.key.substr(prefix.size());
    table.row({name, constant_text(constant.unit, constant.before), constant_text(constant.unit, constant.after),
               dash(interval_text(constant)), short_evidence(constant.evidence)});
    if (!constant.remark.empty()) remarks += report::wrapped(fmt::format("{}: {}", name, constant.remark));
  }
  return any ? "\n" + table.text() + remarks : "";
}

// The reason of a constant of which it is long goes on below itself.
std::string undetermined_text(const Finding& finding, const std::string& prefix) {
  const std::string heading = below("not determined", prefix);
  Table table({heading}, {"stays at"}, {"because"});
  std::size_t wide = heading.size(), wide_value = std::string_view("stays at").size();
  std::vector<std::array<std::string, 3>> rows;
  for (const CalibratedConstant& constant : finding.constants) {
    if (constant.determined()) continue;
    rows.push_back({constant.key.substr(prefix.size()), constant_text(constant.unit, constant.before), constant.stays});
    wide = std::max(wide, rows.back()[0].size());
    wide_value = std::max(wide_value, rows.back()[1].size());
    table.row({rows.back()[0], rows.back()[1], rows.back()[2]});
  }
  if (rows.empty()) return {};
  if (report::table_format() != report::TableFormat::kText) return "\n" + table.text();
  std::string text = fmt::format("\n  {:<{}}  {:>{}}  because\n", heading, wide, "stays at", wide_value);
  for (const auto& [key, value, reason] : rows) {
    report::Wrapping wrapping;
    wrapping.first = fmt::format("  {:<{}}  {:>{}}  ", key, wide, value, wide_value);
    wrapping.next = std::string(wrapping.first.size(), ' ');
    text += report::wrapped(reason, wrapping);
  }
  return text;
}

using Rows = std::vector<const CalibratedMeasurement*>;
using Predicted = double CalibratedMeasurement::*;

std::optional<ErrorSummary> error_of(const Rows& rows, Predicted predicted) {
  std::vector<double> errors;
  for (const CalibratedMeasurement* row : rows)
    if (row->*predicted > 0) errors.push_back(row->*predicted / row->measured - 1);
  return summary_of(std::move(errors));
}

void add_errors(const std::string& name, const Rows& rows, bool held_out, Table& table) {
  if (rows.empty()) return;
  std::vector<std::string> cells = {name, fmt::format("{}", rows.size())};
  const auto add = [&](Predicted predicted) {
    const auto error = error_of(rows, predicted);
    cells.push_back(error ? percent(error->median) : "-");
    cells.push_back(error ? percent(error->ninetieth) : "-");
  };
  add(&CalibratedMeasurement::before);
  add(&CalibratedMeasurement::after);
  if (held_out) add(&CalibratedMeasurement::held_out);
  table.row(std::move(cells));
}

// Adds rows by bands of bytes; of kernels by thirds of their FLOPs.
void add_by_size(const Finding& finding, Rows rows, bool held_out, Table& table) {
  if (finding.sizes == MeasuredSizes::kNone || rows.size() < kFewToDivide) return;
  if (finding.sizes == MeasuredSizes::kBytes) {
    for (const SizeBand band : kAllSizeBands) {
      Rows in_band;
      for (const CalibratedMeasurement* row : rows)
        if (band_of(Bytes(std::llround(row->size))) == band) in_band.push_back(row);
      add_errors(fmt::format("  {}", name_of(band)), in_band, held_out, table);
    }
    return;
  }
  std::ranges::stable_sort(rows, {}, &CalibratedMeasurement::size);
  if (rows.front()->size == rows.back()->size) return;
  const std::size_t third = (rows.size() + 2) / 3;
  const char* const names[] = {"  smallest third", "  middle third", "  largest third"};
  for (std::size_t i = 0; i < 3 && i * third < rows.size(); ++i) {
    const auto begin = rows.begin() + static_cast<std::ptrdiff_t>(i * third);
    const auto end = rows.begin() + static_cast<std::ptrdiff_t>(std::min(rows.size(), (i + 1) * third));
    add_errors(names[i], Rows(begin, end), held_out, table);
  }
}

std::vector<std::string> groups_of(const Finding& finding) {
  std::vector<std::string> groups;
  for (const CalibratedMeasurement& row : finding.rows)
    if (std::ranges::find(groups, row.group) == groups.end()) groups.push_back(row.group);
  return groups;
}

std::string errors_text(const Finding& finding) {
  if (finding.rows.empty()) return {};
  const bool held_out = std::ranges::any_of(finding.rows, [](const auto& row) { return row.held_out > 0; });
  Table table({"error"}, {"rows", "before", "p90", "after", "p90"});
  if (held_out)
    for (const char* column : {"held out", "p90"}) table.column(column);
  Rows all;
  for (const CalibratedMeasurement& row : finding.rows) all.push_back(&row);
  const std::vector<std::string> groups = groups_of(finding);
  if (groups.size() > 1) add_errors("all", all, held_out, table);
  for (const std::string& group : groups) {
    Rows rows;
    std::ranges::copy_if(all, std::back_inserter(rows), [&](const auto* row) { return row->group == group; });
    add_errors(group, rows, held_out, table);
    add_by_size(finding, std::move(rows), held_out, table);
  }
  std::string text = "\n" + table.text();
  text += report::wrapped("median and 90th percentile of |predicted / measured - 1|");
  if (held_out)
    text += report::wrapped("held out: each half of the rows, taken alternately, by a fit to the other half");
  return text;
}

std::string details_text(const Finding& finding) {
  if (finding.rows.empty()) return {};
  Table table({"measurement", "of"}, {"measured", "before", "error", "after", "error"});
  table.read_across();
  const auto error = [](double predicted, double measured) { return signed_percent(predicted / measured - 1); };
  for (const CalibratedMeasurement& row : finding.rows)
    table.row({row.label, row.group, Cell::time(row.measured), Cell::time(row.before), error(row.before, row.measured),
               Cell::time(row.after), error(row.after, row.measured)});
  return "\n" + table.text();
}

std::string finding_text(const Finding& finding, bool details) {
  std::string text = "\n" + finding.title + "\n";
  for (const std::string& note : finding.notes) text += report::wrapped(note);
  const std::string prefix = prefix_of(finding.constants);
  text += determined_text(finding, prefix) + undetermined_text(finding, prefix);
  if (!finding.parts.empty()) text += "\n" + parts_text(finding.parts);
  text += errors_text(finding);
  return details ? text + details_text(finding) : text;
}

}  // namespace

std::string interval_text(const CalibratedConstant& constant) {
  if (!(constant.low <= constant.high)) return {};
  if (constant.after > 0 && constant.high - constant.low < 2 * kExact * constant.after) return "within 0.1 %";
  const auto text_of = [&](double bound) {
    return constant_text(constant.unit, rounded_to_digits(bound, kBoundDigits));
  };
  std::string low = text_of(constant.low);
  const std::string high = text_of(constant.high);
  const std::size_t unit = high.find(' ');
  if (unit != std::string::npos && low.ends_with(std::string_view(high).substr(unit)))
    low.erase(low.size() - (high.size() - unit));
  return fmt::format("{} to {}", low, high);
}

std::string calibration_text(const MachineCalibration& calibration, bool details) {
  std::set<EvidenceKind> kinds;
  std::string text = printable(calibration.cluster);
  if (!calibration.software.empty()) text += " with " + printable(calibration.software);
  std::string files;
  for (const EvidenceFile& file : calibration.files)
    files +=
        fmt::format("{}{} ({})", files.empty() ? ", calibrated to " : ", ", printable(file.path), name_of(file.kind));
  text = report::wrapped(text + files, {.first = "", .next = "  "});
  for (const Finding& finding : calibration.findings) text += finding_text(finding, details);
  return text;
}

}  // namespace orrery::study
