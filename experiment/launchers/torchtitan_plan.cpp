// SPDX-License-Identifier: MIT
// Rules of torchtitan/config/job_config.py, distributed/parallel_dims.py and distributed/pipeline_parallel.py
// (pytorch/torchtitan, 2024 to 2025).
#include "experiment/launchers/torchtitan_plan.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <nlohmann/json.hpp>

#include "core/files/json.h"
#include "experiment/launchers/argument_files.h"

namespace orrery::experiment {
namespace {

using workload::ScheduleKind;

constexpr std::array<TitanFlavor, 13> kFlavors = {{
    {"llama3", "debugmodel", "llama3-debug"},
    {"llama3", "8B", "llama3-8b"},
    {"llama3", "70B", "llama3-70b"},
    {"llama3", "405B", "llama3-405b"},
    {"llama2", "7B", "llama2-7b"},
    {"llama2", "13B", "llama2-13b"},
    {"llama2", "70B", "llama2-70b"},
    {"llama4", "17bx16e", "llama4-scout"},
    {"deepseek_v3", "671B", "deepseek-v3"},
    {"qwen3", "30B-A3B", "qwen3-30b-a3b"},
    {"qwen3", "235B-A22B", "qwen3-235b-a22b"},
    {"gpt_oss", "20b", "gpt-oss-20b"},
    {"gpt_oss", "120b", "gpt-oss-120b"},
}};

constexpr std::string_view kInterleavedInstead = "as interleaved 1F1B, which holds as many micro-batches";
constexpr std::array<TitanSchedule, 7> kSchedules = {{
    {"1F1B", ScheduleKind::kOneForwardOneBackward},
    {"GPipe", ScheduleKind::kGpipe},
    {"Interleaved1F1B", ScheduleKind::kInterleaved, 2},
    {"ZBVZeroBubble", ScheduleKind::kZeroBubbleV, 2},
    {"DualPipeV", ScheduleKind::kDualPipeV, 2},
    {"InterleavedZeroBubble", ScheduleKind::kInterleaved, 2, kInterleavedInstead},
    {"LoopedBFS", ScheduleKind::kInterleaved, 2, kInterleavedInstead},
}};

// "Interleaved1F1B" and "interleaved_1f1b" as one.
std::string plain(std::string_view name) {
  std::string text;
  for (const char c : name)
    if (c != '_') text += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

constexpr Range kTitanBatch = {1, std::int64_t{1} << 30};

std::string model_of(const LaunchReading& reading) {
  if (reading.given(kModelOption)) return reading.text_or(kModelOption);
  const std::string name = reading.text_or("model.name", "llama3");
  const std::string flavor = reading.text_or("model.flavor", "debugmodel");
  const auto found = std::ranges::find_if(
      kFlavors, [&](const TitanFlavor& known) { return known.name == name && known.flavor == flavor; });
  return found == kFlavors.end() ? std::string() : std::string(found->model);
}

TitanDegrees degrees_of(const LaunchReading& reading) {
  TitanDegrees degrees;
  degrees.tensor = number_within(reading, "parallelism.tensor_parallel_degree", 1);
  degrees.pipeline = number_within(reading, "parallelism.pipeline_parallel_degree", 1);
  degrees.context = number_within(reading, "parallelism.context_parallel_degree", 1);
  degrees.replicate = number_within(reading, "parallelism.data_parallel_replicate_degree", 1);
  degrees.shard = number_within(reading, "parallelism.data_parallel_shard_degree", -1);
  std::int64_t others = 1;
  for (const std::int64_t degree : {degrees.tensor, degrees.pipeline, degrees.context, degrees.replicate})
    others = std::min<std::int64_t>(others * degree, 1 << 24);
  if (degrees.shard < 0) degrees.shard = world_of(reading) / others;
  return degrees;
}

std::string product_text(const TitanDegrees& degrees) {
  return fmt::format("replicate {} x shard {} x context {} x tensor {} x pipeline {}", degrees.replicate, degrees.shard,
                     degrees.context, degrees.tensor, degrees.pipeline);
}

// Stage of ZeRO: ranks share parameters, or what a forward pass has gathered stays until after the backward pass.
std::int64_t zero_of(LaunchReading& reading, const TitanDegrees& degrees) {
  if (degrees.shard * degrees.context <= 1) return 0;
  const std::string reshard =
      reading.word_or("parallelism.fsdp_reshard_after_forward", "default", "default always never");
  if (reshard == "always" && degrees.pipeline > 1) reading.set("workload.software.reshard_pipeline", true);
  return reshard == "never" && degrees.pipeline == 1 ? 2 : 3;
}

std::int64_t count_layers(const std::string& part) {
  try {
    const nlohmann::json modules = parse_json(part);
    if (!modules.is_array()) return 0;
    return std::ranges::count_if(modules, [](const auto& name) {
      return name.is_string() && name.template get<std::string>().starts_with("layers.");
    });
  } catch (const JsonError&) {
    return 0;
  }
}

// "layers.8" is 8; nothing for what is no layer.
std::optional<std::int64_t> layer_number(std::string_view name) {
  std::int64_t number = 0;
  if (!name.starts_with("layers.")) return std::nullopt;
  const auto [end, problem] = std::from_chars(name.data() + 7, name.data() + name.size(), number);
  return problem == std::errc() && end == name.data() + name.size() ? std::optional(number) : std::nullopt;
}

// Layers of stages that begin at the points.
std::vector<std::int64_t> layers_between(LaunchReading& reading, const std::vector<std::string>& points,
                                         std::int64_t layers) {
  std::vector<std::int64_t> counts;
  std::int64_t begin = 0;
  for (const std::string& point : points) {
    const std::optional<std::int64_t> number = layer_number(point);
    if (!number || *number < begin || *number > layers) {
      reading.error_at("parallelism.pipeline_parallel_split_points",
                       fmt::format("'{}' does not begin a stage of {} layers", printable(point, 40), layers),
                       "names of layers in their order, as layers.8");
      return {};
    }
    counts.push_back(*number - begin);
    begin = *number;
  }
  counts.push_back(layers - begin);
  return counts;
}

std::vector<std::int64_t> layers_of_stages(LaunchReading& reading, const TitanSchedule& schedule, std::int64_t pipeline,
                                           std::int64_t layers) {
  if (const std::vector<std::string> parts = reading.list("parallelism.module_fqns_per_model_part");
      !parts.empty() && parts.front() != "[]") {
    std::vector<std::int64_t> counts;
    for (const std::string& part : parts) counts.push_back(count_layers(part));
    return counts;
  }
  if (const auto points = words_of_list(reading, "parallelism.pipeline_parallel_split_points"); !points.empty())
    return layers_between(reading, points, layers);
  const std::int64_t first =
      number_within(reading, "parallelism.pipeline_parallel_first_stage_less_layers", 1, {0, 1000});
  const std::int64_t last =
      number_within(reading, "parallelism.pipeline_parallel_last_stage_less_layers", 1, {0, 1000});
  std::int64_t stages = pipeline * schedule.stages;
  if (const std::int64_t each = number_within(reading, "parallelism.pipeline_parallel_layers_per_stage", 0); each > 0)
    stages = (layers + first + last + each - 1) / each;
  return titan_layers(layers, stages, first, last);
}

// Null if the file names none that is known.
const TitanSchedule* schedule_of(const LaunchReading& reading) {
  const std::string name = plain(reading.text_or("parallelism.pipeline_parallel_schedule", "1F1B"));
  const auto* found = std::ranges::find(kSchedules, name, [](const TitanSchedule& s) { return plain(s.name); });
  return found == kSchedules.end() ? nullptr : found;
}

// Layers of each rank.
std::int64_t virtual_stages(LaunchReading& reading, std::int64_t pipeline, std::int64_t layers) {
  const TitanSchedule* schedule = pipeline > 1 ? schedule_of(reading) : nullptr;
  if (schedule == nullptr) return 1;
  const auto stages = static_cast<std::int64_t>(layers_of_stages(reading, *schedule, pipeline, layers).size());
  return std::max<std::int64_t>(1, stages / pipeline);
}

}  // namespace

const TitanFlavor* flavor_of_model(std::string_view model) {
  const auto* found = std::ranges::find(kFlavors, model, &TitanFlavor::model);
  return found == kFlavors.end() ? nullptr : found;
}

const TitanSchedule* schedule_of_kind(ScheduleKind kind) {
  const auto* found = std::ranges::find(kSchedules, kind, &TitanSchedule::kind);
  return found == kSchedules.end() ? nullptr : found;
}

std::vector<std::int64_t> titan_layers(std::int64_t layers, std::int64_t stages, std::int64_t first,
                                       std::int64_t last) {
  const std::int64_t all = layers + first + last, more = all % stages;
  std::vector<std::int64_t> counts;
  for (std::int64_t stage = 0; stage < stages; ++stage) counts.push_back(all / stages + (stage < more ? 1 : 0));
  counts.front() -= first;
  counts.back() -= last;
  return counts;
}

void check_titan_numbers(LaunchReading& reading) {
  constexpr Range kDegree = {1, 65536};
  constexpr std::array<ArgumentRange, 13> kRanges = {{
      {"parallelism.tensor_parallel_degree", kDegree},
      {"parallelism.pipeline_parallel_degree", kDegree},
      {"parallelism.context_parallel_degree", kDegree},
      {"parallelism.expert_parallel_degree", kDegree},
      {"parallelism.data_parallel_replicate_degree", kDegree},
      {"parallelism.data_parallel_shard_degree", {-1, 65536}},
      {"parallelism.pipeline_parallel_microbatch_size", kDegree},
      {"parallelism.pipeline_parallel_layers_per_stage", kDegree},
      {"parallelism.pipeline_parallel_first_stage_less_layers", {0, 1000}},
      {"parallelism.pipeline_parallel_last_stage_less_layers", {0, 1000}},
      {"experimental.pipeline_parallel_microbatches", kDegree},
      {"training.local_batch_size", kTitanBatch},
      {"training.global_batch_size", {-1, kTitanBatch.most}},
  }};
  check_ranges(reading, kRanges);
}

void read_titan_model(LaunchReading& reading) {
  if (const std::string model = model_of(reading); !model.empty())
    return reading.set(model.starts_with('{') ? "workload.model" : "workload.model.like", model);
  const std::string name = reading.text_or("model.name", "llama3");
  std::vector<std::string> known;
  for (const TitanFlavor& flavor : kFlavors)
    if (flavor.name == name) known.emplace_back(flavor.flavor);
  if (!known.empty())
    return reading.error(
        fmt::format("'{}' is no flavor of {} that is known here: {} are",
                    printable(reading.text_or("model.flavor", "debugmodel"), 40), name, fmt::join(known, ", ")),
        "--model NAME or --model config.json says the model in its place");
  for (const TitanFlavor& flavor : kFlavors)
    if (known.empty() || known.back() != flavor.name) known.emplace_back(flavor.name);
  reading.error_at("model.name",
                   fmt::format("'{}' is no model of torchtitan that is known here: {} are", printable(name, 40),
                               fmt::join(known, ", ")),
                   "--model NAME or --model config.json says the model in its place");
}

void read_titan_data(LaunchReading& reading) {
  const TitanDegrees degrees = degrees_of(reading);
  if (degrees.shard < 1)
    return reading.missing("workload.parallel.data",
                           "data_parallel_shard_degree is what the other degrees leave of the devices, and their "
                           "number is not known",
                           "--cluster NAME and --nodes N, or --set workload.parallel.data=N");
  std::int64_t ranks = degrees.replicate;
  for (const std::int64_t degree : {degrees.shard, degrees.context, degrees.tensor, degrees.pipeline})
    ranks = std::min<std::int64_t>(ranks * degree, std::int64_t{1} << 40);
  if (const std::int64_t world = world_of(reading); world > 0 && ranks != world)
    return reading.error(fmt::format("{} is {}, and the cluster has {} devices", product_text(degrees), ranks, world),
                         "--nodes N says how many nodes the file is for");
  reading.set("workload.parallel.data", degrees.data());
  const std::int64_t zero = zero_of(reading, degrees);
  reading.set("workload.parallel.zero", zero);
  if (zero > 0 && degrees.replicate > 1) reading.set("workload.parallel.shard", degrees.shard * degrees.context);
}

void read_titan_batch(LaunchReading& reading) {
  const TitanDegrees degrees = degrees_of(reading);
  if (degrees.shard < 1) return;
  const std::int64_t local = number_within(reading, "training.local_batch_size", 8, kTitanBatch);
  const std::int64_t step = local * degrees.data();
  const std::int64_t given = number_within(reading, "training.global_batch_size", -1, kTitanBatch);
  const std::int64_t global = given > 0 ? given : step;
  if (global % step != 0)
    return reading.error(
        fmt::format("'training.global_batch_size' is {}, no multiple of local_batch_size {} x {} replicas = {}", global,
                    local, degrees.data(), step));
  std::int64_t micro = local;
  if (degrees.pipeline > 1) {
    const std::int64_t count = number_within(reading, "experimental.pipeline_parallel_microbatches", 0);
    micro = count > 0 ? local / count : number_within(reading, "parallelism.pipeline_parallel_microbatch_size", 1);
    if (micro < 1 || local % micro != 0)
      return reading.error(fmt::format("micro-batches of {} do not divide the local batch of {}", micro, local));
    if (global > step)
      reading.warning(
          fmt::format("gradients are accumulated over {} runs of the pipeline, which is filled and drained "
                      "in each; it is simulated as one",
                      global / step));
  }
  reading.set("workload.batch.global", global);
  reading.set("workload.batch.micro", micro);
}

void read_titan_pipeline(LaunchReading& reading) {
  const std::int64_t pipeline = number_within(reading, "parallelism.pipeline_parallel_degree", 1);
  if (pipeline <= 1) return;
  const TitanSchedule* schedule = schedule_of(reading);
  if (schedule == nullptr) {
    const std::string name = reading.text_or("parallelism.pipeline_parallel_schedule");
    std::vector<std::string_view> known;
    for (const TitanSchedule& one : kSchedules) known.push_back(one.name);
    return reading.error_at(
        "parallelism.pipeline_parallel_schedule",
        fmt::format("'{}' is no schedule that is known here: {} are", printable(name, 40), fmt::join(known, ", ")));
  }
  if (!schedule->instead.empty()) reading.leave_out(fmt::format("simulated {}", schedule->instead));
  reading.set("workload.schedule.kind", std::string(workload::name_of(schedule->kind)));
  const std::optional<std::int64_t> layers = layers_of_model(reading, model_of(reading));
  if (!layers) return;
  const std::vector<std::int64_t> counts = layers_of_stages(reading, *schedule, pipeline, *layers);
  const auto stages = static_cast<std::int64_t>(counts.size());
  if (counts.empty()) return;
  const bool is_right = schedule->stages == 1 ? stages == pipeline : stages % pipeline == 0 && stages > pipeline;
  if (!is_right || std::ranges::min(counts) < 0)
    return reading.error(fmt::format("{} layers in {} stages ({}) are not for schedule {} of {} ranks", *layers, stages,
                                     fmt::join(counts, ", "), schedule->name, pipeline),
                         "another 'parallelism.pipeline_parallel_layers_per_stage'");
  if (schedule->kind == ScheduleKind::kInterleaved) reading.set("workload.schedule.virtual_stages", stages / pipeline);
  if (std::ranges::adjacent_find(counts, std::ranges::not_equal_to()) != counts.end())
    reading.set("workload.pipeline_layers", fmt::format("[{}]", fmt::join(counts, ", ")));
}

void read_titan_checkpointing(LaunchReading& reading) {
  const std::string mode =
      reading.word_or("activation_checkpoint.mode", "selective", "none selective full memory_budget");
  const std::string option = reading.text_or("activation_checkpoint.selective_ac_option", "2");
  if (mode == "memory_budget") return reading.leave_out("what the compiler keeps is not known; nothing is recomputed");
  if (mode != "selective" || option == "op") return reading.set("workload.recompute", mode);
  std::int64_t every = 0;
  const auto [end, problem] = std::from_chars(option.data(), option.data() + option.size(), every);
  if (problem != std::errc() || end != option.data() + option.size() || every < 1)
    return reading.error_at("activation_checkpoint.selective_ac_option",
                            fmt::format("'{}' is neither a number of layers nor op", printable(option, 40)));
  const std::optional<std::int64_t> layers = layers_of_model(reading, model_of(reading));
  if (!layers || every == 1) return reading.set("workload.recompute", std::string("full"));
  // Every so many layers of a rank are recomputed, from that number on; the key counts those of a virtual stage.
  const std::int64_t pipeline = number_within(reading, "parallelism.pipeline_parallel_degree", 1);
  const std::int64_t stages = virtual_stages(reading, pipeline, *layers), of_rank = *layers / pipeline / every;
  const std::int64_t of_stage = (of_rank + stages / 2) / stages;
  reading.set("workload.recompute", std::string(of_stage > 0 ? "full" : "none"));
  if (of_stage > 0) reading.set("workload.recompute_layers", of_stage);
}

}  // namespace orrery::experiment
