// SPDX-License-Identifier: MIT
#include "study/interval/kinds.h"

#include <array>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "study/errors.h"
#include "system/devices/device.h"

namespace orrery::study {
namespace {

std::string model_of(const workload::TrainingSpec& training) {
  if (training.lora) return "lora";
  struct Names {
    std::string operator()(const workload::TransformerSpec& model) const {
      return model.experts > 0 ? "experts" : "transformer";
    }
    std::string operator()(const workload::DlrmSpec&) const { return "dlrm"; }
    std::string operator()(const workload::ConvolutionalSpec&) const { return "convolutional"; }
    std::string operator()(const workload::RecurrentSpec&) const { return "recurrent"; }
    std::string operator()(const workload::EvoformerSpec&) const { return "evoformer"; }
  };
  return std::visit(Names{}, training.model.sizes);
}

std::string_view size_name(SizeBand band) {
  constexpr std::array<std::string_view, kAllSizeBands.size()> kNames = {"less than 1 MiB", "1 to 256 MiB",
                                                                         "256 MiB and more"};
  return kNames[static_cast<std::size_t>(band)];
}

}  // namespace

const RunSchema& training_runs() {
  static const RunSchema kSchema = {
      .runs = "training jobs",
      .any = "any training",
      .file = "validation/training-errors.csv",
      .about =
          "# Measured / predicted - 1 of published runs (configs/validation/training), each by constants fitted "
          "without its\n# family: written by `orrery validate training --cross --errors FILE`.\n",
      .words = {{"model", ""}, {"architecture", " on "}, {"software", " with "}},
      .has_precision = true};
  return kSchema;
}

std::optional<RunKind> job_kind(const experiment::Experiment& experiment) {
  if (experiment.jobs.size() != 1 || !experiment.jobs.front().workload.training) return std::nullopt;
  const workload::TrainingSpec& training = *experiment.jobs.front().workload.training;
  return RunKind{{model_of(training), std::string(name_of(system::oldest_architecture(experiment.devices))),
                  training.software.name},
                 std::string(name_of(training.precision)),
                 training.parallel.ranks()};
}

const RunSchema& collective_runs() {
  static const RunSchema kSchema = {
      .runs = "collectives",
      .any = "any collective",
      .file = "validation/collective-errors.csv",
      .about =
          "# Measured / predicted - 1 of published collectives (configs/validation/nccl), each by constants fitted "
          "without its\n# system: written by `orrery validate nccl --cross --errors FILE`.\n",
      .words = {{"operation", ""}, {"size", " of "}, {"span", " "}, {"architecture", " on "}}};
  return kSchema;
}

RunKind collective_kind(const BenchmarkOperation& operation, Bytes size, std::int64_t nodes, std::int64_t ranks,
                        Architecture architecture) {
  return {{std::string(operation.name), std::string(size_name(band_of(size))),
           nodes == 1 ? "within a node" : "between nodes", std::string(name_of(architecture))},
          "",
          ranks};
}

void add_intervals(CollectiveTable& table, const ConfigFiles& files) {
  if (table.library.empty() || table.shares) return;
  const RunSchema& schema = collective_runs();
  const std::vector<MeasuredError> errors = shipped_errors(schema, files);
  if (errors.empty()) return;
  const BenchmarkOperation operation = benchmark_operation_named(table.operation, "--op");
  for (CollectiveRow& row : table.rows)
    if (row.bytes > Bytes(0))
      row.interval =
          time_interval(interval_of(collective_kind(operation, row.bytes, table.nodes, table.ranks, table.generation),
                                    errors, schema),
                        row.time);
}

}  // namespace orrery::study
