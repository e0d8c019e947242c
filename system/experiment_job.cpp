#include "system/experiment_job.h"

#include <utility>

#include "system/operator_model.h"

namespace orrery {

ExperimentJob load_experiment_job(const Experiment& experiment, Diagnostics& diagnostics,
                                  const LoadProgress& progress) {
  if (!experiment.workload.training) return {load_chakra_job(experiment.workload.trace, diagnostics, progress), {}};
  const TrainingSpec& training = *experiment.workload.training;
  const OperatorModel times(experiment.device, training.software.rates_on(experiment.device.architecture));
  TrainingJob generated = generate_job(training, times);
  return {std::move(generated.job), std::move(generated.facts)};
}

}  // namespace orrery
