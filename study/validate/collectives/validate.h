// SPDX-License-Identifier: MIT
// Orrery's answers held against published measurements (study/validate/collectives/table.h): how far off, table by
// table and in all, by message size.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "core/config/tree.h"
#include "core/in_parallel.h"
#include "core/machine_kind.h"
#include "study/benchmark/question.h"
#include "study/errors.h"
#include "study/validate/collectives/table.h"

namespace orrery::study {

struct ValidatedRow {
  ValidationRow measured;
  Duration predicted{};

  double error() const { return seconds(predicted) / seconds(measured.time) - 1; }  // signed
};

struct ValidatedTable {
  const ValidationTable* table = nullptr;
  Architecture generation = Architecture::kOther;  // of its GPUs
  std::vector<ValidatedRow> rows{};

  std::optional<ErrorSummary> summary(std::optional<SizeBand> band = {}) const;  // of all sizes, or of a band
  const ValidatedRow& worst() const { return worst_of(rows); }
};

// A fitted constant of the library: what ships and what it would be without measurements, as texts with units.
struct FittedConstantText {
  std::string name;
  std::string shipped;
  std::string nominal;
};

struct Validation {
  std::vector<ValidatedTable> scored;
  std::vector<ValidatedTable> kernels;           // kernels of profiles on known clusters; not in the overall error
  std::vector<const ValidationTable*> left_out;  // neither
  std::vector<FittedConstantText> constants;
};

// Of the medians of the tables.
OverallError overall_error(std::span<const ValidatedTable> tables);
// Of the tables whose source says who launched the kernels.
OverallError overall_error_of_labelled(std::span<const ValidatedTable> tables);

// What a table asks: its cluster, and of NCCL the version, the launch and what it was held to.
CollectiveQuestion question_of(const ValidationTable& table);

// Scored, or of kernels on a known cluster.
bool is_predicted(const ValidationTable& table);

// Throws what validate() would of this table, but simulates nothing.
void check_prediction(const ValidationTable& table, const ConfigFiles& files);

// Simulates every row of every scored table, and of kernels of profiles, on its cluster. `tables` outlive the result.
Validation validate(std::span<const ValidationTable> tables, const ConfigFiles& files,
                    const WorkProgress& progress = {});

std::string validation_text(const Validation& validation);

// The medians of the tables' medians by collection, and in each by operation and by generation of GPUs: of all rows,
// and of those from 64 MiB on.
std::string groups_text(std::span<const ValidatedTable> tables);
nlohmann::ordered_json groups_json(std::span<const ValidatedTable> tables);

// The JSON document "orrery.validation/1".
nlohmann::ordered_json to_json(const Validation& validation);

// "h100_p5_2n_allreduce.svg". InputError where the name of the table cannot be that of a file.
std::string plot_file_name(const ValidationTable& table);

// The text of an SVG file: the same table, the same bytes. The table has rows.
std::string validation_plot(const ValidatedTable& table);

}  // namespace orrery::study
