// SPDX-License-Identifier: MIT
// Check that a training job fits its devices' memory, with changes that would make it fit.
#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/config/quantity_text.h"
#include "experiment/job.h"
#include "workload/traces/roles.h"

namespace orrery::experiment {
namespace {

// A job that differs in one thing.
struct Alternative {
  std::string text;
  workload::TrainingSpec training;
};

// Changes of a job that save memory, the least costly first.
class Alternatives {
 public:
  explicit Alternatives(const workload::TrainingSpec& training) : training_(training) {}

  // `widest`: tensor parallelism goes no further than the links within a node.
  std::vector<Alternative> list(std::int64_t widest) && {
    const bool is_transformer = training_.transformer() != nullptr;
    if (is_transformer && workload::attention_of(training_) == workload::AttentionKind::kPlain) add_flash();
    if (is_transformer) add_recomputation();
    add_smaller_parts();
    if (is_transformer && training_.parallel.zero == 0 && training_.recompute != workload::Recompute::kFull)
      add("workload.parallel.zero: 1 and workload.recompute: full", [](workload::TrainingSpec& t) {
        t.parallel.zero = 1;
        t.recompute = workload::Recompute::kFull;
      });
    for (const std::int64_t times : {2, 4, 8}) {
      if (training_.parallel.tensor() * times <= widest) move(workload::ParallelDimension::kTensor, times);
      move(workload::ParallelDimension::kContext, times);
      move(workload::ParallelDimension::kPipeline, times);
    }
    return std::move(list_);
  }

 private:
  template <class Change>
  void add(std::string text, const Change& change) {
    workload::TrainingSpec other = training_;
    change(other);
    list_.push_back({std::move(text), std::move(other)});
  }

  // It costs nothing. Alone, or with what it goes with well.
  void add_flash() {
    const auto flash = [](workload::TrainingSpec& t) {
      std::get<workload::TransformerSpec>(t.model.sizes).attention = workload::AttentionKind::kFlash;
    };
    add("workload.model.attention: flash", flash);
    if (training_.parallel.tensor() > 1 && !training_.parallel.sequence)
      add("workload.model.attention: flash and workload.parallel.sequence: true", [&](workload::TrainingSpec& t) {
        flash(t);
        t.parallel.sequence = true;
      });
    if (training_.parallel.zero == 0)
      add("workload.model.attention: flash and workload.parallel.zero: 1", [&](workload::TrainingSpec& t) {
        flash(t);
        t.parallel.zero = 1;
      });
  }

  void add_recomputation() {
    if (training_.recompute == workload::Recompute::kNone)
      add("workload.recompute: selective",
          [](workload::TrainingSpec& t) { t.recompute = workload::Recompute::kSelective; });
    if (training_.recompute != workload::Recompute::kFull)
      add("workload.recompute: full", [](workload::TrainingSpec& t) { t.recompute = workload::Recompute::kFull; });
    if (training_.parallel.tensor() > 1 && !training_.parallel.sequence)
      add("workload.parallel.sequence: true", [](workload::TrainingSpec& t) { t.parallel.sequence = true; });
  }

  void add_smaller_parts() {
    for (std::int64_t zero = training_.parallel.zero + 1; zero <= 3; ++zero)
      add(fmt::format("workload.parallel.zero: {}", zero),
          [zero](workload::TrainingSpec& t) { t.parallel.zero = zero; });
    const std::int64_t of_replica = training_.global_batch / training_.parallel.data();
    for (std::int64_t micro = training_.micro_batch - 1; micro >= 1; --micro)
      if (of_replica % micro == 0)
        add(fmt::format("workload.batch.micro: {}", micro),
            [micro](workload::TrainingSpec& t) { t.micro_batch = micro; });
  }

  // Ranks of data parallelism become ranks of another.
  void move(workload::ParallelDimension to, std::int64_t times) {
    const auto at = static_cast<std::size_t>(to), data = static_cast<std::size_t>(workload::ParallelDimension::kData);
    if (training_.parallel.data() % times != 0) return;
    add(fmt::format("workload.parallel.{}: {} and workload.parallel.data: {}", workload::name_of(to),
                    training_.parallel.degrees[at] * times, training_.parallel.data() / times),
        [=](workload::TrainingSpec& t) {
          t.parallel.degrees[at] *= times;
          t.parallel.degrees[data] /= times;
        });
  }

  const workload::TrainingSpec& training_;
  std::vector<Alternative> list_;
};

Bytes largest(const std::vector<workload::MemoryNeed>& needs) {
  Bytes most;
  for (const workload::MemoryNeed& need : needs) most = std::max(most, need.total());
  return most;
}

// One change per key is enough: true if an earlier one that fits has the same key.
bool is_like(const std::string& text, const std::vector<std::string>& others) {
  const std::string key = text.substr(0, text.find(':'));
  return std::ranges::any_of(others, [&](const std::string& other) { return other.starts_with(key + ":"); });
}

// The first few changes that make the job fit.
std::string advice(const workload::TrainingSpec& training, Bytes capacity, const network::Fabric& fabric) {
  constexpr std::size_t kShown = 3;
  std::vector<std::string> fits;
  const std::int64_t devices = fabric.device_count();
  const std::int64_t widest = fabric.dimensions().empty() ? devices : fabric.dimensions().front().size;
  for (const Alternative& other : Alternatives(training).list(widest)) {
    Diagnostics problems;
    if (is_like(other.text, fits)) continue;
    workload::check_training(other.training, devices, problems);
    if (problems.has_errors()) continue;
    const Bytes need = largest(workload::memory_needs(other.training));
    if (need <= capacity) fits.push_back(fmt::format("{} ({})", other.text, rounded(need)));
    if (fits.size() == kShown) break;
  }
  const std::string allow = "--allow-oom simulates it all the same";
  if (fits.empty())
    return "no single change of recompute, zero, batch.micro, tensor, context or pipeline is enough; " + allow;
  return fmt::format("would fit with {}; {}", fmt::join(fits, ", or "), allow);
}

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

// Data sheets say GB of what are GiB: so of whole GB.
Bytes whole_memory(const system::DeviceSpec& device) {
  constexpr std::int64_t kGB = 1'000'000'000, kGiB = 1LL << 30;
  const std::int64_t capacity = device.memory_capacity.count();
  return capacity % kGB == 0 ? Bytes(capacity / kGB * kGiB) : device.memory_capacity;
}

// A job whose ranks are counted over all jobs from `first_rank` on.
struct CheckedJob {
  const JobSource& source;
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
    return needs[fit.program].in_use() - whole_memory(experiment.devices[fit.type]);
  };
  const Fit& worst = *std::ranges::max_element(fits, {}, excess);
  if (excess(worst) <= Bytes(0)) return;
  const workload::MemoryNeed& need = needs[worst.program];
  Problem problem{
      Severity::kWarning, job.source.workload.training->where,
      fmt::format("{} needs {} of memory, about {} with libraries and what the allocator cannot use, and its "
                  "device has {}: it may run out",
                  rank_text(experiment, job, worst), rounded(need.total()), rounded(need.in_use()),
                  rounded(whole_memory(experiment.devices[worst.type]))),
      ""};
  problem.tight_memory = true;
  diagnostics.add(std::move(problem));
}

// False if it does not fit, but is `allowed` to.
bool check_job(const Experiment& experiment, const CheckedJob& job, bool allowed, Diagnostics& diagnostics) {
  const workload::TrainingSpec& training = *job.source.workload.training;
  const std::vector<workload::MemoryNeed> needs = workload::memory_needs(training);
  const Bytes least = std::ranges::min(experiment.devices, {}, &system::DeviceSpec::memory_capacity).memory_capacity;
  if (std::ranges::max(needs, {}, &workload::MemoryNeed::in_use).in_use() <= least) return true;
  const std::vector<Fit> fits = fits_of(experiment, training, job.placement);
  const auto excess = [&](const Fit& fit) { return fit.excess(needs, experiment); };
  const Fit& worst = *std::ranges::max_element(fits, {}, excess);
  if (excess(worst) <= Bytes(0)) {
    warn_where_tight(experiment, job, needs, fits, diagnostics);
    return true;
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
  const std::uint32_t rank = job.first_rank + worst.ranks.front();
  const std::string message =
      fmt::format("{} needs {} of memory, its device has {}: {}{}", rank_text(experiment, job, worst),
                  rounded(need.total()), rounded(device.memory_capacity), fmt::join(parts, ", "), type);
  if (allowed) {
    diagnostics.warning(training.where, message, "");
    return false;
  }
  Problem problem{Severity::kError, training.where, message,
                  advice(training, device.memory_capacity, experiment.fabric)};
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
    fit = check_job(experiment, {experiment.jobs[i], first, devices}, allowed, diagnostics) && fit;
  }
  return fit;
}

}  // namespace orrery::experiment
