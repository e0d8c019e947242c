// SPDX-License-Identifier: MIT
// Orrery's answers held against published measurements (study/validate/collectives/table.h): how far off, table by
// table and in all, by message size.
#pragma once

#include <span>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "core/config/tree.h"
#include "core/in_parallel.h"
#include "experiment/experiment.h"
#include "study/benchmark/prediction.h"
#include "study/errors.h"
#include "study/validate/collectives/table.h"
#include "study/validate/measured/kind.h"
#include "study/validate/measured/measured.h"
#include "study/validate/measured/output.h"

namespace orrery::study {

// The rows of a table, to be predicted: a label is a size, and "bytes" is a fact.
MeasuredRows rows_of(const ValidationTable& table);
// Size as workload::CallSize has it.
Bytes size_of(const Measured& row);
MeasuredRows in_band(const MeasuredRows& rows, SizeBand band);
// A group is a table.
std::vector<MeasuredGroup> by_table(const MeasuredRows& rows);

// A fitted constant of the library: what ships and what it would be without measurements, as texts with units.
struct FittedConstantText {
  std::string name;
  std::string shipped;
  std::string nominal;
};

struct Validation {
  MeasuredRows scored;                         // with the fact "generation", of the GPUs
  MeasuredRows kernels;                        // kernels of profiles on known clusters; not in the overall error
  std::vector<const MeasuredTable*> left_out;  // neither
  std::vector<FittedConstantText> constants;
};

// Error over the medians of the tables.
OverallError overall_error(const MeasuredRows& rows);
// Error over the tables whose source says who launched the kernels.
OverallError overall_error_of_labelled(const MeasuredRows& rows);

// Reads what a table asks for a size: its cluster, and of NCCL the version, the launch and what it was held to.
// InputError.
experiment::Experiment read_table_experiment(const ValidationTable& table, Bytes size, const ConfigFiles& files,
                                             Diagnostics& diagnostics);
// The same in closed form.
NcclBenchmark benchmark_of(const ValidationTable& table, const ConfigFiles& files);

// Scored, or of kernels on a known cluster.
bool is_predicted(const ValidationTable& table);

// Throws what validate() would of this table, but simulates nothing.
void check_prediction(const ValidationTable& table, const ConfigFiles& files);
void check_collective_table(const std::string& file, const std::vector<std::string>& settings, const ConfigFiles& files,
                            Diagnostics& diagnostics);

// Simulates every row of every scored table, and of kernels of profiles, on its cluster. `tables` outlive the result.
Validation validate(std::span<const ValidationTable> tables, const ConfigFiles& files, Points* points = nullptr);

Validated validate_collectives(const ValidationRequest& request);

std::string validation_text(const Validation& validation);
// The medians by band of sizes.
std::vector<ErrorColumn> band_columns();

// The medians of the tables' medians by collection, and in each by operation and by generation of GPUs: of all rows,
// and of those from 64 MiB on.
std::string groups_text(const MeasuredRows& rows);
nlohmann::ordered_json groups_json(const MeasuredRows& rows);

// The JSON document "orrery.validation/1".
nlohmann::ordered_json to_json(const Validation& validation);

// "h100_p5_2n_allreduce.svg". InputError where the name of the table cannot be that of a file.
std::string plot_file_name(const ValidationTable& table);

// The text of an SVG file: the same table, the same bytes.
std::string validation_plot(const MeasuredGroup& table);

}  // namespace orrery::study
