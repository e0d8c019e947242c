// Errors of families of training jobs as lines of a table and as JSON, for the shipped constants and for fitted ones.
#pragma once

#include <span>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "report/table.h"
#include "study/validate/training/validation.h"

namespace orrery {

// Adds the columns of training_cells() to `text`.
void training_columns(Table& text);
std::vector<std::string> training_cells(const ValidatedTrainingFamily& family);

nlohmann::ordered_json to_json(const ValidatedTrainingFamily& family);

// Each family counts the same, however many rows it has.
struct OverallTrainingErrors {
  double mean = 0;    // of the families' means
  double median = 0;  // of their medians
};
OverallTrainingErrors overall_errors(std::span<const ValidatedTrainingFamily> families);

}  // namespace orrery
