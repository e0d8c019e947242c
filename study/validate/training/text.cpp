// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/config/number_text.h"
#include "core/config/quantity_text.h"
#include "report/table.h"
#include "study/validate/measured/output.h"
#include "study/validate/training/cross.h"
#include "workload/training/spec/software.h"

namespace orrery::study {
namespace {

using Json = nlohmann::ordered_json;

std::vector<ErrorColumn> job_columns() {
  return error_columns({"rows", "mean", "median", "p90", "worst", "at", "bias"});
}

std::string names_of(const MeasuredRows& rows) {
  return fmt::format("{}", fmt::join(software_of(MeasuredGroup{{}, rows}), ", "));
}

Json family_json(const MeasuredGroup& family) {
  const auto errors = errors_of(family.rows);
  Json error = to_json(errors);
  error["mean"] = errors->mean;
  error["bias"] = errors->bias;
  return {{"family", family.name},           {"collection", std::string(name_of(table_of(family).collection))},
          {"title", table_of(family).title}, {"software", software_of(family)},
          {"error", std::move(error)},       {"worst_at", worst_of(family.rows)->label}};
}

// Each family counts the same, however many rows it has.
struct OverallTrainingErrors {
  std::size_t families = 0, rows = 0;
  double mean = 0;    // of the families' means
  double median = 0;  // of their medians
};

OverallTrainingErrors overall_errors(std::span<const MeasuredGroup> families,
                                     std::optional<TrainingCollection> of = {}) {
  OverallTrainingErrors overall;
  std::vector<MeasuredGroup> counted;
  for (const MeasuredGroup& family : families) {
    if (of && table_of(family).collection != *of) continue;
    overall.mean += errors_of(family.rows)->mean;
    overall.rows += family.rows.size();
    counted.push_back(family);
  }
  overall.families = counted.size();
  if (overall.families > 0) overall.mean /= static_cast<double>(overall.families);
  if (const auto summary = errors_of_medians(counted)) overall.median = summary->median;
  return overall;
}

// Text for each collection with families, and for all if there are several.
template <class Line>
std::string for_each_collection(std::span<const MeasuredGroup> families, Line&& line) {
  std::string text;
  std::size_t collections = 0;
  for (std::size_t i = 0; i < kTrainingCollections.size(); ++i) {
    const auto collection = static_cast<TrainingCollection>(i);
    if (overall_errors(families, collection).families == 0) continue;
    text += line(fmt::format("{} collection", name_of(collection)), std::optional(collection));
    ++collections;
  }
  return collections == 1 ? line("all families", std::optional<TrainingCollection>())
                          : text + line("all families", std::optional<TrainingCollection>());
}

std::string families_text(std::span<const MeasuredGroup> families) {
  std::vector<ErrorColumn> columns = job_columns();
  columns.push_back({"software", names_of, report::Table::Align::kLeft, report::Interest::kDetail});
  ErrorTable text({"family"}, std::move(columns));
  for (const MeasuredGroup& family : families) text.row({table_of(family).title}, family.rows);
  return text.text();
}

std::string overall_text(std::span<const MeasuredGroup> families) {
  if (families.empty()) return {};
  return "\n" + for_each_collection(families, [&](const std::string& name, auto collection) {
           const OverallTrainingErrors overall = overall_errors(families, collection);
           return fmt::format("{} ({}, of {} rows): mean of their means {}, median of their medians {}\n", name,
                              overall.families, overall.rows, percent(overall.mean), percent(overall.median));
         });
}

std::string misses_text(std::span<const MeasuredGroup> families) {
  std::string text;
  for (const MeasuredGroup& family : families)
    for (const Measured& row : family.rows)
      if (const std::string& miss = table_of<TrainingTable>(row).rows[row.number].miss; !miss.empty())
        text += fmt::format("  {}, {} ({}): {}\n", row.table->name, row.label, signed_percent(row.error()), miss);
  return text.empty() ? text : "\nwhy rows are far off:\n" + text;
}

std::string not_fitted_text(std::span<const MeasuredGroup> families) {
  std::vector<std::string> titles;
  for (const MeasuredGroup& family : families)
    if (std::ranges::none_of(family.rows, [](const Measured& row) { return table_of<TrainingTable>(row).fit; }))
      titles.push_back(table_of(family).title);
  return titles.empty() ? std::string() : fmt::format("\nno constants are fitted to: {}\n", fmt::join(titles, "; "));
}

std::string not_scored_text(const TrainingValidation& validation) {
  std::string text;
  for (const MeasuredTable* table : validation.not_scored)
    text += fmt::format("  {}: {}\n", table->name, table->why_not);
  return text.empty() ? text : "\nnot scored:\n" + text;
}

std::string constants_text(const TrainingValidation& validation) {
  std::string text;
  for (const FittedSoftware& one : validation.software) {
    std::vector<std::string> constants;
    for (const workload::SoftwareConstant constant : one.constants)
      constants.push_back(
          fmt::format("{} {}", workload::name_of(constant),
                      workload::value_text(constant, workload::value_of(one.software, one.architecture, constant))));
    text += fmt::format("  {} on {} ({}): {}\n", one.software.name, name_of(one.architecture), constants.size(),
                        constants.empty() ? "none" : fmt::format("{}", fmt::join(constants, ", ")));
  }
  return text.empty() ? text : "\nfitted constants of the software (configs/software):\n" + text;
}

std::string rows_text(const MeasuredGroup& family) {
  report::Table text({"table", "row"}, {"measured", "predicted", "error", "MFU"}, {"bound by"});
  text.read_across();
  for (const Measured& row : family.rows)
    text.row({row.table->name, row.label, report::Cell::time(row.measured), report::Cell::time(row.predicted),
              signed_percent_number(row.error()), percent_number(row.facts["mfu"].get<double>()),
              row.facts["bound_by"].get<std::string>()});
  return text.text();
}

std::string assumptions_text(const MeasuredGroup& family) {
  std::string text;
  const MeasuredTable* last = nullptr;
  for (const Measured& row : family.rows) {
    if (row.table == last) continue;
    last = row.table;
    for (const auto& [key, why] : table_of<TrainingTable>(row).assumed)
      text += fmt::format("  assumed: {}, {}: {}\n", last->name, key, why);
  }
  return text;
}

std::string details_text(std::span<const MeasuredGroup> families) {
  std::string text = "\nEvery row: iteration times, error and MFU in %\n";
  for (const MeasuredGroup& family : families)
    text += fmt::format("\n{}\n\n{}{}", table_of(family).title, rows_text(family), assumptions_text(family));
  return text;
}

std::string constants_text(const TrainingCross& cross) {
  report::Table text({"software", "architecture", "constant"}, {"nominal", "shipped", "fitted to all"});
  for (std::size_t i = 0; i < cross.constants.size(); ++i) {
    const TrainingConstant& constant = cross.constants[i];
    text.row({constant.software, std::string(name_of(constant.architecture)),
              std::string(workload::name_of(constant.constant)),
              workload::value_text(constant.constant, constant.nominal),
              workload::value_text(constant.constant, constant.shipped),
              workload::value_text(constant.constant, cross.fitted[i])});
  }
  return text.text();
}

// The constants that a family runs with.
bool is_of(const TrainingConstant& constant, const MeasuredGroup& family) {
  const std::vector<std::string> names = software_of(family);
  return std::ranges::find(names, constant.software) != names.end();
}

std::string families_text(std::span<const MeasuredGroup> shipped, std::span<const MeasuredGroup> left_out) {
  std::vector<ErrorColumn> columns = job_columns();
  columns.push_back({"mean as shipped", [shipped](const MeasuredRows& rows) {
                       const auto same = std::ranges::find(shipped, rows.front().family, &MeasuredGroup::name);
                       return percent_number(errors_of(same->rows)->mean);
                     }});
  ErrorTable text({"family"}, std::move(columns));
  for (const MeasuredGroup& family : left_out) text.row({table_of(family).title}, family.rows);
  return text.text();
}

Json overall_json(std::span<const MeasuredGroup> families) {
  const OverallTrainingErrors overall = overall_errors(families);
  return {{"mean_of_means", overall.mean}, {"median_of_medians", overall.median}};
}

Json left_out_json(const TrainingCross& cross, const MeasuredGroup& family) {
  Json without = family_json(family);
  without["constants"] = Json::array();
  for (std::size_t i = 0; i < cross.constants.size(); ++i)
    if (is_of(cross.constants[i], family))
      without["constants"].push_back({{"software", cross.constants[i].software},
                                      {"architecture", std::string(name_of(cross.constants[i].architecture))},
                                      {"name", std::string(workload::name_of(cross.constants[i].constant))},
                                      {"value", cross.left_out.without(family.name)[i]}});
  without["rows"] = rows_json(family.rows, {"label", "table", "measured_s", "predicted_s"});
  return without;
}

// Rows of bytes.
Json memory_json(const MeasuredRows& rows) {
  Json list = Json::array();
  for (const Measured& row : rows)
    list.push_back({{"label", row.label},
                    {"table", row.table->name},
                    {"family", row.family},
                    {"measured_bytes", row.measured},
                    {"predicted_bytes", row.predicted},
                    {"error", row.error()}});
  return list;
}

}  // namespace

std::string training_validation_text(const TrainingValidation& validation, bool details) {
  const std::vector<MeasuredGroup> families = training_families(validation.rows);
  return fmt::format(
             "Error of predicted iteration times of training jobs against published ones, in %: |predicted / measured "
             "- 1|;\nthe bias is the {}\n\n",
             kBiasMeaning) +
         families_text(families) + overall_text(families) + (details ? details_text(families) : "") +
         not_fitted_text(families) + misses_text(families) + training_memory_text(validation, details) +
         not_scored_text(validation) + constants_text(validation);
}

Json to_json(const TrainingValidation& validation) {
  Json document = {{"families", Json::array()}, {"rows", Json::array()}};
  const std::vector<MeasuredGroup> families = training_families(validation.rows);
  for (const MeasuredGroup& family : families) {
    document["families"].push_back(family_json(family));
    for (const Measured& row : family.rows)
      document["rows"].push_back(
          row_json(row, {"label", "table", "family", "software", "measured_s", "predicted_s", "error", "mfu",
                         "bound_by", "fits_memory", "measured_memory_bytes", "predicted_memory_bytes"}));
  }
  document["overall"] = overall_json(families);
  document["constants"] = Json::array();
  for (const FittedSoftware& one : validation.software)
    for (const workload::SoftwareConstant constant : one.constants)
      document["constants"].push_back({{"software", one.software.name},
                                       {"architecture", std::string(name_of(one.architecture))},
                                       {"name", std::string(workload::name_of(constant))},
                                       {"value", workload::value_of(one.software, one.architecture, constant)}});
  document["memory_at_rest"] = memory_json(validation.at_rest);
  document["memory_at_peak"] = memory_json(validation.at_peak);
  document["not_scored"] = not_scored_json(validation.not_scored);
  return document;
}

std::string training_cross_text(const TrainingValidation& validation, const TrainingCross& cross,
                                const Coverage& coverage) {
  const std::vector<MeasuredGroup> shipped = training_families(validation.rows);
  const std::vector<MeasuredGroup> left_out = training_families(cross.left_out.rows);
  if (left_out.empty()) return {};
  const auto overall = [&](const std::string& name, auto collection) {
    const OverallTrainingErrors with = overall_errors(shipped, collection);
    const OverallTrainingErrors without = overall_errors(left_out, collection);
    return fmt::format(
        "one family left out, {} ({}): mean of their means {}, median of their medians {}; with the shipped "
        "constants {} and {}\n",
        name, without.families, percent(without.mean), percent(without.median), percent_number(with.mean),
        percent(with.median));
  };
  return "\nThe constants of the software, fitted to all families at once; those of one name on one architecture "
         "hold together, each kind of model by itself:\n\n" +
         constants_text(cross) + "\nEach family by constants fitted to the others:\n\n" +
         families_text(shipped, left_out) + "\n" + for_each_collection(left_out, overall) + coverage_text(coverage);
}

Json to_json(const TrainingCross& cross, const Coverage& coverage) {
  Json document = {{"constants", Json::array()}, {"left_out", Json::array()}};
  for (std::size_t i = 0; i < cross.constants.size(); ++i) {
    const TrainingConstant& constant = cross.constants[i];
    document["constants"].push_back({{"software", constant.software},
                                     {"architecture", std::string(name_of(constant.architecture))},
                                     {"name", std::string(workload::name_of(constant.constant))},
                                     {"nominal", constant.nominal},
                                     {"shipped", constant.shipped},
                                     {"fitted", cross.fitted[i]}});
  }
  const std::vector<MeasuredGroup> families = training_families(cross.left_out.rows);
  for (const MeasuredGroup& family : families) document["left_out"].push_back(left_out_json(cross, family));
  document["overall"] = overall_json(families);
  document["intervals"] = to_json(coverage);
  return document;
}

}  // namespace orrery::study
