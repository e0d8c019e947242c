// SPDX-License-Identifier: MIT
// Published times of training jobs, from configs/validation/training: a table is one experiment with keys that differ
// from row to row, and what each row was published to reach. docs/training.md lists them.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "study/table_files.h"
#include "study/validate/measured/measured.h"
#include "workload/training/spec/training_spec.h"

namespace orrery::study {

// Published figure of a row.
enum class TrainingFigure : std::uint8_t {
  kTime,            // of an iteration, in seconds
  kTokensPerGpu,    // a second
  kSamples,         // a second, of all GPUs together
  kSamplesPerGpu,   // a second
  kHardwareTflops,  // 10^12 FLOPs a second and GPU, by SC'21's formula, which counts recomputation of everything
  kModelTflops,     // 10^12 FLOPs a second and GPU, by model_flops()
};

// When the runs were gathered: the first, to 2023, by which the model of a step was built; later ones met a model that
// stood. Totals are of each.
enum class TrainingCollection : std::uint8_t { kFirst, kSecond, kThird };
inline constexpr std::array<std::string_view, 3> kTrainingCollections = {"first", "second", "third"};

// Rank whose memory was published.
enum class TrainingRank : std::uint8_t { kFullest, kLast };

// Bytes that the framework's allocator had handed out on one rank.
struct AllocatedMemory {
  std::optional<Bytes> rest;  // behind the optimizer's step
  std::optional<Bytes> peak;  // the most
};

struct TrainingRow {
  std::string label;
  Location where;
  ConfigValue experiment;  // before it is read; of a table that is not scored perhaps nothing
  double figure = 0;       // as published
  Location figure_at;
  std::optional<Bytes> memory;  // of a device, in use as its tools show, where that was published
  AllocatedMemory allocated;    // likewise
  std::string miss;             // why the prediction is far off; empty if nothing is known of it
};

struct TrainingTable : MeasuredTable {
  TrainingCollection collection = TrainingCollection::kFirst;
  std::string family;  // tables of one family are summed up, and left out, together
  std::string title;   // of the family
  std::vector<std::string> source;
  TrainingFigure figure = TrainingFigure::kTime;
  std::string cluster;  // by name; empty if it is none, or differs from row to row
  std::vector<std::string> columns;
  std::vector<std::pair<std::string, std::string>> assumed;  // what the source leaves open, and the reason for a choice
  TrainingRank allocated_on = TrainingRank::kFullest;
  bool fit = true;  // whether constants of the software are fitted to it
  std::vector<TrainingRow> rows;

  static constexpr std::string_view kFolder = "validation/training";
};

// Reads all but the experiments of the rows.
void read_table(Section& section, TrainingTable& table);

// Gives all tables of a family its title; an error where they have two.
void check_together(std::vector<TrainingTable>& tables, Diagnostics& diagnostics);

// "time", "tokens_per_s_per_gpu", ...
std::string_view name_of(TrainingFigure figure);

// "first", "second", ...
std::string_view name_of(TrainingCollection collection);

// FLOPs of a step, as Narayanan et al. (SC'21, equation 3) count them: 96 B s l h^2 (1 + s/6h + V/16lh).
double hardware_flops(const workload::TransformerSpec& model, std::int64_t global_batch);

// Seconds of an iteration of which `published` is said. kHardwareTflops is of transformers only.
double iteration_seconds(TrainingFigure figure, double published, const workload::TrainingSpec& training);

}  // namespace orrery::study
