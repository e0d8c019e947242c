// SPDX-License-Identifier: MIT
// Check that a training job fits its devices' memory, with changes that would make it fit.
#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/config/quantity_text.h"
#include "core/config/tree.h"
#include "core/files/shell_word.h"
#include "core/whole_memory.h"
#include "experiment/job.h"
#include "experiment/plans/bound.h"
#include "experiment/plans/default_software.h"
#include "experiment/plans/job_editor.h"
#include "experiment/plans/levers.h"
#include "workload/traces/roles.h"

namespace orrery::experiment {
namespace {

Bytes largest(const std::vector<workload::MemoryNeed>& needs) {
  Bytes most;
  for (const workload::MemoryNeed& need : needs) most = std::max(most, need.total());
  return most;
}

Bytes largest_in_use(const std::vector<workload::MemoryNeed>& needs) {
  return std::ranges::max(needs, {}, &workload::MemoryNeed::in_use).in_use();
}

Bytes largest_on_host(const std::vector<workload::MemoryNeed>& needs) {
  return std::ranges::max(needs, {}, &workload::MemoryNeed::host).host;
}

// Something that makes the job fit.
struct Remedy {
  std::string text;
  Duration time{};  // of an iteration, about; zero where nothing is known
};

// The command that looks for other plans of what was asked for; empty where there is nothing to type again.
std::string search_command(const Experiment& experiment) {
  if (!experiment.settings || experiment.file == kStandardInput) return {};
  std::string command = "orrery search " + shown_shell_word(experiment.file);
  for (const std::string& setting : *experiment.settings) {
    const std::string_view nodes = "nodes=";
    if (path_of_setting(setting) == "fold") continue;  // changes no plan
    command += setting.starts_with(nodes) ? " --nodes " + shown_shell_word(setting.substr(nodes.size()), "N")
                                          : " --set " + shown_shell_word(setting, "KEY=VALUE");
  }
  return command;
}

// Search for edits, one lever or two at a time, with which a job fits; for those with which it may still run out, as
// the warning has it, only where no others are left.
class Advice {
 public:
  Advice(const Experiment& experiment, std::size_t job, Bytes capacity)
      : editor_(experiment, job), capacity_(capacity) {
    const network::Fabric& fabric = experiment.fabric;
    const std::int64_t widest = fabric.dimensions().empty() ? fabric.device_count() : fabric.dimensions().front().size;
    const workload::TrainingSpec& training = *experiment.jobs[job].workload.training;
    for (const Lever& lever : memory_levers()) edits_.push_back(lever.edits({training, widest}));
    if (experiment.jobs.size() > 1) return;
    if (const std::string command = search_command(experiment); !command.empty())
      others_ = fmt::format("; `{}` looks for a plan with other degrees of parallelism", command);
    if (training.parallel.ranks() <= fabric.device_count()) bounds_.emplace(experiment);
  }

  std::string text() && {
    const std::string allow = "--allow-oom simulates it all the same" + others_;
    for (const bool may_run_out : {false, true}) {
      may_run_out_ = may_run_out;
      for (std::size_t lever = 0; lever < edits_.size(); ++lever)
        if (auto remedy = first_of(lever, lever)) remedies_.push_back(std::move(*remedy));
      if (!remedies_.empty()) return fmt::format("would fit with {}; {}", fmt::join(cheapest(kShown), ", or "), allow);
      for (std::size_t one = 0; one < edits_.size(); ++one)
        for (std::size_t other = one + 1; other < edits_.size(); ++other)
          if (auto remedy = first_of(one, other)) remedies_.push_back(std::move(*remedy));
      if (!remedies_.empty()) return fmt::format("would fit with {}; {}", fmt::join(cheapest(1), ""), allow);
    }
    std::vector<std::string_view> tried;
    for (std::size_t lever = 0; lever < edits_.size(); ++lever)
      if (!edits_[lever].empty()) tried.push_back(memory_levers()[lever].name);
    return fmt::format("no two changes of {} are enough together; {}", fmt::join(tried, ", "), allow);
  }

 private:
  static constexpr std::size_t kShown = 6;

  // The first edits of one lever or of two that are enough.
  std::optional<Remedy> first_of(std::size_t one, std::size_t other) {
    for (const LeverEdit& edit : edits_[one]) {
      if (one == other) {
        if (auto remedy = with(edit)) return remedy;
        continue;
      }
      for (const LeverEdit& more : edits_[other]) {
        if (are_of_one_key(edit, more)) continue;
        LeverEdit both = edit;
        both.insert(both.end(), more.begin(), more.end());
        if (auto remedy = with(both)) return remedy;
      }
    }
    return std::nullopt;
  }

  // Two changes of a degree of parallelism take ranks of the same one.
  static bool are_of_one_key(const LeverEdit& one, const LeverEdit& other) {
    return std::ranges::any_of(one, [&](const std::string& setting) {
      const std::string key = setting.substr(0, setting.find('=') + 1);
      return std::ranges::any_of(other, [&](const std::string& more) { return more.starts_with(key); });
    });
  }

  std::optional<Remedy> with(const LeverEdit& edit) {
    const std::optional<workload::TrainingSpec> training = editor_.with(edit);
    if (!training) return std::nullopt;
    const std::vector<workload::MemoryNeed> needs = workload::memory_needs(*training);
    const Bytes need = largest(needs);
    if (need > capacity_ || largest_on_host(needs) > training->offload.host.capacity.value_or(Bytes::max()))
      return std::nullopt;
    if (!may_run_out_ && largest_in_use(needs) > whole_memory(capacity_)) return std::nullopt;
    return Remedy{fmt::format("{} ({}{})", text_of(edit), rounded(need), may_run_out_ ? ", may run out" : ""),
                  time_of(*training)};
  }

  Duration time_of(const workload::TrainingSpec& training) {
    try {
      return bounds_ ? bounds_->of(training, capacity_).time : Duration{};
    } catch (const InputError&) {  // of a library that cannot run the collectives
      return {};
    }
  }

  // Texts of the fastest ones, as far as the work of a rank tells; in the order of the table where it does not.
  std::vector<std::string> cheapest(std::size_t most) {
    std::ranges::stable_sort(remedies_, {}, &Remedy::time);
    std::vector<std::string> texts;
    for (const Remedy& remedy : remedies_)
      if (texts.size() < most) texts.push_back(remedy.text);
    return texts;
  }

  const JobEditor editor_;
  const Bytes capacity_;
  std::string others_;                         // where a search finds what two levers do not; of one job
  std::vector<std::vector<LeverEdit>> edits_;  // by lever
  std::optional<PlanBounds> bounds_;
  bool may_run_out_ = false;  // edits are asked for with which it may
  std::vector<Remedy> remedies_;
};

// A program on a type of devices.
struct Fit {
  std::size_t program = 0;
  std::uint32_t type = 0;
  std::vector<std::uint32_t> ranks;

  Bytes excess(const std::vector<workload::MemoryNeed>& needs, const Experiment& experiment) const {
    return needs[program].total() - experiment.devices[type].memory_capacity;
  }
};

// In the order of programs, then of types. `placement`: of the job's ranks; empty where there is one type.
std::vector<Fit> fits_of(const Experiment& experiment, const workload::TrainingSpec& training,
                         std::span<const DeviceId> placement) {
  const std::vector<std::uint32_t> programs = workload::programs_of_ranks(training);
  std::map<std::pair<std::size_t, std::uint32_t>, Fit> fits;
  for (std::uint32_t rank = 0; rank < programs.size(); ++rank) {
    const std::uint32_t type = placement.empty() ? 0 : experiment.fabric.type_of(placement[rank]);
    Fit& fit = fits[{programs[rank], type}];
    fit.program = programs[rank], fit.type = type;
    fit.ranks.push_back(rank);
  }
  std::vector<Fit> result;
  for (auto& [key, fit] : fits) result.push_back(std::move(fit));
  return result;
}

// "8-15, 24": of those that do not fit a type.
std::string ranks_text(std::vector<std::uint32_t> ranks) {
  std::ranges::sort(ranks);
  std::vector<std::string> ranges;
  for (std::size_t first = 0, end = 0; first < ranks.size(); first = end) {
    for (end = first + 1; end < ranks.size() && ranks[end] == ranks[end - 1] + 1;) ++end;
    ranges.push_back(end == first + 1 ? fmt::format("{}", ranks[first])
                                      : fmt::format("{}-{}", ranks[first], ranks[end - 1]));
  }
  constexpr std::size_t kShown = 8;
  const bool is_long = ranges.size() > kShown;
  if (is_long) ranges.resize(kShown);
  return fmt::format("{}{}", fmt::join(ranges, ", "), is_long ? ", ..." : "");
}

// A job whose ranks are counted over all jobs from `first_rank` on.
struct CheckedJob {
  const JobSource& source;
  std::size_t number = 0;  // of the experiment's jobs
  std::uint32_t first_rank = 0;
  std::span<const DeviceId> placement;  // empty where there is one type of devices
};

// Names the job too if there are several.
std::string rank_text(const Experiment& experiment, const CheckedJob& job, const Fit& fit) {
  const std::uint32_t rank = job.first_rank + fit.ranks.front();
  return experiment.jobs.size() > 1 ? fmt::format("rank {}, of job '{}',", rank, printable(job.source.name))
                                    : fmt::format("rank {}", rank);
}

// Warns if a job fits by its arithmetic but may still run out of memory.
void warn_where_tight(const Experiment& experiment, const CheckedJob& job, std::span<const workload::MemoryNeed> needs,
                      std::span<const Fit> fits, Diagnostics& diagnostics) {
  const auto excess = [&](const Fit& fit) {
    return needs[fit.program].in_use() - whole_memory(experiment.devices[fit.type].memory_capacity);
  };
  const Fit& worst = *std::ranges::max_element(fits, {}, excess);
  if (excess(worst) <= Bytes(0)) return;
  const workload::MemoryNeed& need = needs[worst.program];
  Problem problem{
      Severity::kWarning, job.source.workload.training->where,
      fmt::format("{} needs {} of memory, about {} with libraries and what the allocator cannot use, and its "
                  "device has {}: it may run out",
                  rank_text(experiment, job, worst), rounded(need.total()), rounded(need.in_use()),
                  rounded(whole_memory(experiment.devices[worst.type].memory_capacity))),
      ""};
  problem.tight_memory = true;
  diagnostics.add(std::move(problem));
}

// False if what the job offloads does not fit the memory of hosts, but is `allowed` to.
bool check_hosts(const Experiment& experiment, const CheckedJob& job, const std::vector<workload::MemoryNeed>& needs,
                 bool allowed, Diagnostics& diagnostics) {
  const workload::TrainingSpec& training = *job.source.workload.training;
  if (!training.offload.any()) return true;
  Bytes least = Bytes::max();
  for (const system::DeviceSpec& device : experiment.devices)
    least = std::min(least, device.host.capacity.value_or(Bytes::max()));
  const Bytes need = largest_on_host(needs);
  if (need <= least) return true;
  const auto fullest = std::ranges::find(needs, need, &workload::MemoryNeed::host) - needs.begin();
  const std::vector<std::uint32_t> programs = workload::programs_of_ranks(training);
  const auto first = std::ranges::find(programs, static_cast<std::uint32_t>(fullest)) - programs.begin();
  const std::uint32_t rank = job.first_rank + static_cast<std::uint32_t>(first);
  const std::string message =
      fmt::format("rank {} needs {} of memory of its host, which has {} for each of its devices", rank, rounded(need),
                  rounded(least));
  if (allowed) {
    diagnostics.warning(training.where_of("offload"), message, "");
    return false;
  }
  Problem problem{Severity::kError, training.where_of("offload"), message,
                  "a smaller share in workload.offload, or a larger cluster.node.host.memory; --allow-oom simulates it "
                  "all the same"};
  problem.rank = rank;
  problem.out_of_memory = true;
  throw InputError(std::vector<Problem>{std::move(problem)});
}

// False if it does not fit, but is `allowed` to.
bool check_job(const Experiment& experiment, const CheckedJob& job, bool allowed, Diagnostics& diagnostics) {
  const workload::TrainingSpec& training = *job.source.workload.training;
  const std::vector<workload::MemoryNeed> needs = workload::memory_needs(training);
  const bool hosts_fit = check_hosts(experiment, job, needs, allowed, diagnostics);
  const Bytes least = std::ranges::min(experiment.devices, {}, &system::DeviceSpec::memory_capacity).memory_capacity;
  if (largest_in_use(needs) <= least) return hosts_fit;
  const std::vector<Fit> fits = fits_of(experiment, training, job.placement);
  const auto excess = [&](const Fit& fit) { return fit.excess(needs, experiment); };
  const Fit& worst = *std::ranges::max_element(fits, {}, excess);
  if (excess(worst) <= Bytes(0)) {
    warn_where_tight(experiment, job, needs, fits, diagnostics);
    return hosts_fit;
  }
  const system::DeviceSpec& device = experiment.devices[worst.type];
  const workload::MemoryNeed& need = needs[worst.program];
  std::vector<std::string> parts;
  for (std::size_t use = 0; use < workload::kMemoryUseCount; ++use)
    if (need.by[use].count() > 0)
      parts.push_back(
          fmt::format("{} {}", workload::name_of(static_cast<workload::MemoryUse>(use)), rounded(need.by[use])));
  std::string type;
  if (experiment.devices.size() > 1) {
    std::vector<std::uint32_t> others;
    for (const Fit& fit : fits)
      if (fit.type == worst.type && excess(fit) > Bytes(0))
        for (const std::uint32_t rank : fit.ranks) others.push_back(job.first_rank + rank);
    type = fmt::format("; of those on {} these do not fit: {}", printable(device.name), ranks_text(std::move(others)));
  }
  const std::string by_default = default_software_text(experiment, training);
  const std::uint32_t rank = job.first_rank + worst.ranks.front();
  const std::string message =
      fmt::format("{} needs {} of memory, its device has {}: {}{}", rank_text(experiment, job, worst),
                  rounded(need.total()), rounded(device.memory_capacity), fmt::join(parts, ", "), type) +
      (by_default.empty() ? "" : "; " + by_default);
  if (allowed) {
    diagnostics.warning(training.where, message, "");
    return false;
  }
  Problem problem{Severity::kError, training.where, message,
                  Advice(experiment, job.number, device.memory_capacity).text()};
  problem.rank = rank;
  problem.out_of_memory = true;
  throw InputError(std::vector<Problem>{std::move(problem)});
}

std::uint32_t ranks_of(const Experiment& experiment, const WorkloadSource& workload) {
  Diagnostics repeated;  // they are given when the job is loaded
  if (workload.call) return workload.call->ranks;
  const std::size_t ranks = workload.training ? static_cast<std::size_t>(workload.training->parallel.ranks())
                            : workload.is_traced()
                                ? workload::find_job_traces(workload.trace.prefix).file_of_rank.size()
                                : load_replay(experiment, workload, repeated).ranks.size();
  return static_cast<std::uint32_t>(ranks);
}

}  // namespace

bool check_memory(const Experiment& experiment, bool allowed, Diagnostics& diagnostics) {
  std::vector<std::uint32_t> first_ranks = {0};
  for (const JobSource& job : experiment.jobs) {
    const auto& training = job.workload.training;
    if (!training && experiment.jobs.size() == 1) return true;
    first_ranks.push_back(first_ranks.back() + ranks_of(experiment, job.workload));
  }
  std::vector<DeviceId> placement;
  if (experiment.devices.size() > 1) placement = place_jobs(experiment, first_ranks.back());
  bool fit = true;
  for (std::size_t i = 0; i < experiment.jobs.size(); ++i) {
    if (!experiment.jobs[i].workload.training) continue;
    const std::uint32_t first = first_ranks[i];
    const auto devices = placement.empty() ? std::span<const DeviceId>()
                                           : std::span(placement).subspan(first, first_ranks[i + 1] - first);
    fit = check_job(experiment, {experiment.jobs[i], i, first, devices}, allowed, diagnostics) && fit;
  }
  return fit;
}

}  // namespace orrery::experiment
