#include <array>
#include <string>

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "cli/exit_codes.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "core/input_files.h"
#include "experiment/run.h"
#include "report/fold_check.h"
#include "study/sweep/file.h"
#include "study/validate/collectives/table.h"
#include "study/validate/compute/table.h"
#include "study/validate/training/table.h"

namespace orrery::cli {
namespace {

// Runs it again with every rank by itself. False, with the first difference on stderr, if the two are not the same.
bool verify_fold(const Run& folded, const RunOptions& options, const Session& session) {
  if (!folded.result.folded) {
    spdlog::warn("verify-fold: nothing to verify ({})", folded.result.folding);
    return true;
  }
  std::vector<std::string> settings = options.settings;
  settings.emplace_back("fold=off");
  Progress progress;
  const Run unfolded = run_experiment(
      {options.experiment, settings, false, options.allow_oom}, session.files,
      [&](std::string_view what, std::uint64_t done, std::uint64_t total) { progress.show(what, done, total); });
  progress.clear();
  const auto difference = first_difference({folded.log, folded.acting}, {unfolded.log, unfolded.acting});
  if (difference) {
    spdlog::error("folded and unfolded differ: {}", to_text(*difference, folded.job));
    return false;
  }
  spdlog::warn("verify-fold: no operation of {} ranks differs by a picosecond ({})", folded.result.class_of_rank.size(),
               folded.result.folding);
  return true;
}

// With `fold: off` there would be nothing to verify.
void refuse_contradiction(const Run& run, const RunOptions& options) {
  const ConfigEntry* fold = run.result.experiment.find("fold");
  if (options.verify_fold && fold != nullptr && fold->value.scalar == "off")
    throw InputError({options.experiment}, "'fold: off' and --verify-fold contradict each other",
                     "leave one of them out, or add --set fold=auto");
}

void refuse_table(const std::string& file, std::string_view kind, std::string_view section) {
  throw InputError({file}, fmt::format("this is a table of {}, not an experiment", kind),
                   fmt::format("orrery check reads it; orrery validate {} scores the tables of configs/validation/{}",
                               section, section));
}

void refuse_other_kinds(const std::string& file) {
  if (is_table<ComputeTable>(file)) refuse_table(file, "measured operators", "compute");
  if (is_table<TrainingTable>(file)) refuse_table(file, "measured training jobs", "training");
  if (is_table<ValidationTable>(file)) refuse_table(file, "measured collectives", "nccl");
  if (is_sweep(file))
    throw InputError({file}, "this is a sweep of experiments, not one experiment", "orrery sweep " + printable(file));
}

void run(const RunOptions& options, Session& session) {
  refuse_other_kinds(options.experiment);
  note_input(options.experiment);
  check_writable(options.json);
  const std::array<std::string, 4> files = {"result.json", "summary.txt", "operations.csv", "memory.csv"};
  if (!options.out.empty()) make_folder(options.out, files);
  Progress progress;
  std::vector<std::string> settings = options.settings;
  if (options.no_fold) settings.emplace_back("fold=off");
  const Run run = run_experiment(
      {options.experiment, settings, !options.no_fast_forward, options.allow_oom}, session.files,
      [&](std::string_view what, std::uint64_t done, std::uint64_t total) { progress.show(what, done, total); });
  progress.clear();
  refuse_contradiction(run, options);
  print_warnings(run.result.warnings);
  spdlog::info("{} ranks with {} distinct graphs, {} messages, {} events, {:.3f} s", run.job.ranks.size(),
               run.job.graphs.size(), run.result.messages, run.result.events, run.result.wall_seconds);
  const nlohmann::ordered_json document = to_json(run.result, options.deterministic);
  const std::string summary = summary_text(run.result);
  if (!options.json.empty()) write_json(options.json, document);
  if (!options.out.empty()) {
    write_json(options.out + "/result.json", document);
    write_text(options.out + "/summary.txt", summary);
    write_text(options.out + "/operations.csv", operations_csv(run.job, run.log, run.acting));
    if (run.training) write_text(options.out + "/memory.csv", memory_csv(*run.training, run.log, run.acting));
  }
  if (options.json != "-") write_text("-", summary);
  if (options.verify_fold && !verify_fold(run, options, session)) session.exit_code = kCheckFailed;
}

}  // namespace

void add_run_command(CLI::App& app, Session& session) {
  RunOptions& options = session.run;
  CLI::App* command =
      app.add_subcommand("run", "Simulate an experiment: iteration time, where the time goes, link loads");
  command->add_option("experiment", options.experiment, "Experiment file (YAML or JSON)")->required();
  command->add_option("--set", options.settings, "Change a key, for example --set nodes=4 (may be repeated)")
      ->expected(1)
      ->take_all();
  command->add_option("--json", options.json,
                      "Write the result as JSON to this file; '-' prints it instead of the summary");
  command->add_option(
      "--out", options.out,
      "Write result.json, summary.txt and operations.csv (every operation of every rank) to this folder; of a "
      "training job also memory.csv (memory over time)");
  command->add_flag("--deterministic", options.deterministic, "Leave wall time and memory use out of the JSON");
  CLI::Option* no_fold =
      command->add_flag("--no-fold", options.no_fold, "Simulate every rank by itself (as fold: off)");
  command
      ->add_flag("--verify-fold", options.verify_fold,
                 "Simulate also with every rank by itself; exit 4 if any operation differs by a picosecond")
      ->excludes(no_fold);
  command->add_flag("--no-fast-forward", options.no_fast_forward,
                    "Simulate every message, also where its times follow from others; changes no result");
  command->add_flag("--allow-oom", options.allow_oom, "Simulate also what does not fit the devices' memory");
  command->callback([&session] { run(session.run, session); });
}

}  // namespace orrery::cli
