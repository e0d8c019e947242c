#include "experiment/job.h"

#include <utility>

#include "system/devices/operator_model.h"
#include "system/plans/involved_dimensions.h"

namespace orrery {

ExperimentJob load_experiment_job(const Experiment& experiment, Diagnostics& diagnostics,
                                  const LoadProgress& progress) {
  const auto placed = [&](const Job& job) {
    return place_ranks(experiment.placement, static_cast<std::uint32_t>(job.ranks.size()), experiment.fabric);
  };
  if (!experiment.workload.training) {
    Job job = load_chakra_job(experiment.workload.trace, diagnostics, progress);
    std::vector<DeviceId> placement = placed(job);
    split_by_dimensions(job, experiment.fabric, placement, experiment.simulation.collectives, experiment.file,
                        diagnostics);
    return {std::move(job), {}, std::move(placement)};
  }
  const TrainingSpec& training = *experiment.workload.training;
  const OperatorModel times(experiment.device, training.software.rates_on(experiment.device.architecture));
  TrainingJob generated = generate_job(training, times);
  std::vector<DeviceId> placement = placed(generated.job);
  return {std::move(generated.job), std::move(generated.facts), std::move(placement)};
}

}  // namespace orrery
