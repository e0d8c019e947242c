#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "study/validate/training/cross.h"
#include "study/validate/training/text.h"
#include "workload/training/spec/software.h"

namespace orrery {
namespace {

using Json = nlohmann::ordered_json;

std::string constants_text(const TrainingCross& cross) {
  Table text;
  for (const char* heading : {"software", "architecture", "constant"}) text.column(heading, Table::Align::kLeft);
  for (const char* heading : {"nominal", "shipped", "fitted to all"}) text.column(heading);
  for (std::size_t i = 0; i < cross.constants.size(); ++i) {
    const TrainingConstant& constant = cross.constants[i];
    text.row({constant.software, std::string(name_of(constant.architecture)), std::string(name_of(constant.constant)),
              value_text(constant.constant, constant.nominal), value_text(constant.constant, constant.shipped),
              value_text(constant.constant, cross.fitted[i])});
  }
  return text.text();
}

// Those that a family runs with.
bool is_of(const TrainingConstant& constant, const ValidatedTrainingFamily& family) {
  const std::vector<std::string> names = family.software();
  return std::ranges::find(names, constant.software) != names.end();
}

std::string families_text(const TrainingValidation& validation, const TrainingCross& cross) {
  Table text;
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

std::string training_cross_text(const TrainingValidation& validation, const TrainingCross& cross) {
  if (cross.left_out.empty()) return {};
  const OverallTrainingErrors with = overall_errors(validation.families);
  const OverallTrainingErrors without = overall_errors(cross.left_out);
  return "\nThe constants of the software, fitted to all families at once; those of one name on one architecture "
         "hold together, each kind of model by itself:\n\n" +
         constants_text(cross) + "\nEach family by constants fitted to the others:\n\n" +
         families_text(validation, cross) +
         fmt::format(
             "\none family left out ({}): mean of their means {:.1f} %, median of their medians {:.1f} %; with "
             "the shipped constants {:.1f} and {:.1f} %\n",
             cross.left_out.size(), 100 * without.mean, 100 * without.median, 100 * with.mean, 100 * with.median);
}

Json to_json(const TrainingCross& cross) {
  Json document = {{"constants", Json::array()}, {"left_out", Json::array()}};
  for (std::size_t i = 0; i < cross.constants.size(); ++i) {
    const TrainingConstant& constant = cross.constants[i];
    document["constants"].push_back({{"software", constant.software},
                                     {"architecture", std::string(name_of(constant.architecture))},
                                     {"name", std::string(name_of(constant.constant))},
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
                                        {"name", std::string(name_of(cross.constants[i].constant))},
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
  return document;
}

}  // namespace orrery
