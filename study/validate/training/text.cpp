// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/config/quantity_text.h"
#include "report/table.h"
#include "study/errors.h"
#include "study/validate/training/cross.h"
#include "workload/training/spec/software.h"

namespace orrery::study {
namespace {

using Json = nlohmann::ordered_json;

std::string time_text(double time) { return rounded(Duration(std::llround(time * 1e12))); }

// Those of training_cells().
void training_columns(report::Table& text) {
  text.column("family", report::Table::Align::kLeft);
  for (const char* heading : {"rows", "mean", "median", "p90", "worst"}) text.column(heading);
  text.column("at", report::Table::Align::kLeft);
  text.column("bias");
}

std::vector<std::string> training_cells(const ValidatedTrainingFamily& family) {
  const TrainingErrors errors = family.errors();
  const ValidatedTrainingRow& worst = family.worst();
  const auto percent = [](double share) { return fmt::format("{:.1f}", 100 * share); };
  return {family.title,
          fmt::format("{}", errors.absolute.rows),
          percent(errors.mean),
          percent(errors.absolute.median),
          percent(errors.absolute.ninetieth),
          fmt::format("{:+.1f}", 100 * worst.error()),
          worst.row->label,
          fmt::format("{:+.1f}", 100 * errors.signed_mean)};
}

Json to_json(const ValidatedTrainingFamily& family) {
  const TrainingErrors errors = family.errors();
  Json error = to_json(std::optional(errors.absolute));
  error["mean"] = errors.mean;
  error["signed_mean"] = errors.signed_mean;
  return {{"family", family.name},
          {"collection", std::string(kTrainingCollections[static_cast<std::size_t>(family.collection())])},
          {"title", family.title},
          {"software", family.software()},
          {"error", std::move(error)},
          {"worst_at", family.worst().row->label}};
}

// Each family counts the same, however many rows it has.
struct OverallTrainingErrors {
  std::size_t families = 0, rows = 0;
  double mean = 0;    // of the families' means
  double median = 0;  // of their medians
};

OverallTrainingErrors overall_errors(std::span<const ValidatedTrainingFamily> families,
                                     std::optional<TrainingCollection> of = {}) {
  OverallTrainingErrors overall;
  std::vector<double> medians;
  for (const ValidatedTrainingFamily& family : families) {
    if (of && family.collection() != *of) continue;
    const TrainingErrors errors = family.errors();
    overall.mean += errors.mean;
    overall.rows += family.rows.size();
    medians.push_back(errors.absolute.median);
  }
  overall.families = medians.size();
  if (overall.families > 0) overall.mean /= static_cast<double>(overall.families);
  if (const auto summary = summary_of(std::move(medians))) overall.median = summary->median;
  return overall;
}

// What stands of each collection under its families.
std::string collection_name(TrainingCollection collection) {
  return fmt::format("{} collection", kTrainingCollections[static_cast<std::size_t>(collection)]);
}

// Of both collections that have any, and of all where there are two.
template <class Line>
std::string for_each_collection(std::span<const ValidatedTrainingFamily> families, Line&& line) {
  std::string text;
  std::size_t collections = 0;
  for (const TrainingCollection collection : {TrainingCollection::kFirst, TrainingCollection::kSecond}) {
    if (overall_errors(families, collection).families == 0) continue;
    text += line(collection_name(collection), std::optional(collection));
    ++collections;
  }
  return collections == 1 ? line("all families", std::optional<TrainingCollection>())
                          : text + line("all families", std::optional<TrainingCollection>());
}

std::string families_text(const TrainingValidation& validation) {
  report::Table text;
  training_columns(text);
  text.column("software", report::Table::Align::kLeft);
  for (const ValidatedTrainingFamily& family : validation.families) {
    std::vector<std::string> cells = training_cells(family);
    cells.push_back(fmt::format("{}", fmt::join(family.software(), ", ")));
    text.row(std::move(cells));
  }
  return text.text();
}

std::string overall_text(const TrainingValidation& validation) {
  if (validation.families.empty()) return {};
  return "\n" + for_each_collection(validation.families, [&](const std::string& name, auto collection) {
           const OverallTrainingErrors overall = overall_errors(validation.families, collection);
           return fmt::format("{} ({}, of {} rows): mean of their means {:.1f} %, median of their medians {:.1f} %\n",
                              name, overall.families, overall.rows, 100 * overall.mean, 100 * overall.median);
         });
}

std::string misses_text(const TrainingValidation& validation) {
  std::string text;
  for (const ValidatedTrainingFamily& family : validation.families)
    for (const ValidatedTrainingRow& row : family.rows)
      if (!row.row->miss.empty())
        text += fmt::format("  {}, {} ({:+.1f} %): {}\n", row.table->name, row.row->label, 100 * row.error(),
                            row.row->miss);
  return text.empty() ? text : "\nwhy rows are far off:\n" + text;
}

std::string not_fitted_text(const TrainingValidation& validation) {
  std::vector<std::string> titles;
  for (const ValidatedTrainingFamily& family : validation.families)
    if (std::ranges::none_of(family.rows, [](const ValidatedTrainingRow& row) { return row.table->fit; }))
      titles.push_back(family.title);
  return titles.empty() ? std::string() : fmt::format("\nno constants are fitted to: {}\n", fmt::join(titles, "; "));
}

std::string not_scored_text(const TrainingValidation& validation) {
  std::string text;
  for (const TrainingTable* table : validation.not_scored)
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

std::string rows_text(const ValidatedTrainingFamily& family) {
  report::Table text;
  for (const char* heading : {"table", "row"}) text.column(heading, report::Table::Align::kLeft);
  for (const char* heading : {"measured", "predicted", "error", "MFU"}) text.column(heading);
  text.column("mostly", report::Table::Align::kLeft);
  for (const ValidatedTrainingRow& row : family.rows)
    text.row({row.table->name, row.row->label, time_text(row.measured), time_text(row.predicted.seconds),
              fmt::format("{:+.1f}", 100 * row.error()), fmt::format("{:.1f}", 100 * row.predicted.mfu),
              row.predicted.bound});
  return text.text();
}

std::string assumptions_text(const ValidatedTrainingFamily& family) {
  std::string text;
  const TrainingTable* last = nullptr;
  for (const ValidatedTrainingRow& row : family.rows) {
    if (row.table == last) continue;
    last = row.table;
    for (const auto& [key, why] : last->assumed) text += fmt::format("  assumed: {}, {}: {}\n", last->name, key, why);
  }
  return text;
}

std::string details_text(const TrainingValidation& validation) {
  std::string text = "\nEvery row: iteration times, error and MFU in %\n";
  for (const ValidatedTrainingFamily& family : validation.families)
    text += fmt::format("\n{}\n\n{}{}", family.title, rows_text(family), assumptions_text(family));
  return text;
}

Json row_json(const ValidatedTrainingFamily& family, const ValidatedTrainingRow& row) {
  Json json = {{"label", row.row->label},
               {"table", row.table->name},
               {"family", family.name},
               {"software", row.software},
               {"measured_s", row.measured},
               {"predicted_s", row.predicted.seconds},
               {"error", row.error()},
               {"mfu", row.predicted.mfu},
               {"bound_by", row.predicted.bound},
               {"fits_memory", row.predicted.fits}};
  if (row.row->memory) {
    json["measured_memory_bytes"] = row.row->memory->count();
    json["predicted_memory_bytes"] = row.predicted.memory.count();
  }
  return json;
}

std::string constants_text(const TrainingCross& cross) {
  report::Table text;
  for (const char* heading : {"software", "architecture", "constant"})
    text.column(heading, report::Table::Align::kLeft);
  for (const char* heading : {"nominal", "shipped", "fitted to all"}) text.column(heading);
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

// Those that a family runs with.
bool is_of(const TrainingConstant& constant, const ValidatedTrainingFamily& family) {
  const std::vector<std::string> names = family.software();
  return std::ranges::find(names, constant.software) != names.end();
}

std::string families_text(const TrainingValidation& validation, const TrainingCross& cross) {
  report::Table text;
  training_columns(text);
  text.column("mean as shipped");
  for (std::size_t i = 0; i < cross.left_out.size(); ++i) {
    std::vector<std::string> cells = training_cells(cross.left_out[i]);
    cells.push_back(fmt::format("{:.1f}", 100 * validation.families[i].errors().mean));
    text.row(std::move(cells));
  }
  return text.text();
}

}  // namespace

std::string training_validation_text(const TrainingValidation& validation, bool details) {
  return "Error of predicted iteration times of training jobs against published ones, in %: |predicted / measured - "
         "1|;\nthe bias is the mean of predicted / measured - 1\n\n" +
         families_text(validation) + overall_text(validation) + (details ? details_text(validation) : "") +
         not_fitted_text(validation) + misses_text(validation) + training_memory_text(validation) +
         not_scored_text(validation) + constants_text(validation);
}

Json to_json(const TrainingValidation& validation) {
  Json document = {{"families", Json::array()}, {"rows", Json::array()}};
  for (const ValidatedTrainingFamily& family : validation.families) {
    document["families"].push_back(to_json(family));
    for (const ValidatedTrainingRow& row : family.rows) document["rows"].push_back(row_json(family, row));
  }
  const OverallTrainingErrors overall = overall_errors(validation.families);
  document["overall"] = {{"mean_of_means", overall.mean}, {"median_of_medians", overall.median}};
  document["constants"] = Json::array();
  for (const FittedSoftware& one : validation.software)
    for (const workload::SoftwareConstant constant : one.constants)
      document["constants"].push_back({{"software", one.software.name},
                                       {"architecture", std::string(name_of(one.architecture))},
                                       {"name", std::string(workload::name_of(constant))},
                                       {"value", workload::value_of(one.software, one.architecture, constant)}});
  document["not_scored"] = Json::array();
  for (const TrainingTable* table : validation.not_scored)
    document["not_scored"].push_back({{"table", table->name}, {"why", table->why_not}});
  return document;
}

std::string training_cross_text(const TrainingValidation& validation, const TrainingCross& cross,
                                const Coverage& coverage) {
  if (cross.left_out.empty()) return {};
  const auto overall = [&](const std::string& name, auto collection) {
    const OverallTrainingErrors with = overall_errors(validation.families, collection);
    const OverallTrainingErrors without = overall_errors(cross.left_out, collection);
    return fmt::format(
        "one family left out, {} ({}): mean of their means {:.1f} %, median of their medians {:.1f} %; with the "
        "shipped constants {:.1f} and {:.1f} %\n",
        name, without.families, 100 * without.mean, 100 * without.median, 100 * with.mean, 100 * with.median);
  };
  return "\nThe constants of the software, fitted to all families at once; those of one name on one architecture "
         "hold together, each kind of model by itself:\n\n" +
         constants_text(cross) + "\nEach family by constants fitted to the others:\n\n" +
         families_text(validation, cross) + "\n" + for_each_collection(cross.left_out, overall) +
         coverage_text(coverage);
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
  for (std::size_t family = 0; family < cross.left_out.size(); ++family) {
    Json without = to_json(cross.left_out[family]);
    without["constants"] = Json::array();
    for (std::size_t i = 0; i < cross.constants.size(); ++i)
      if (is_of(cross.constants[i], cross.left_out[family]))
        without["constants"].push_back({{"software", cross.constants[i].software},
                                        {"architecture", std::string(name_of(cross.constants[i].architecture))},
                                        {"name", std::string(workload::name_of(cross.constants[i].constant))},
                                        {"value", cross.without[family][i]}});
    for (const ValidatedTrainingRow& row : cross.left_out[family].rows)
      without["rows"].push_back({{"label", row.row->label},
                                 {"table", row.table->name},
                                 {"measured_s", row.measured},
                                 {"predicted_s", row.predicted.seconds}});
    document["left_out"].push_back(std::move(without));
  }
  const OverallTrainingErrors overall = overall_errors(cross.left_out);
  document["overall"] = {{"mean_of_means", overall.mean}, {"median_of_medians", overall.median}};
  document["intervals"] = to_json(coverage);
  return document;
}

}  // namespace orrery::study
