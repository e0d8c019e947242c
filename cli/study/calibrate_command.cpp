// SPDX-License-Identifier: MIT
#include <filesystem>
#include <string>

#include <fmt/format.h>

#include "cli/output.h"
#include "cli/session.h"
#include "cli/study/benchmark_machine.h"
#include "core/files/input_files.h"
#include "report/table.h"
#include "study/calibrate/calibrate.h"

namespace orrery::cli {
namespace {

struct CalibrateOptions {
  study::CalibrationQuestion question{};
  std::string out;
};

// "dgx-a100-calibrated.yaml" in the working directory, also for a cluster that is a file.
std::string default_file(const std::string& cluster) {
  return std::filesystem::path(study::cluster_title(cluster)).filename().string() + "-calibrated.yaml";
}

// Constants of an experiment are not part of a cluster.
void warn_of_settings(const study::CalibrationQuestion& question, study::Calibration& calibration) {
  for (const std::string& setting : question.machine.settings)
    if (setting.starts_with("collectives"))
      calibration.warnings.push_back({Severity::kWarning,
                                      {"--set " + printable(setting)},
                                      "is not part of the cluster, and so not in its file",
                                      "set it as well where the file is used"});
}

std::string command_line(const study::CalibrationQuestion& question) {
  const study::CollectiveQuestion& machine = question.machine;
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
std::string use_of(const study::Calibration& calibration, const std::string& file) {
  const collectives::NcclOptions& options = calibration.data.benchmarks.front().options;
  return fmt::format("--cluster {} --launch {} --set collectives.version={}", printable(file),
                     collectives::name_of(options.launch), collectives::to_text(options.version));
}

void calibrate(const CalibrateOptions& options, const Session& session) {
  const study::CalibrationQuestion& question = options.question;
  const std::string out = options.out.empty() ? default_file(question.machine.cluster) : options.out;
  const std::string& json = session.outputs.json;
  note_input(question.log);
  note_input(question.machine.cluster);
  if (out == "-" && json == "-") throw InputError({"--json"}, "- is standard output, which --out takes", "name a file");
  check_writable(out);
  check_writable(json);
  refuse_same_file({"--json", json}, {"--out", out});
  Progress progress("reading the log");
  study::Calibration calibration = orrery::study::calibrate(question, session.files, progress.of("fits"));
  progress.clear();
  warn_of_settings(question, calibration);
  print_warnings(calibration.warnings);
  const std::string cluster = study::calibrated_cluster(calibration, command_line(question));
  if (!json.empty()) write_json(json, study::calibration_json(question, calibration));
  if (out == "-") return print_text(cluster);
  write_file(out, cluster);
  if (json == "-") return;
  print_text(report::in_table_format(study::calibration_text(question, calibration) +
                                     fmt::format("\nuse it as measured: {}\n", use_of(calibration, out))));
}

}  // namespace

void add_calibrate_command(CLI::App& app, Session& session) {
  CalibrateOptions& options = session.keep<CalibrateOptions>();
  study::CalibrationQuestion& question = options.question;
  study::CollectiveQuestion& machine = question.machine;
  CLI::App& command = add_command(app, "calibrate",
                                  {"orrery calibrate all_reduce.log --cluster dgx-a100 --nodes 2",
                                   "orrery calibrate times.csv --cluster dgx-a100 --op all_reduce --out mine.yaml"});
  add_file(command, session, "log", question.log, "nccl-tests output, or CSV of it, or `orrery collective --json`")
      .required();
  command.add_option("--cluster", machine.cluster, kClusterAbout)->type_name("NAME")->required();
  add_benchmark_machine(command, machine);
  command.add_option("--op", question.operation, "Operation of a log that does not name it (CSV)")->type_name("NAME");
  command.add_option("--version", question.version, "NCCL release, as 2.18.5 (default: the log's)")
      ->type_name("VERSION");
  command.add_flag("--in-place", question.in_place, "Fit the in-place times (default: out-of-place)");
  command
      .add_option("--out", options.out,
                  "Write the cluster to this file; - prints it (default: CLUSTER-calibrated.yaml)")
      ->type_name("FILE");
  add_json(command, session);
  add_format(command);
  add_set(command, machine.settings, "cluster.node.nics.count=4");
  command.callback([&] { calibrate(options, session); });
}

}  // namespace orrery::cli
