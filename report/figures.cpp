// SPDX-License-Identifier: MIT
#include "report/figures.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "core/config/number_text.h"
#include "core/config/quantity_text.h"
#include "core/error.h"
#include "core/whole_memory.h"

namespace orrery::report {
namespace {

using Value = std::optional<FigureValue>;
using Source = FigureSource;

template <auto kMember>
Value of_training(const Source& from) {
  return from.training == nullptr ? Value() : Value(from.training->*kMember);
}

// The pace of a job whose model has tokens, or has none.
template <bool kHasTokens>
Value pace(const Source& from) {
  if (from.training == nullptr || from.training->has_tokens != kHasTokens) return std::nullopt;
  return from.training->tokens_per_s_per_gpu;
}

template <bool kHasTokens>
Value pace_of_all(const Source& from) {
  if (from.training == nullptr || from.training->has_tokens != kHasTokens) return std::nullopt;
  return from.training->tokens_per_s_per_gpu * static_cast<double>(from.training->workers);
}

Value energy_of_token(const Source& from) {
  const TrainingFigures* training = from.training;
  if (training == nullptr || !training->power || !training->has_tokens) return std::nullopt;
  if (training->tokens_per_s_per_gpu <= 0) return std::nullopt;
  return static_cast<double>(training->power->count()) / training->tokens_per_s_per_gpu;
}

Value memory_share(const Source& from) {
  if (from.training == nullptr || from.training->capacity == Bytes(0)) return std::nullopt;
  return static_cast<double>(from.training->memory.in_use().count()) /
         static_cast<double>(whole_memory(from.training->capacity).count());
}

template <auto kMember>
Value bytes_of_need(const Source& from) {
  return from.training == nullptr ? Value() : Value((from.training->memory.*kMember)().count());
}

const TrainingRun* run_of(const Source& from) {
  return from.training != nullptr && from.training->run ? &*from.training->run : nullptr;
}

template <bool kHasTokens>
Value length_of_run(const Source& from) {
  if (run_of(from) == nullptr || from.training->has_tokens != kHasTokens) return std::nullopt;
  return run_of(from)->tokens;
}

Value optional_value(const std::optional<double>& value) { return value ? Value(*value) : Value(); }

template <PartKind... kKinds>
Value seconds_of_part(const Source& from) {
  if (!from.has_parts) return std::nullopt;
  double sum = 0;
  for (const Part& part : from.parts)
    if (((part.kind == kKinds) || ...)) sum += part.seconds;
  return sum;
}

using enum FigureGroup;
using enum FigureUnit;

constexpr auto kFigures = std::to_array<Figure>({
    {.group = kAll,
     .path = "iteration_time_s",
     .key = "iteration_time_s",
     .column = "iteration_time",
     .heading = "time",
     .unit = kSeconds,
     .better = Better::kLess,
     .is_default = true,
     .is_compared = true,
     .meaning = "time of one iteration; of several jobs the time until the last of them is done",
     .take = [](const Source& from) { return Value(seconds(from.iteration)); }},
    {.group = kTraining,
     .path = "mfu",
     .key = "mfu",
     .heading = "MFU",
     .unit = kShare,
     .better = Better::kMore,
     .is_default = true,
     .is_of_plans = true,
     .is_compared = true,
     .meaning = "model FLOPs over the peak of the devices in use in the time",
     .take = of_training<&TrainingFigures::mfu>},
    {.group = kTraining,
     .path = "mfu_all_devices",
     .heading = "of all devices",
     .unit = kShare,
     .better = Better::kMore,
     .meaning = "model FLOPs over the peak of all devices of the cluster in the time",
     .take = of_training<&TrainingFigures::mfu_all_devices>},
    {.group = kTraining,
     .path = "tokens_per_s_per_gpu",
     .key = "tokens_per_s_per_gpu",
     .column = "throughput",
     .heading = "per GPU",
     .unit = kTokensPerSecond,
     .better = Better::kMore,
     .is_of_plans = true,
     .is_rare = true,
     .is_compared = true,
     .meaning = "tokens a second of one device",
     .needs = "a job that trains a model of tokens, such as a transformer, has it; others have samples_per_s_per_gpu",
     .take = pace<true>},
    {.group = kTraining,
     .path = "samples_per_s_per_gpu",
     .key = "samples_per_s_per_gpu",
     .column = "throughput",
     .heading = "per GPU",
     .unit = kSamplesPerSecond,
     .better = Better::kMore,
     .is_of_plans = true,
     .is_rare = true,
     .is_compared = true,
     .meaning = "samples a second of one device, where the model has no tokens",
     .needs = "a job that trains a model without tokens, such as resnet-50, has it; those of tokens have "
              "tokens_per_s_per_gpu",
     .take = pace<false>},
    {.group = kTraining,
     .path = "tokens_per_s",
     .heading = "in all",
     .unit = kTokensPerSecond,
     .better = Better::kMore,
     .is_rare = true,
     .is_compared = true,
     .meaning = "tokens a second of all devices in use",
     .needs = "a job that trains a model of tokens, such as a transformer, has it; others have samples_per_s",
     .take = pace_of_all<true>},
    {.group = kTraining,
     .path = "samples_per_s",
     .heading = "in all",
     .unit = kSamplesPerSecond,
     .better = Better::kMore,
     .is_rare = true,
     .is_compared = true,
     .meaning = "samples a second of all devices in use, where the model has no tokens",
     .needs = "a job that trains a model without tokens, such as resnet-50, has it; those of tokens have tokens_per_s",
     .take = pace_of_all<false>},
    {.group = kTraining,
     .path = "energy_per_token_J",
     .heading = "J/token",
     .unit = kNumber,
     .better = Better::kLess,
     .is_rare = true,
     .is_compared = true,
     .meaning = "energy of a token in joules at the devices' TDP, an upper bound, of the devices alone; where their "
                "power is known",
     .needs = "a job that trains a model of tokens has it, on devices with cluster.node.device.power",
     .take = energy_of_token},
    {.group = kTraining,
     .path = "model_tflops_per_gpu",
     .key = "model_tflops_per_gpu",
     .column = "tflops",
     .heading = "TFLOP/s",
     .unit = kTeraflops,
     .better = Better::kMore,
     .meaning = "model FLOPs of one device, 10^12 a second",
     .take = of_training<&TrainingFigures::model_tflops_per_gpu>},
    {.group = kTraining,
     .path = "bubble_share",
     .key = "bubble_share",
     .heading = "bubble share",
     .unit = kShare,
     .better = Better::kLess,
     .is_rare = true,
     .is_compared = true,
     .meaning = "share of the time from the first pass of an iteration to its last in which a rank of the pipeline is "
                "in no pass; mean over the ranks of one pipeline of several stages",
     .needs = "a job whose pipeline has several stages has it: workload.parallel.pipeline above 1; of several jobs "
              "each has its own, in jobs[]",
     .take =
         [](const Source& from) {
           const bool has = from.training != nullptr && from.training->bubble;
           return has ? Value(from.training->bubble->share) : Value();
         }},
    {.group = kKernels,
     .path = "measured_kernels",
     .heading = "measured kernels",
     .unit = kShare,
     .meaning = "share of the time of all kernels that comes from measurements of the device's kernels",
     .take =
         [](const Source& from) {
           const bool has = from.training != nullptr && from.training->has_measured_kernels;
           return has ? Value(measured_share(*from.training)) : Value();
         }},
    {.group = kMemory,
     .path = "peak_bytes",
     .key = "memory_peak_bytes",
     .column = "memory",
     .heading = "memory",
     .unit = kBytes,
     .better = Better::kLess,
     .is_compared = true,
     .meaning = "memory that the fullest rank needs",
     .take = bytes_of_need<&workload::MemoryNeed::total>},
    {.group = kMemory,
     .path = "rest_bytes",
     .heading = "at rest",
     .unit = kBytes,
     .better = Better::kLess,
     .meaning = "memory of the fullest rank behind the optimizer's step, before activations come",
     .take = bytes_of_need<&workload::MemoryNeed::rest>},
    {.group = kMemory,
     .path = "in_use_bytes",
     .heading = "in use",
     .unit = kBytes,
     .better = Better::kLess,
     .meaning = "memory that the fullest rank needs with libraries and what the allocator cannot use",
     .take = bytes_of_need<&workload::MemoryNeed::in_use>},
    {.group = kMemory,
     .path = "capacity_bytes",
     .heading = "capacity",
     .unit = kBytes,
     .meaning = "memory of the fullest rank's device",
     .take = [](const Source& from) { return from.training ? Value(from.training->capacity.count()) : Value(); }},
    {.group = kMemory,
     .path = "in_use_share",
     .heading = "in use",
     .unit = kShare,
     .better = Better::kLess,
     .is_compared = true,
     .meaning = "share of the device's memory, as its driver has it, that the fullest rank needs with libraries; above "
                "1 it does not fit",
     .take = memory_share},
    {.group = kMemory,
     .path = "rank",
     .heading = "fullest rank",
     .unit = kNumber,
     .meaning = "rank that fills its device most",
     .take =
         [](const Source& from) {
           return from.training ? Value(std::int64_t{index_of(from.training->fullest)}) : Value();
         }},
    {.group = kWholeTraining,
     .path = "tokens",
     .heading = "tokens",
     .unit = kNumber,
     .is_rare = true,
     .meaning = "tokens of the whole training",
     .needs = "--set workload.tokens=N makes it for a model of tokens; others have training_run.samples",
     .take = length_of_run<true>},
    {.group = kWholeTraining,
     .path = "samples",
     .heading = "samples",
     .unit = kNumber,
     .is_rare = true,
     .meaning = "samples of the whole training, where the model has no tokens",
     .needs = "--set workload.tokens=N makes it for a model without tokens; those of tokens have training_run.tokens",
     .take = length_of_run<false>},
    {.group = kWholeTraining,
     .path = "time_s",
     .heading = "training",
     .unit = kSeconds,
     .better = Better::kLess,
     .meaning = "time of the whole training at the pace of this iteration",
     .take = [](const Source& from) { return run_of(from) ? Value(run_of(from)->seconds) : Value(); }},
    {.group = kWholeTraining,
     .path = "days",
     .key = "training_days",
     .column = "training_run",
     .heading = "training run",
     .unit = kDays,
     .better = Better::kLess,
     .is_compared = true,
     .meaning = "days of the whole training at the pace of this iteration",
     .take = [](const Source& from) { return run_of(from) ? Value(run_of(from)->seconds / kDay) : Value(); }},
    {.group = kWholeTraining,
     .path = "device_days",
     .heading = "device-days",
     .unit = kNumber,
     .better = Better::kLess,
     .meaning = "device-days of the whole training",
     .take = [](const Source& from) { return run_of(from) ? Value(run_of(from)->device_hours / 24) : Value(); }},
    {.group = kWholeTraining,
     .path = "device_years",
     .key = "device_years",
     .heading = "device-years",
     .unit = kNumber,
     .better = Better::kLess,
     .meaning = "device-years of the whole training",
     .take =
         [](const Source& from) { return run_of(from) ? Value(run_of(from)->device_hours * 3600 / kYear) : Value(); }},
    {.group = kWholeTraining,
     .path = "energy_kwh",
     .key = "energy_kwh",
     .heading = "energy kWh",
     .unit = kNumber,
     .better = Better::kLess,
     .is_rare = true,
     .is_compared = true,
     .meaning = "energy of the whole training at the devices' TDP, an upper bound, of the devices alone; where their "
                "power is known",
     .needs = "--set workload.tokens=N, the tokens of the whole training, makes it, on devices with "
              "cluster.node.device.power",
     .take = [](const Source& from) { return run_of(from) ? optional_value(run_of(from)->kilowatt_hours) : Value(); }},
    {.group = kWholeTraining,
     .path = "cost",
     .key = "cost",
     .heading = "cost",
     .unit = kNumber,
     .better = Better::kLess,
     .is_rare = true,
     .is_compared = true,
     .meaning = "cost of the whole training, with `workload.price`, in its currency",
     .needs = "--set workload.tokens=N and --set workload.price=P, of a device for an hour, make it together",
     .take = [](const Source& from) { return run_of(from) ? optional_value(run_of(from)->cost) : Value(); }},
    {.group = kCall,
     .path = "algbw_GBps",
     .key = "algbw_GBps",
     .heading = "algorithm bandwidth",
     .unit = kGigabytesPerSecond,
     .better = Better::kMore,
     .is_compared = true,
     .meaning = "algorithm bandwidth of a collective: size over time, 10^9 bytes a second",
     .take = [](const Source& from) { return from.call ? Value(from.call->algorithm_bandwidth * 1e-9) : Value(); }},
    {.group = kCall,
     .path = "busbw_GBps",
     .key = "busbw_GBps",
     .column = "busbw",
     .heading = "bus bandwidth",
     .unit = kGigabytesPerSecond,
     .better = Better::kMore,
     .is_compared = true,
     .meaning = "bus bandwidth of a collective: algorithm bandwidth times the factor of nccl-tests",
     .take = [](const Source& from) { return from.call ? Value(from.call->bus_bandwidth * 1e-9) : Value(); }},
    {.group = kProduct,
     .path = "product_tflops",
     .key = "product_tflops",
     .heading = "product TFLOP/s",
     .unit = kTeraflops,
     .better = Better::kMore,
     .is_compared = true,
     .meaning = "rate of a matrix product, 10^12 FLOPs a second",
     .take = [](const Source& from) { return from.product ? Value(from.product->rate * 1e-12) : Value(); }},
    {.group = kProduct,
     .path = "product_peak_share",
     .key = "product_peak_share",
     .heading = "of the peak",
     .unit = kShare,
     .better = Better::kMore,
     .is_rare = true,
     .is_compared = true,
     .meaning = "share of the device's peak in the product's precision; not where devices are of several types",
     .needs = "a job with one matrix product on devices of one type has it",
     .take = [](const Source& from) { return from.product ? optional_value(from.product->peak_share) : Value(); }},
    {.group = kParts,
     .key = "compute_s",
     .heading = "compute",
     .unit = kSeconds,
     .meaning = "time of computing, with host and remote memory; mean over ranks",
     .take = seconds_of_part<PartKind::kCompute, PartKind::kHost, PartKind::kMemory, PartKind::kSlowed>},
    {.group = kParts,
     .key = "host_s",
     .heading = "host",
     .unit = kSeconds,
     .better = Better::kLess,
     .meaning =
         "of the time of computing, that in which hosts compute or devices wait for them to launch kernels; mean "
         "over ranks",
     .take = seconds_of_part<PartKind::kHost>},
    {.group = kParts,
     .key = "slowed_s",
     .heading = "slowed",
     .unit = kSeconds,
     .better = Better::kLess,
     .meaning = "of the time of computing, that by which kernels take longer beside communication; mean over ranks",
     .take = seconds_of_part<PartKind::kSlowed>},
    {.group = kParts,
     .key = "bubble_s",
     .heading = "stage wait",
     .unit = kSeconds,
     .meaning = "time of waiting for other stages of a pipeline, a part of its bubbles; mean over ranks",
     .take = seconds_of_part<PartKind::kBubble>},
    {.group = kParts,
     .key = "wait_s",
     .heading = "wait",
     .unit = kSeconds,
     .meaning = "time of waiting for members of collectives; mean over ranks",
     .take = seconds_of_part<PartKind::kWait>},
    {.group = kParts,
     .key = "idle_s",
     .heading = "idle",
     .unit = kSeconds,
     .meaning = "time with nothing under way; mean over ranks",
     .take = seconds_of_part<PartKind::kIdle>},
    {.group = kParts,
     .key = "busiest_link_class",
     .heading = "busiest links",
     .unit = kText,
     .meaning = "class of the most utilised link, without direction",
     .needs = "a job whose messages cross links has it",
     .take =
         [](const Source& from) {
           return from.links.empty() ? Value() : Value(printable(from.links.front().first, SIZE_MAX));
         }},
    {.group = kParts,
     .key = "busiest_link_utilisation",
     .heading = "utilised",
     .unit = kShare,
     .meaning = "share of its bandwidth that the most utilised link carries",
     .needs = "a job whose messages cross links has it",
     .take = [](const Source& from) { return from.links.empty() ? Value() : Value(from.links.front().second); }},
    {.group = kParts,
     .key = "bound_by",
     .heading = "bound by",
     .unit = kText,
     .meaning = "largest part of the critical path, which nothing but what is on it can shorten: compute, host (which "
                "launches too slowly), a kind of communication, ...",
     .take = [](const Source& from) { return from.bound ? Value(from.bound->name) : Value(); }},
    {.group = kParts,
     .key = "bound_share",
     .heading = "share",
     .unit = kShare,
     .meaning = "share of the critical path that this has",
     .take = [](const Source& from) { return from.bound ? Value(from.bound->share) : Value(); }},
});

// Prefixes of paths in the document of a run, by FigureGroup.
constexpr std::array<std::string_view, 8> kPlaces = {"", "", "", "memory.", "training_run.", "", "", ""};
// Names of units, by FigureUnit.
constexpr std::array<std::string_view, 10> kUnitNames = {"s",        "days",      "share", "B", "TFLOP/s",
                                                         "tokens/s", "samples/s", "GB/s",  "",  "text"};
// Names of directions, by Better.
constexpr std::array<std::string_view, 3> kBetter = {"", "less", "more"};

}  // namespace

std::string Figure::full_path() const {
  return path.empty() ? std::string() : fmt::format("{}{}", kPlaces[static_cast<std::size_t>(group)], path);
}

std::span<const Figure> figures() { return kFigures; }

std::string_view Figure::needed() const {
  if (!needs.empty()) return needs;
  // Conditions under which a job has the figures of a group, by FigureGroup.
  constexpr std::array<std::string_view, 8> kNeeded = {
      "this job has none",
      "a job that trains a model has it: workload: {model: NAME, ...}",
      "a job on a device with measured kernels has it",
      "a job that trains a model has it: workload: {model: NAME, ...}",
      "--set workload.tokens=N, the tokens of the whole training, makes it",
      "a job with one collective has it: workload: {collective: all_reduce, size: 1 GiB}",
      "a job with one matrix product has it: workload: {product: ...}",
      "this job has none"};
  return kNeeded[static_cast<std::size_t>(group)];
}

std::string_view name_of(FigureUnit unit) { return kUnitNames[static_cast<std::size_t>(unit)]; }

std::string_view name_of(Better better) { return kBetter[static_cast<std::size_t>(better)]; }

}  // namespace orrery::report
