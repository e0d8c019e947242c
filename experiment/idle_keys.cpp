// SPDX-License-Identifier: MIT
// Keys that change nothing in the jobs of an experiment, by what the jobs are.
#include <algorithm>
#include <cmath>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "collectives/nccl/constants.h"
#include "experiment/sections.h"
#include "experiment/warnings.h"
#include "system/devices/compute_formats.h"
#include "workload/training/layers/blocks.h"
#include "workload/training/program/expert_loads.h"

namespace orrery::experiment {
namespace {

using workload::TrainingSpec;

// A key that changes nothing where `holds` is true of the training job.
struct IdleRule {
  std::string_view key;  // below workload; or a section, all of whose keys are idle
  bool (*holds)(const TrainingSpec& training);
  std::string_view reason;
};

bool has_experts(const TrainingSpec& training) {
  return training.transformer() != nullptr && training.transformer()->experts > 0;
}

bool has_flash_attention(const TrainingSpec& training) {
  return training.transformer() != nullptr && workload::attention_of(training) == workload::AttentionKind::kFlash;
}

bool has_pieces(const TrainingSpec& training) {
  return training.transformer() != nullptr && workload::layer_shape(training, 1).pieces > 1;
}

bool launches_one_by_one(const TrainingSpec& training) {
  return training.software.host.launch_alone() > Duration::zero();
}

bool has_no_launches(const TrainingSpec& training) { return training.software.host.launch == Duration::zero(); }

bool is_captured(const TrainingSpec& training) { return !has_no_launches(training) && !launches_one_by_one(training); }

bool has_no_overlap(const TrainingSpec& training) { return !training.software.overlap_gradients; }

bool has_one_tensor_rank(const TrainingSpec& training) { return training.parallel.tensor() == 1; }

bool has_one_stage(const TrainingSpec& training) { return training.parallel.pipeline() == 1; }

// True of schedules that wait for what a stage sends, or do not, whatever the software says.
bool has_fixed_sends(const TrainingSpec& training) {
  using enum workload::ScheduleKind;
  return training.schedule == kOneForwardOneBackward || training.schedule == kZeroBubbleH2 ||
         workload::is_v_shaped(training.schedule);
}

bool exchanges_layers(const TrainingSpec& training) { return training.exchanges_layers(); }

bool has_no_experts(const TrainingSpec& training) { return !has_experts(training); }

bool is_not_fp8(const TrainingSpec& training) { return !is_of_products_only(training.precision); }

// Experts that are all alike have as many rows each.
bool has_whole_tiles(const TrainingSpec& training) {
  if (!has_experts(training) || training.parallel.expert_skew > 0) return false;
  const workload::TransformerSpec& model = *training.transformer();
  const workload::LayerShape shape = workload::layer_shape(training, 1);
  const double load = workload::expert_loads(training).front();
  const std::int64_t of_rank = shape.own_tokens() * model.experts_per_token * shape.expert * shape.expert_tensor;
  const std::int64_t unit = model.experts * training.experts.row_multiple;
  return std::llround(static_cast<double>(of_rank) * load) % unit == 0;
}

constexpr std::string_view kNoExperts = "the model has no experts";
constexpr std::string_view kNoPipeline = "the job has no pipeline";
constexpr std::string_view kNoTensor = "the job has no tensor parallelism";
constexpr std::string_view kNoContext = "the job has no context parallelism";
constexpr std::string_view kNoOverlap = "'workload.overlap.gradients' is false";
constexpr std::string_view kByLayer =
    "gradients are exchanged layer by layer (ZeRO 3, or 'overlap.layers'), not in buckets";
constexpr std::string_view kNoLaunches = "with 'workload.software.host.launch' 0 no device waits for its host";
constexpr std::string_view kCaptured = "with 'workload.software.host.graphs' step no kernel is launched by itself";

constexpr IdleRule kIdleRules[] = {
    {"software.host.router", has_no_experts, kNoExperts},
    {"software.host.reads_sizes", has_no_experts, kNoExperts},
    {"software.host.reads_sizes", has_no_launches, kNoLaunches},
    {"software.host.reads_sizes", is_captured, kCaptured},
    {"software.host.graphs", has_no_launches, kNoLaunches},
    {"software.host.kernels", has_no_launches, kNoLaunches},
    {"software.host.kernels", is_captured, kCaptured},
    {"software.host.launch", is_captured, kCaptured},
    {"software.footprint.received", has_one_stage, kNoPipeline},
    {"software.footprint.pieces", [](const TrainingSpec& training) { return !has_pieces(training); },
     "no tensor-parallel GEMM is cut into pieces ('workload.software.overlap.tensor')"},
    {"software.footprint.grouped", has_no_experts, kNoExperts},
    {"software.footprint.router_weights", has_no_experts, kNoExperts},
    {"software.footprint.deterministic", [](const TrainingSpec& training) { return !training.deterministic; },
     "'workload.deterministic' is false"},
    {"software.footprint.attention_copy", [](const TrainingSpec& training) { return !has_flash_attention(training); },
     "the model has no flash attention"},
    {"software.footprint.gradient_copy",
     [](const TrainingSpec& training) { return size_of(training.software.gradients) >= Bytes(4); },
     "gradients have 32 bits or more"},
    {"software.fp8", is_not_fp8, "no GEMM of the job is in fp8 or int8"},
    {"software.fp8", [](const TrainingSpec& training) { return !is_not_fp8(training) && training.recipe.has_value(); },
     "'workload.recipe' replaces it"},
    {"software.fp8.copies",
     [](const TrainingSpec& training) { return !is_not_fp8(training) && training.software.fp8.parameters; },
     "'workload.software.fp8.parameters' is true: parameters are in fp8 themselves"},
    {"overlap.bucket", exchanges_layers, kByLayer},
    {"software.overlap.bucket", exchanges_layers, kByLayer},
    {"software.overlap.bucket_of_replica", exchanges_layers, kByLayer},
    {"software.overlap.parameters", [](const TrainingSpec& training) { return !training.parallel.updates_shares(); },
     "with ZeRO 1 and 2 alone updated parameters are gathered by themselves"},
    {"software.overlap.parameters", has_no_overlap, kNoOverlap},
    {"software.overlap.layers", [](const TrainingSpec& training) { return training.parallel.zero == 0; },
     "without ZeRO gradients are exchanged in buckets"},
    {"software.overlap.layers", [](const TrainingSpec& training) { return training.parallel.shares_parameters(); },
     "with ZeRO 3 they are exchanged layer by layer anyway"},
    {"software.overlap.layers", has_no_overlap, kNoOverlap},
    {"software.overlap.pipeline", has_one_stage, kNoPipeline},
    {"software.overlap.pipeline", has_fixed_sends,
     "1f1b waits for what it sends, and V-shaped schedules and zb-h2 do not, whatever this says"},
    {"software.scatter_gather", has_one_tensor_rank, kNoTensor},
    {"parallel.context_kind", [](const TrainingSpec& training) { return training.parallel.context() == 1; },
     kNoContext},
};

// Rates of the software that those of the devices' own generations replace; of architectures that no device has.
void find_idle_rates(Section& section, const ConfigValue& software, std::span<const system::DeviceSpec> devices) {
  constexpr std::string_view kSoftware = "workload.software";
  const ConfigEntry* rates = software.find("rates");
  const ConfigEntry* rates_of = software.find("rates_of");
  if (rates_of == nullptr) return;
  const auto is_device = [&](const std::string& name) {
    return std::ranges::any_of(devices, [&](const system::DeviceSpec& device) {
      return name_of(device.architecture) == name || name_of(measured_as(device.architecture)) == name;
    });
  };
  for (const ConfigEntry& other : rates_of->value.entries)
    if (!is_device(other.key))
      section.idle(fmt::format("{}.rates_of.{}", kSoftware, other.key), fmt::format("no device is {}", other.key));
  if (rates == nullptr) return;
  for (const ConfigEntry& rate : rates->value.entries) {
    std::vector<std::string> holding;
    for (const system::DeviceSpec& device : devices) {
      std::string name(name_of(device.architecture));
      if (rates_of->value.find(name) == nullptr) name = name_of(measured_as(device.architecture));
      const ConfigEntry* own = rates_of->value.find(name);
      const ConfigEntry* other = own == nullptr ? nullptr : own->value.find(rate.key);
      if (other == nullptr || !other->defaulted.empty()) break;
      holding.push_back(
          fmt::format("'{}.rates_of.{}.{}' holds on {}", kSoftware, name, rate.key, printable(device.name)));
    }
    if (holding.size() == devices.size())
      section.idle(fmt::format("{}.rates.{}", kSoftware, rate.key), fmt::format("{}", fmt::join(holding, ", ")),
                   fmt::format("set {}.rates_of.ARCHITECTURE.{}", kSoftware, rate.key));
  }
}

// Keys of a job that it makes no use of. The first reason of a key is told.
void find_idle_workload(Section& section, const TrainingSpec& training) {
  std::string_view told;
  for (const IdleRule& rule : kIdleRules) {
    if (rule.key == told || !rule.holds(training)) continue;
    told = rule.key;
    section.idle(fmt::format("workload.{}", rule.key), std::string(rule.reason), "leave it out");
  }
  for (const AlikeValues& alike : alike_values(training))
    if (alike.values.empty() && section.given(alike.path) && is_setting(section.where_below(alike.path)))
      section.context().diagnostics().warning(
          section.where_below(alike.path),
          fmt::format("'{}' makes no difference to the time: {}", alike.path, alike.reason));
  if (has_whole_tiles(training))
    section.idle("workload.experts.row_multiple", "the rows of every expert are a multiple of it already",
                 "leave it out");
}

bool computes_exponentials(const TrainingSpec& training, std::span<const system::DeviceSpec> devices) {
  return has_flash_attention(training) && std::ranges::any_of(devices, [&](const system::DeviceSpec& device) {
           return device.streaming_multiprocessors > 0 || training.software.rates_on(device.architecture).kernels;
         });
}

// Values of a key between which a job takes equally long where `holds` is true of it.
struct AlikeRule {
  std::string_view key;             // below workload
  std::vector<std::string> values;  // all that there are, if empty
  bool (*holds)(const TrainingSpec& training);
  std::string_view reason;
};

bool recomputes_scores_alone(const TrainingSpec& training) {
  return training.transformer() != nullptr && training.software.selective == workload::SelectiveKind::kScores;
}

// Nobody to exchange gradients with, of experts neither.
bool has_one_copy(const TrainingSpec& training) { return training.parallel.replicas() == 1 && !has_experts(training); }

bool exchanges_once(const TrainingSpec& training) { return training.micro_batches() == 1 || training.keeps_gathered(); }

// Rules in order: the first one of a key that holds is told.
const std::vector<AlikeRule>& alike_rules() {
  static const std::vector<AlikeRule> kRules = {
      {"recompute",
       {"none", "selective"},
       [](const TrainingSpec& training) { return recomputes_scores_alone(training) && has_flash_attention(training); },
       "selective computes the scores of attention again, and flash attention keeps none"},
      {"parallel.zero",
       {"0", "1", "2", "3"},
       [](const TrainingSpec& training) { return training.parallel.replicas() == 1; },
       "the job has one replica, so that there is nothing to share"},
      {"parallel.zero",
       {"1", "2"},
       exchanges_once,
       "both reduce-scatter gradients and gather parameters once a step; 2 shares the memory of gradients, too"},
      {"optimizer.matrices.mode",
       {"duplicated", "distributed", "layer-wise", "blockwise"},
       [](const TrainingSpec& training) {
         return training.parallel.tensor() == 1 && training.parallel.replicas() == 1 && !has_experts(training);
       },
       "every rank has whole matrices, and nobody else has copies of them"},
      {"optimizer.matrices.mode",
       {"duplicated", "blockwise"},
       [](const TrainingSpec& training) { return training.parallel.tensor() == 1 && training.parallel.zero == 0; },
       "every rank has whole matrices, and computes all of them"},
      {"schedule.kind", {"gpipe", "1f1b"}, has_one_stage, kNoPipeline},
      {"schedule.kind", {"zero-bubble", "zb-h2"}, has_one_stage, kNoPipeline},
      {"overlap.bucket", {}, has_one_copy, "the job has one replica, which exchanges no gradients"},
      {"overlap.gradients", {}, has_one_copy, "the job has one replica, which exchanges no gradients"},
      {"overlap.bucket", {}, has_no_overlap, kNoOverlap},
      {"schedule.kind",
       {"1f1b", "gpipe"},
       [](const TrainingSpec&) { return true; },
       "both wait for the pipeline to fill and to drain once a step; 1f1b keeps the activations of fewer "
       "micro-batches"},
  };
  return kRules;
}

bool updates_on_host(const TrainingSpec& training) { return training.offload.states > 0 && training.offload.on_host; }

bool offloads(const ConfigValue* workload) { return workload != nullptr && workload->find("offload") != nullptr; }

// Peaks of formats in which no job of a model has products. A device without a peak in bf16 takes that in fp16.
void find_idle_peaks(Section& section, std::span<const JobSource> jobs, std::span<const system::DeviceSpec> devices) {
  const auto needs = [&](Precision format) {
    return std::ranges::any_of(jobs, [&](const JobSource& job) {
      const Precision of_job = job.workload.training->precision;
      return of_job == format || (format == Precision::kFp8 && is_of_products_only(of_job));
    });
  };
  const bool has_bf16 = std::ranges::all_of(devices, [](const system::DeviceSpec& device) {
    return device.peaks[static_cast<std::size_t>(Precision::kBf16)].has_value();
  });
  std::vector<Precision> formats(system::kFormatsOfTheirOwn.begin(), system::kFormatsOfTheirOwn.end());
  formats.push_back(Precision::kFp8);
  for (const Precision format : formats)
    if (!needs(format) && (has_bf16 || format != Precision::kFp16))
      section.idle(fmt::format("cluster.node.device.peak.{}", name_of(format)),
                   fmt::format("no job has products in {}", name_of(format)),
                   fmt::format("write workload.precision: {}", name_of(format)));
}

// Keys of the cluster that tell how its devices train.
void find_idle_cluster(Section& section, std::span<const JobSource> jobs, std::span<const system::DeviceSpec> devices) {
  const auto none_of_jobs = [&](const auto& is_so) {
    return std::ranges::none_of(
        jobs, [&](const JobSource& job) { return job.workload.training && is_so(*job.workload.training); });
  };
  if (none_of_jobs([](const TrainingSpec&) { return true; })) {
    for (const char* key : {"host", "host_launch", "device.exponentials"})
      section.idle(fmt::format("cluster.node.{}", key), "the time of training jobs alone follows from it");
    return;
  }
  if (none_of_jobs([](const TrainingSpec& training) { return training.offload.any(); }))
    section.idle("cluster.node.host", "no job offloads anything to hosts", "write workload.offload");
  else if (none_of_jobs([](const TrainingSpec& training) { return updates_on_host(training); }))
    section.idle("cluster.node.host.update", "no job has hosts update the optimizer's states",
                 "write workload.offload: {states: 100 %, update: host}", IdleWarning::kOwnFile);
  if (none_of_jobs(launches_one_by_one))
    section.idle("cluster.node.host_launch", std::string(none_of_jobs(is_captured) ? kNoLaunches : kCaptured));
  if (none_of_jobs([&](const TrainingSpec& training) { return computes_exponentials(training, devices); }))
    section.idle("cluster.node.device.exponentials",
                 "it tells the time of flash attention on devices with multiprocessors, and no job has that");
  const bool all_train =
      std::ranges::all_of(jobs, [](const JobSource& job) { return job.workload.training.has_value(); });
  if (all_train) find_idle_peaks(section, jobs, devices);
  for (const Precision format : system::kFormatsOfTheirOwn)
    if (none_of_jobs([&](const TrainingSpec& training) { return training.precision == format; }))
      section.idle(fmt::format("cluster.node.device.compute.{}", name_of(format)),
                   fmt::format("no job has GEMMs in {}", name_of(format)),
                   fmt::format("write workload.precision: {}", name_of(format)));
}

// Constants of the library that `measured`, below cluster.nccl, replaces; `path` leads to it.
void overrule_constants(Section& section, const ConfigValue& measured, const std::string& path) {
  for (const ConfigEntry& entry : measured.entries) {
    const std::string key = fmt::format("{}.{}", path, entry.key);
    if (entry.value.kind == ConfigValue::Kind::kMap)
      overrule_constants(section, entry.value, key);
    else
      section.overruled("collectives.constants" + key, "cluster.nccl" + key, entry.value.where);
  }
}

// Constants of NCCL, shipped or measured on the cluster, that no machine of this one reads.
void find_idle_machine_constants(Section& section, std::span<const MachineKind> machines) {
  for (std::size_t number = 0; number < collectives::kNcclConstants; ++number) {
    const std::string reason = collectives::why_idle(number, machines);
    if (reason.empty()) continue;
    for (const char* constants : {"cluster.nccl", "collectives.constants"})
      section.idle(fmt::format("{}.{}", constants, collectives::nccl_constant_entries()[number].path), reason);
  }
}

}  // namespace

std::vector<AlikeValues> alike_values(const TrainingSpec& training) {
  std::vector<AlikeValues> alike;
  for (const AlikeRule& rule : alike_rules())
    if (rule.holds(training))
      alike.push_back({fmt::format("workload.{}", rule.key), rule.values, std::string(rule.reason)});
  return alike;
}

void find_idle_constants(Section& section, bool has_nccl, std::span<const MachineKind> machines) {
  const ConfigValue* cluster = section.value("cluster");
  const ConfigEntry* measured = cluster == nullptr ? nullptr : cluster->find("nccl");
  if (has_nccl && measured != nullptr) overrule_constants(section, measured->value, {});
  if (has_nccl) return find_idle_machine_constants(section, machines);
  const std::string reason = "'collectives.library' is 'fixed', and NCCL alone follows from it";
  section.idle("cluster.nccl", reason, "collectives.library: nccl", IdleWarning::kOwnFile);
  for (const char* key : {"cluster.node.interconnect", "cluster.node.multicast", "cluster.scale_out.network.kind"})
    section.idle(key, reason, "collectives.library: nccl");
}

void note_acting_keys(Section& experiment) {
  const ConfigValue* jobs = experiment.value("jobs");
  bool copies = offloads(experiment.value("workload"));
  if (jobs != nullptr)
    for (const ConfigValue& job : jobs->items)
      if (const ConfigEntry* of_job = job.find("workload")) copies = copies || offloads(&of_job->value);
  if (copies) experiment.context().note_acting("cluster.node.device.pcie");
}

void find_idle_keys(Section& section, std::span<const JobSource> jobs, std::span<const system::DeviceSpec> devices) {
  find_idle_cluster(section, jobs, devices);
  const ConfigValue* workload = section.value("workload");
  const ConfigEntry* software = workload == nullptr ? nullptr : workload->find("software");
  if (software == nullptr || jobs.size() != 1 || !jobs.front().workload.training) return;
  find_idle_rates(section, software->value, devices);
  find_idle_workload(section, *jobs.front().workload.training);
}

}  // namespace orrery::experiment
