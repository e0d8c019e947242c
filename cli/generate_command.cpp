#include <fmt/format.h>

#include "cli/commands.h"
#include "cli/output.h"
#include "cli/written_job.h"
#include "experiment/job.h"

namespace orrery::cli {
namespace {

void generate(const GenerateOptions& options, const Session& session) {
  Diagnostics diagnostics;
  const Experiment experiment = load_experiment(options.experiment, options.settings, session.files, diagnostics);
  if (!experiment.workload.training)
    throw InputError({options.experiment}, "the experiment replays traces; there is nothing to generate",
                     "give its workload a model, parallel and batch");
  check_memory(experiment, options.allow_oom, diagnostics);
  const ExperimentJob generated = load_experiment_job(experiment, diagnostics);
  print_warnings(diagnostics.problems());
  write_and_tell(generated.job, options.out);
}

}  // namespace

void add_generate_command(CLI::App& workload, Session& session) {
  GenerateOptions& options = session.generate;
  CLI::App* command = workload.add_subcommand(
      "generate", "Write the training job of an experiment as Chakra traces, one file per rank");
  command->add_option("experiment", options.experiment, "Experiment file with a model to train")->required();
  command->add_option("-o,--out", options.out, "Folder for rank.<r>.et and groups.json")->required();
  command->add_option("--set", options.settings, "Change a key, for example --set nodes=4 (may be repeated)")
      ->expected(1)
      ->take_all();
  command->add_flag("--allow-oom", options.allow_oom, "Write also what does not fit the devices' memory");
  command->callback([&session] { generate(session.generate, session); });
}

}  // namespace orrery::cli
