// SPDX-License-Identifier: MIT
#include "experiment/plans/default_software.h"

#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/error.h"
#include "core/machine_kind.h"
#include "system/devices/device.h"

namespace orrery::experiment {

std::string default_software_text(const Experiment& experiment, const workload::TrainingSpec& training) {
  const workload::TransformerSpec* model = training.transformer();
  if (!training.takes_default_software || model == nullptr) return {};
  std::vector<std::string> parts;
  if (!model->attention && workload::attention_of(training) == workload::AttentionKind::kPlain)
    parts.emplace_back("plain attention");
  if (training.parallel.tensor() > 1 && !training.parallel.sequence && !training.software.sequence)
    parts.emplace_back("no sequence parallelism");
  if (parts.empty()) return {};
  return fmt::format("software {} (default on {}): {}", printable(training.software.name, 40),
                     name_of(system::oldest_architecture(experiment.devices)), fmt::join(parts, ", "));
}

}  // namespace orrery::experiment
