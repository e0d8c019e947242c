// SPDX-License-Identifier: MIT
#include "study/calibrate/machine/stages.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <optional>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/config/number_text.h"
#include "core/files/read_file.h"
#include "experiment/experiment.h"
#include "study/calibrate/collectives/collectives.h"
#include "study/calibrate/kernel_device.h"
#include "study/calibrate/kernel_file.h"
#include "study/calibrate/kernels.h"
#include "study/calibrate/profiles.h"
#include "study/calibrate/profiles/profile_kernels.h"
#include "study/calibrate/steps.h"

namespace orrery::study {
namespace {

constexpr std::string_view kClusterKey = "cluster.";

// Measurements by the stage that takes them.
struct Evidence {
  std::vector<std::string> logs;
  std::vector<NcclLog> collectives;  // of measurements of kernels
  std::vector<KernelFile> kernels;
  std::vector<ProfileEvidence> profiles;
  std::vector<MeasuredStep> steps;
};

// All that a stage works on.
struct Work {
  const MachineQuestion& question;
  const ConfigFiles& files;
  const WorkProgress& progress;
  const Evidence& evidence;
  MachineCalibration& calibration;
  const CalibratedMachine given;  // before the first stage
};

struct Stage {
  bool (*has_evidence)(const Evidence&);
  Finding (*run)(Work&);
};

// Settings of the cluster are part of the machine by now.
CollectiveQuestion collective_question(const Work& work) {
  CollectiveQuestion machine = work.question.machine;
  machine.resolved_cluster = work.calibration.machine.cluster;
  machine.cluster = work.calibration.cluster;
  const bool has_job = !work.question.job.empty();
  std::erase_if(machine.settings, [&](const std::string& setting) {
    return setting.starts_with(kClusterKey) || (has_job && !setting.starts_with("collectives"));
  });
  return machine;
}

Finding calibrate_collectives(Work& work) {
  const CalibrationQuestion question{collective_question(work), work.evidence.logs,    work.evidence.collectives,
                                     work.question.operation,   work.question.version, work.question.in_place};
  const Calibration calibration = calibrate(question, work.files, work.progress);
  write_constants(calibration, work.calibration.machine.cluster);
  const collectives::NcclOptions& options = calibration.data.benchmarks.front().options;
  work.calibration.collectives = {fmt::format("--launch {}", collectives::name_of(options.launch)),
                                  "--set collectives.version=" + collectives::to_text(options.version)};
  return finding_of(calibration);
}

Finding calibrate_timed_kernels(Work& work) {
  std::vector<KernelTiming> timings;
  MeasuredDevice device;
  Finding finding;
  for (const KernelFile& file : work.evidence.kernels) {
    const MeasuredDevice own{file.device, file.memory};
    find_device(work.calibration.machine, work.files, own, finding.warnings);
    if (device.name.empty()) device = own;
    timings.insert(timings.end(), file.timings.begin(), file.timings.end());
  }
  std::vector<Problem> warnings = std::move(finding.warnings);
  finding = calibrate_kernels(timings, work.calibration.machine, work.files, KernelOrigin::kAlone, device);
  for (const KernelFile& file : work.evidence.kernels)
    if (!file.skipped.empty())
      finding.notes.push_back(fmt::format("{} has not timed: {}", file.path, fmt::join(file.skipped, "; ")));
  const auto is_told = [&](const Problem& problem) {
    return std::ranges::any_of(finding.warnings, [&](const Problem& p) { return p.message == problem.message; });
  };
  for (Problem& problem : warnings)
    if (!is_told(problem)) finding.warnings.push_back(std::move(problem));
  finding.sizes = MeasuredSizes::kFlops;
  return finding;
}

Finding calibrate_profiled_kernels(Work& work) {
  Finding finding = calibrate_kernels(kernels_of(work.evidence.profiles), work.calibration.machine, work.files,
                                      KernelOrigin::kJob, {work.evidence.profiles.front().device, Bytes(0)});
  finding.sizes = MeasuredSizes::kFlops;
  return finding;
}

Finding calibrate_launches(Work& work) {
  return calibrate_host(work.evidence.profiles, work.calibration.machine, work.files);
}

// Medians of the steps' errors, as a table of rows shows them.
double median_error(const std::vector<double>& predicted, const std::vector<MeasuredStep>& steps) {
  std::vector<double> errors;
  for (std::size_t i = 0; i < steps.size(); ++i) errors.push_back(std::abs(predicted[i] / steps[i].seconds - 1));
  return median_of(std::move(errors));
}

// The steps before are those on the machine before all stages, so that what another stage made worse is seen.
void compare_with_given(const Work& work, Finding& finding) {
  constexpr double kWorseBy = 0.02;
  const std::vector<MeasuredStep>& steps = work.evidence.steps;
  const std::vector<double> given = predicted_steps(steps, work.given, work.files, work.progress);
  std::vector<double> now;
  for (std::size_t i = 0; i < finding.rows.size(); ++i) {
    now.push_back(finding.rows[i].before);
    finding.rows[i].before = given[i];
  }
  const double before = median_error(given, steps), after = median_error(now, steps);
  if (after <= before + kWorseBy) return;
  finding.warnings.push_back(
      {Severity::kWarning, steps.front().where,
       fmt::format("the constants of the other files predict the measured {} worse than those before: {} off, not {}",
                   steps.size() == 1 ? "step" : "steps", percent(after), percent(before)),
       "are they of this machine, and of such jobs? what they were fitted to stands above"});
}

Finding calibrate_measured_steps(Work& work) {
  StepOptions options;
  if (!work.evidence.profiles.empty()) options.profile = &work.evidence.profiles.front().time;
  for (const Finding& finding : work.calibration.findings)
    for (const CalibratedConstant& constant : finding.constants)
      if (constant.determined()) options.known.push_back(constant.key);
  Finding finding = calibrate_steps(work.evidence.steps, work.calibration.machine, work.files, options, work.progress);
  if (!options.known.empty()) compare_with_given(work, finding);
  return finding;
}

constexpr std::array kStages = {
    Stage{[](const Evidence& e) { return !e.logs.empty() || !e.collectives.empty(); }, calibrate_collectives},
    Stage{[](const Evidence& e) {
            return std::ranges::any_of(e.kernels, [](const KernelFile& file) { return !file.timings.empty(); });
          },
          calibrate_timed_kernels},
    Stage{[](const Evidence& e) { return !kernels_of(e.profiles).empty(); }, calibrate_profiled_kernels},
    Stage{[](const Evidence& e) { return !e.profiles.empty(); }, calibrate_launches},
    Stage{[](const Evidence& e) { return !e.steps.empty(); }, calibrate_measured_steps},
};

// Collectives of a measurement as the tables of a log: one for each operation and place of its ranks.
NcclLog log_of(const KernelFile& file) {
  NcclLog log{file.path, {}};
  for (const TimedCollective& timed : file.collectives) {
    const auto is_same = [&](const NcclTable& table) {
      return table.test == timed.operation && table.ranks == timed.ranks && table.nodes == timed.nodes;
    };
    auto table = std::ranges::find_if(log.tables, is_same);
    if (table == log.tables.end()) {
      table = log.tables.insert(log.tables.end(), NcclTable{});
      table->line = timed.where.line;
      table->test = timed.operation;
      table->ranks = timed.ranks;
      table->nodes = timed.nodes;
      table->groups = 1;
      table->device = file.device;
      table->devices_per_thread = 1;  // torchrun: a process for each
      for (const auto& [name, version] : file.software)
        if (name == "nccl") table->nccl_version = version;
    }
    NcclRow row;
    row.line = timed.where.line;
    row.bytes = timed.bytes;
    row.out_of_place.time = Duration(std::llround(timed.seconds * 1e12));
    row.in_place = row.out_of_place;
    table->rows.push_back(std::move(row));
  }
  return log;
}

PeakOf peak_of(const CalibratedMachine& machine, const ConfigFiles& files) {
  return [&machine, &files](Precision precision) -> std::optional<FlopRate> {
    return device_of(machine, files).peak(precision);
  };
}

Evidence read_evidence(const MachineQuestion& question, const ConfigFiles& files, MachineCalibration& calibration) {
  Evidence evidence;
  Diagnostics diagnostics;
  std::vector<std::string> profiles;
  std::set<std::string> paths;
  for (const EvidenceFile& file : calibration.files) {
    if (!paths.insert(file.path).second)
      throw InputError({file.path}, "is named twice: its measurements would count twice", "leave one of them out");
    switch (file.kind) {
      case EvidenceKind::kCollectives:
        evidence.logs.push_back(file.path);
        break;
      case EvidenceKind::kProfile:
        profiles.push_back(file.path);
        break;
      case EvidenceKind::kKernels:
        evidence.kernels.push_back(read_kernel_file(file.path, peak_of(calibration.machine, files), diagnostics));
        if (!evidence.kernels.back().collectives.empty())
          evidence.collectives.push_back(log_of(evidence.kernels.back()));
        break;
      case EvidenceKind::kSteps: {
        std::vector<MeasuredStep> steps = measured_steps(file.path, files);
        std::ranges::move(steps, std::back_inserter(evidence.steps));
        break;
      }
    }
  }
  evidence.profiles = read_profile_evidence(profiles);
  for (const ProfileEvidence& profile : evidence.profiles)
    for (const Problem& problem : profile.warnings) diagnostics.add(problem);
  if (!question.measured.empty())
    evidence.steps.insert(evidence.steps.begin(),
                          measured_step(question.job, question.machine.settings, question.measured, files));
  diagnostics.throw_if_errors();
  for (const Problem& problem : diagnostics.problems()) calibration.warnings.push_back(problem);
  return evidence;
}

// A profile whose step takes so many times as long as each measured one, or so much less, is of another job.
constexpr double kOfAnotherJob = 10;

void leave_out_profiles_of_other_jobs(Evidence& evidence, MachineCalibration& calibration) {
  if (evidence.steps.empty()) return;
  std::erase_if(evidence.profiles, [&](const ProfileEvidence& profile) {
    const double total = profile.time.total();
    if (std::ranges::any_of(evidence.steps, [&](const MeasuredStep& step) {
          return total > step.seconds / kOfAnotherJob && total < step.seconds * kOfAnotherJob;
        }))
      return false;
    const MeasuredStep& first = evidence.steps.front();
    calibration.warnings.push_back(
        {Severity::kWarning,
         {profile.file},
         fmt::format("{} of it takes {}, and the step of '{}' took {}: it is of another job, and left out",
                     profile.time.steps == 0 ? "all" : "a step", time_text(total), printable(first.label, 60),
                     time_text(first.seconds)),
         "profile steps of the job that was measured (prof.step()), or calibrate to this profile by itself"});
    return true;
  });
}

void check(const MachineQuestion& question) {
  if (question.files.empty() && question.measured.empty())
    throw InputError({}, "nothing to calibrate to",
                     "name files: logs of nccl-tests, timed kernels, profiles, measured steps; or --job JOB.yaml "
                     "--measured \"19.5 s\"");
  if (!question.measured.empty() && question.job.empty())
    throw InputError({"--measured"}, "a measured step without its job", "name the experiment: --job JOB.yaml");
}

// The cluster by itself, with the settings that are of it.
experiment::Experiment named_machine(const CollectiveQuestion& machine, const ConfigFiles& files) {
  Diagnostics diagnostics;
  ConfigValue root{ConfigValue::Kind::kMap, {"--cluster"}, {}, {}, {}};
  set_value(root, "cluster", parse_option(machine.cluster, "--cluster", diagnostics), files, diagnostics);
  const std::string origin = cluster_origin(machine.cluster);
  const auto resolve = [&](ConfigValue value) {
    Diagnostics ignored;  // they come when the whole is read
    return experiment::read_machine(origin, std::move(value), files, ignored).resolved;
  };
  for (const std::string& setting : machine.settings)
    if (setting.starts_with(kClusterKey)) apply_setting(root, setting, files, diagnostics, resolve);
  diagnostics.throw_if_errors();
  Diagnostics reading;  // its warnings come from the stages, which read it again
  return experiment::read_machine(origin, std::move(root), files, reading);
}

const ConfigValue* find_path(const ConfigValue& root, std::initializer_list<std::string_view> keys) {
  const ConfigValue* value = &root;
  for (const std::string_view key : keys) {
    const ConfigEntry* entry = value->find(key);
    if (entry == nullptr) return nullptr;
    value = &entry->value;
  }
  return value;
}

// Title of a part of a job: its name where the file names it, else the job's own.
std::string title_in(const ConfigValue& written, std::initializer_list<std::string_view> keys, const std::string& job) {
  const ConfigValue* value = find_path(written, keys);
  const bool is_name = value != nullptr && value->kind == ConfigValue::Kind::kScalar;
  return cluster_title(is_name ? value->scalar : job);
}

void take_software(const ConfigValue& resolved, const ConfigValue& written, const std::string& job,
                   MachineCalibration& calibration) {
  const ConfigValue* software = find_path(resolved, {"workload", "software"});
  if (software == nullptr || software->kind != ConfigValue::Kind::kMap) return;
  calibration.machine.software = *software;
  const ConfigEntry* name = software->find("name");
  calibration.software = name != nullptr ? name->value.scalar : title_in(written, {"workload", "software"}, job);
}

// The machine of an experiment that has been measured, for whatever the command line does not name.
void take_machine_of_job(const experiment::Experiment& experiment, const ConfigValue& written, const std::string& job,
                         MachineCalibration& calibration) {
  if (calibration.cluster.empty()) {
    calibration.cluster = title_in(written, {"cluster"}, job);
    calibration.machine.cluster = experiment.resolved.find("cluster")->value;
  }
  if (calibration.machine.software.kind == ConfigValue::Kind::kNull)
    take_software(experiment.resolved, written, job, calibration);
}

void take_named_software(const std::string& name, const ConfigFiles& files, MachineCalibration& calibration) {
  Diagnostics diagnostics;
  ConfigValue software = parse_option(name, "--software", diagnostics);
  if (software.kind == ConfigValue::Kind::kScalar) expand_named(software, "software", files, diagnostics);
  diagnostics.throw_if_errors();
  calibration.machine.software = std::move(software);
  software_of(calibration.machine, files);  // InputError if it is none
  calibration.software = cluster_title(name);
}

void find_machine(const MachineQuestion& question, const ConfigFiles& files, MachineCalibration& calibration) {
  if (!question.machine.cluster.empty()) {
    calibration.machine.cluster = named_machine(question.machine, files).resolved.find("cluster")->value;
    calibration.cluster = cluster_title(question.machine.cluster);
  }
  if (!question.software.empty()) take_named_software(question.software, files, calibration);
  Diagnostics diagnostics;
  if (!question.job.empty()) {
    const experiment::Experiment job =
        experiment::load_experiment(question.job, question.machine.settings, files, diagnostics);
    return take_machine_of_job(job, files.peek(question.job), question.job, calibration);
  }
  const auto table = std::ranges::find(calibration.files, EvidenceKind::kSteps, &EvidenceFile::kind);
  if (table == calibration.files.end()) return;
  const MeasuredStep step = measured_steps(table->path, files).front();
  take_machine_of_job(experiment::read_experiment(table->path, step.experiment, files, diagnostics), step.experiment,
                      table->path, calibration);
}

// Options that say something of logs alone.
void refuse_vain_options(const MachineQuestion& question, const Evidence& evidence) {
  if (!evidence.logs.empty() || !evidence.collectives.empty()) return;
  const CollectiveQuestion& machine = question.machine;
  const std::pair<const char*, bool> given[] = {
      {"--nodes", !machine.nodes.empty()},      {"--gpus-per-node", !machine.devices_per_node.empty()},
      {"--launch", !machine.launch.empty()},    {"--op", !question.operation.empty()},
      {"--version", !question.version.empty()}, {"--in-place", question.in_place}};
  for (const auto& [option, is_given] : given)
    if (is_given)
      throw InputError({option}, "is of logs of collectives, and none is given", fmt::format("leave {} out", option));
  for (const std::string& setting : machine.settings)
    if (question.job.empty() && !setting.starts_with(kClusterKey))
      throw InputError({"--set " + printable(setting)}, "changes nothing: no log of collectives and no job is given",
                       "settings of the cluster begin with cluster.");
}

}  // namespace

bool MachineCalibration::changes(CalibratedFile file) const {
  return std::ranges::any_of(findings, [file](const Finding& finding) {
    return std::ranges::any_of(finding.constants, [file](const CalibratedConstant& constant) {
      return constant.file == file && constant.determined();
    });
  });
}

MachineCalibration calibrate_machine(const MachineQuestion& question, const ConfigFiles& files,
                                     const WorkProgress& progress) {
  check(question);
  MachineCalibration calibration;
  for (const std::string& file : question.files) calibration.files.push_back(evidence_of(file, files));
  find_machine(question, files, calibration);
  if (calibration.cluster.empty())
    throw InputError({"--cluster"}, "no cluster is named, and no job that would name one",
                     "--cluster C, one of `orrery list clusters` or a file; or --job JOB.yaml");
  Evidence evidence = read_evidence(question, files, calibration);
  refuse_vain_options(question, evidence);
  leave_out_profiles_of_other_jobs(evidence, calibration);
  Work work{question, files, progress, evidence, calibration, calibration.machine};
  for (const Stage& stage : kStages) {
    if (!stage.has_evidence(evidence)) continue;
    Finding finding = stage.run(work);
    calibration.warnings.insert(calibration.warnings.end(), finding.warnings.begin(), finding.warnings.end());
    calibration.findings.push_back(std::move(finding));
  }
  return calibration;
}

}  // namespace orrery::study
