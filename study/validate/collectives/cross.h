// SPDX-License-Identifier: MIT
// Cross-validation on systems that the model has not seen: the fitted constants of the library are fitted again to the
// tables of all systems but one, whose tables are then predicted; each system in turn.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "collectives/nccl/constants.h"
#include "collectives/nccl/constants_config.h"
#include "core/config/tree.h"
#include "study/benchmark/prediction.h"
#include "study/interval/interval.h"
#include "study/validate/collectives/table.h"
#include "study/validate/collectives/validate.h"

namespace orrery::study {

struct RefitTable {
  const ValidationTable* table = nullptr;
  NcclBenchmark benchmark;
};

// The tables that are predicted.
std::vector<RefitTable> refit_tables(std::span<const ValidationTable> tables, const ConfigFiles& files);

struct Refit {
  collectives::NcclConstants constants;
  std::vector<bool> determined;  // by constant of `nominal`
  std::vector<double> spread;    // relative standard error, likewise; infinite where not determined
};

// Each table counts the same in each band of sizes that it has, however many rows that is. Rows below 1 MiB of tables
// that do not say who launched the kernels do not count: launch decides these, and it is never fitted; nor do those of
// kernels of profiles, which wait for the last rank.
Refit refit(std::span<const RefitTable> tables, const collectives::NcclConstantsFile& library);

struct FittedConstantFit {
  FittedConstantText shipped;
  std::string fitted;            // to the tables of all systems
  std::optional<double> spread;  // relative standard error; nothing if the tables do not determine it
};

struct CrossValidation {
  std::vector<FittedConstantFit> constants;
  MeasuredRows fitted;               // of the scored tables, by the constants that fit all
  MeasuredRows left_out;             // of these by the constants that the other systems' tables give, by system
  MeasuredRows generation_left_out;  // ... that those of other generations of GPUs give
  MeasuredRows kernels;              // as left_out, of the kernels of profiles
  std::size_t systems = 0;
};

// Cross-validates with the scored tables and the kernels of profiles, which outlive the result. From the nominal
// constants, whatever ships.
CrossValidation cross_validate(std::span<const ValidationTable> tables, const ConfigFiles& files,
                               const WorkProgress& progress = {});

// Errors of the tables of the systems left out; each system is a family, with the rows of every band of sizes that a
// fit takes.
std::vector<MeasuredError> errors_of(const CrossValidation& cross);

std::string cross_validation_text(const CrossValidation& cross, const Coverage& coverage);

// "cross" of the JSON document "orrery.validation/1".
nlohmann::ordered_json to_json(const CrossValidation& cross, const Coverage& coverage);

}  // namespace orrery::study
