// SPDX-License-Identifier: MIT
#include "study/interval/kinds.h"

#include <string>
#include <string_view>
#include <variant>

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

}  // namespace orrery::study
