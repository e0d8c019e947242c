#include <filesystem>
#include <string>

#include <fmt/format.h>

#include "cli/commands.h"
#include "cli/output.h"
#include "core/input_files.h"
#include "study/calibrate/calibrate.h"

namespace orrery::cli {
namespace {

// "dgx-a100-calibrated.yaml" in the working directory, also for a cluster that is a file.
std::string default_file(const std::string& cluster) {
  return std::filesystem::path(cluster_title(cluster)).filename().string() + "-calibrated.yaml";
}

// Constants of an experiment are not part of a cluster.
void warn_of_settings(const CalibrationQuestion& question, Calibration& calibration) {
  for (const std::string& setting : question.machine.settings)
    if (setting.starts_with("collectives"))
      calibration.warnings.push_back({Severity::kWarning,
                                      {"--set " + printable(setting)},
                                      "is no part of the cluster, and so not in its file",
                                      "set it as well where the file is used"});
}

std::string command_line(const CalibrationQuestion& question) {
  const CollectiveQuestion& machine = question.machine;
  const bool has_spaces = machine.cluster.find(' ') != std::string::npos;
  std::string text = fmt::format("orrery calibrate {} --cluster {}", question.log,
                                 has_spaces ? fmt::format("'{}'", machine.cluster) : machine.cluster);
  const auto add = [&](std::string_view option, const std::string& value) {
    if (!value.empty()) text += fmt::format(" {} {}", option, value);
  };
  add("--nodes", machine.nodes);
  add("--gpus-per-node", machine.devices_per_node);
  add("--op", question.operation);
  add("--launch", machine.launch);
  add("--version", question.version);
  for (const std::string& setting : machine.settings) add("--set", setting);
  return text + (question.in_place ? " --in-place" : "");
}

// The options of `orrery collective` that stand for the measured run: its launch and release are not the cluster's.
std::string use_of(const Calibration& calibration, const std::string& file) {
  const NcclOptions& options = calibration.data.benchmarks.front().options;
  return fmt::format("--cluster {} --launch {} --set collectives.version={}", printable(file), name_of(options.launch),
                     to_text(options.version));
}

void calibrate(const CalibrateOptions& options, const Session& session) {
  const CalibrationQuestion& question = options.question;
  const std::string out = options.out.empty() ? default_file(question.machine.cluster) : options.out;
  note_input(question.log);
  note_input(question.machine.cluster);
  check_writable(out);
  Calibration calibration = orrery::calibrate(question, session.files);
  warn_of_settings(question, calibration);
  print_warnings(calibration.warnings);
  write_text(out, calibrated_cluster(calibration, command_line(question)));
  if (out == "-") return;
  write_text("-",
             calibration_text(question, calibration) + fmt::format("\nwritten to {}: {} uses it as it was measured\n",
                                                                   printable(out), use_of(calibration, out)));
}

}  // namespace

void add_calibrate_command(CLI::App& app, Session& session) {
  CalibrateOptions& options = session.calibrate;
  CalibrationQuestion& question = options.question;
  CLI::App* command = app.add_subcommand(
      "calibrate", "Fit the constants of the nccl library to a log of nccl-tests, and write the cluster with them");
  command
      ->add_option("log", question.log,
                   "What all_reduce_perf and its sisters printed; CSV of their numbers; `orrery collective --json`")
      ->required();
  command
      ->add_option("--cluster", question.machine.cluster,
                   "A name from `orrery list clusters`, a file, or the cluster itself: '{node: ...}'")
      ->required();
  command->add_option("--nodes", question.machine.nodes, "How many nodes; without it, the cluster's own number");
  command->add_option("--gpus-per-node", question.machine.devices_per_node,
                      "Ranks on the first so many devices of each node; without it, on all");
  command->add_option("--op", question.operation, "Operation of a log that does not say it (CSV)");
  command->add_option("--launch", question.machine.launch,
                      "mpi | threads | single-process | torch; without it, what the log says, or mpi");
  command->add_option("--version", question.version, "Of NCCL, as 2.18.5; without it, what the log says");
  command->add_flag("--in-place", question.in_place, "Fit to the in-place times, not to the out-of-place ones");
  command->add_option(
      "--out", options.out,
      "The calibrated cluster; '-' prints it instead of the report; without it, CLUSTER-calibrated.yaml");
  command
      ->add_option("--set", question.machine.settings,
                   "Change a key first, for example --set cluster.node.nics.count=4 (may be repeated)")
      ->expected(1)
      ->take_all();
  command->callback([&session] { calibrate(session.calibrate, session); });
}

}  // namespace orrery::cli
