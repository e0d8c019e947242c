// SPDX-License-Identifier: MIT
#include <filesystem>
#include <string>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/output.h"
#include "cli/session.h"
#include "cli/study/benchmark_machine.h"
#include "core/files/input_files.h"
#include "core/files/shell_word.h"
#include "report/page/page.h"
#include "report/table.h"
#include "study/calibrate/machine/stages.h"

namespace orrery::cli {
namespace {

using study::CalibratedFile;

struct CalibrateOptions {
  study::MachineQuestion question{};
  std::string out;
  std::string software_out;
  bool dry_run = false;
  bool details = false;
};

// Files that are written, by their paths; empty: none.
struct CalibratedFiles {
  std::string cluster;
  std::string software;
};

// "dgx-a100-calibrated.yaml" in the working directory, also of what is a file.
std::string default_file(const std::string& title) {
  return std::filesystem::path(title).filename().string() + "-calibrated.yaml";
}

std::string command_line(const study::MachineQuestion& question) {
  const study::CollectiveQuestion& machine = question.machine;
  std::string text = "orrery calibrate";
  for (const std::string& file : question.files) text += " " + shell_word(file);
  const auto add = [&](std::string_view option, const std::string& value) {
    if (!value.empty()) text += fmt::format(" {} {}", option, shell_word(value));
  };
  add("--cluster", machine.cluster);
  add("--job", question.job);
  add("--measured", question.measured);
  add("--software", question.software);
  add("--nodes", machine.nodes);
  add("--gpus-per-node", machine.devices_per_node);
  add("--op", question.operation);
  add("--launch", machine.launch);
  add("--version", question.version);
  for (const std::string& setting : machine.settings) add("--set", setting);
  return text + (question.in_place ? " --in-place" : "");
}

// Constants of an experiment are not part of a cluster.
std::vector<Problem> warnings_of(const study::MachineQuestion& question, const study::MachineCalibration& calibration) {
  std::vector<Problem> warnings = calibration.warnings;
  for (const std::string& setting : question.machine.settings)
    if (setting.starts_with("collectives"))
      warnings.push_back({Severity::kWarning,
                          {"--set " + printable(setting)},
                          "is not part of the cluster, and so not in its file",
                          "set it as well where the file is used"});
  return warnings;
}

// A command that uses the files. Launch and release of measured collectives are not the cluster's.
std::string use_of(const study::MachineQuestion& question, const study::MachineCalibration& calibration,
                   const CalibratedFiles& files) {
  const bool has_collectives = !calibration.collectives.empty() && files.software.empty() && question.job.empty();
  if (has_collectives)
    return fmt::format("orrery collective --cluster {} --library nccl --op all_reduce {}", shell_word(files.cluster),
                       fmt::join(calibration.collectives, " "));
  std::string text = "orrery run " + (question.job.empty() ? "JOB.yaml" : shell_word(question.job));
  if (!files.cluster.empty()) text += " --set cluster=" + shell_word(files.cluster);
  if (!files.software.empty()) text += " --set workload.software=" + shell_word(files.software);
  if (!calibration.collectives.empty()) text += fmt::format(" {}", calibration.collectives.back());
  return text;
}

// The end of the text: what the files are for, or why there are none.
std::string files_text(const CalibrateOptions& options, const study::MachineCalibration& calibration,
                       const CalibratedFiles& files) {
  if (files.cluster.empty() && files.software.empty()) return "\nno constant is determined: no file is written\n";
  std::string text;
  if (options.dry_run) {
    std::string names = files.cluster;
    if (!files.software.empty()) names += (names.empty() ? "" : " and ") + files.software;
    text += fmt::format("\ndry run: without --dry-run this writes {}\n", names);
  }
  return text + "\nuse it as measured:\n" +
         report::wrapped(use_of(options.question, calibration, files), {.at = report::Wrapping::Break::kShell});
}

CalibratedFiles files_of(const CalibrateOptions& options, const study::MachineCalibration& calibration) {
  CalibratedFiles files;
  if (calibration.changes(CalibratedFile::kCluster))
    files.cluster = options.out.empty() ? default_file(calibration.cluster) : options.out;
  if (calibration.changes(CalibratedFile::kSoftware))
    files.software = options.software_out.empty() ? default_file(calibration.software) : options.software_out;
  return files;
}

void check_outputs(const CalibrateOptions& options, const Session& session) {
  const study::MachineQuestion& question = options.question;
  for (const std::string& file : question.files) note_input(file);
  for (const std::string& file : {question.machine.cluster, question.job, question.software})
    if (!file.empty()) note_input(file);
  if (options.out == "-" && session.outputs.json == "-")
    throw InputError({"--json"}, "- is standard output, which --out takes", "name a file");
  check_file("--software-out", options.software_out);
  session.outputs.check({}, FolderUse::kShared);
  check_configuration("--out", options.out);
  check_configuration("--software-out", options.software_out);
  const OutputOption outputs[] = {{"--out", options.out},
                                  {"--software-out", options.software_out},
                                  {"--json", session.outputs.json},
                                  {"--html", session.outputs.html}};
  for (const OutputOption& one : outputs)
    for (const OutputOption& other : outputs)
      if (&one < &other) refuse_same_file(one, other);
}

void calibrate(const CalibrateOptions& options, const Session& session) {
  const study::MachineQuestion& question = options.question;
  check_outputs(options, session);
  if (options.out.empty() && !question.machine.cluster.empty())
    check_writable(default_file(study::cluster_title(question.machine.cluster)));
  Progress progress("reading what was measured");
  const study::MachineCalibration calibration = study::calibrate_machine(question, session.files, progress.of("fits"));
  progress.clear();
  print_warnings(warnings_of(question, calibration));
  const CalibratedFiles files = files_of(options, calibration);
  refuse_same_file({"the cluster", files.cluster}, {"the software", files.software});
  const auto text_of = [&](CalibratedFile file) {
    return calibrated_file(calibration, file, command_line(question), session.files);
  };
  const auto write = [&](const std::string& path, CalibratedFile file) {
    if (path.empty() || path == "-" || options.dry_run) return;
    check_writable(path);
    write_file(path, text_of(file));
  };
  write(files.cluster, CalibratedFile::kCluster);
  write(files.software, CalibratedFile::kSoftware);
  Answer answer{study::calibration_text(calibration, options.details) + files_text(options, calibration, files),
                study::calibration_json(calibration)};
  if (session.outputs.wants_page()) answer.page = page_of("orrery calibrate", "calibration", answer.document);
  if (options.out != "-" || options.dry_run) return session.outputs.give(answer);
  if (!session.outputs.json.empty()) write_json(session.outputs.json, answer.document);
  if (answer.page) write_file(session.outputs.html, report::page_text(answer.page->title, answer.page->data));
  print_text(text_of(CalibratedFile::kCluster));
}

void add_measurement_options(CLI::App& command, study::MachineQuestion& question) {
  command.add_option("--job", question.job, "Experiment whose step was measured; names the cluster, too")
      ->type_name("FILE");
  command
      .add_option("--measured", question.measured,
                  "Its step: \"19.5 s\", \"405 TFLOP/s\", \"41 % MFU\", \"3400 tokens/s/gpu\"")
      ->type_name("TEXT");
  command
      .add_option("--software", question.software, "A name from `orrery list software`, or a file (default: the job's)")
      ->type_name("NAME");
  command.add_option("--op", question.operation, "Operation of a log that does not name it (CSV)")->type_name("NAME");
  command.add_option("--version", question.version, "NCCL release, as 2.18.5 (default: the log's)")
      ->type_name("VERSION");
  command.add_flag("--in-place", question.in_place, "Fit the in-place times of logs (default: out-of-place)");
}

void add_calibration_outputs(CLI::App& command, CalibrateOptions& options, Session& session) {
  command
      .add_option("--out", options.out,
                  "Write the cluster to this file; - prints it (default: CLUSTER-calibrated.yaml)")
      ->type_name("FILE");
  command
      .add_option("--software-out", options.software_out,
                  "Write the software to this file, if any of it is determined (default: SOFTWARE-calibrated.yaml)")
      ->type_name("FILE");
  command.add_flag("--dry-run", options.dry_run, "Write neither the cluster nor the software");
  command.add_flag("--details", options.details, "Also print each measurement, and what is predicted of it");
  add_json(command, session);
  add_html(command, session, "it as a page");
  add_format(command);
}

}  // namespace

void add_calibrate_command(CLI::App& app, Session& session) {
  CalibrateOptions& options = session.keep<CalibrateOptions>();
  study::MachineQuestion& question = options.question;
  study::CollectiveQuestion& machine = question.machine;
  CLI::App& command = add_command(app, "calibrate",
                                  {"orrery calibrate all_reduce.log kernels.csv --cluster dgx-a100",
                                   "orrery calibrate times.csv --cluster dgx-a100 --op all_reduce --out mine.yaml",
                                   "orrery calibrate --job job.yaml --measured \"41 % MFU\" --dry-run"});
  add_files(command, session, "files", question.files,
            "Logs of nccl-tests, timed kernels, PyTorch profiles, tables of measured steps: docs/calibrate.md");
  command.add_option("--cluster", machine.cluster, kClusterAbout)->type_name("NAME");
  add_benchmark_machine(command, machine);
  add_measurement_options(command, question);
  add_calibration_outputs(command, options, session);
  add_set(command, machine.settings, "cluster.node.nics.count=4");
  command.callback([&] { calibrate(options, session); });
}

}  // namespace orrery::cli
