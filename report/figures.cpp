// SPDX-License-Identifier: MIT
#include "report/figures.h"

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/config/number_text.h"
#include "core/config/quantity_text.h"
#include "core/error.h"

namespace orrery::report {
namespace {

using Json = nlohmann::ordered_json;
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
     .meaning = "tokens a second of one device",
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
     .meaning = "samples a second of one device, where the model has no tokens",
     .take = pace<false>},
    {.group = kTraining,
     .path = "model_tflops_per_gpu",
     .key = "model_tflops_per_gpu",
     .column = "tflops",
     .heading = "TFLOP/s",
     .unit = kTeraflops,
     .better = Better::kMore,
     .meaning = "model FLOPs of one device, 10^12 a second",
     .take = of_training<&TrainingFigures::model_tflops_per_gpu>},
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
     .take = length_of_run<true>},
    {.group = kWholeTraining,
     .path = "samples",
     .heading = "samples",
     .unit = kNumber,
     .is_rare = true,
     .meaning = "samples of the whole training, where the model has no tokens",
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
     .meaning = "energy of the whole training, of the devices alone; where their power is known",
     .take = [](const Source& from) { return run_of(from) ? optional_value(run_of(from)->kilowatt_hours) : Value(); }},
    {.group = kWholeTraining,
     .path = "cost",
     .key = "cost",
     .heading = "cost",
     .unit = kNumber,
     .better = Better::kLess,
     .is_rare = true,
     .meaning = "cost of the whole training, with `workload.price`, in its currency",
     .take = [](const Source& from) { return run_of(from) ? optional_value(run_of(from)->cost) : Value(); }},
    {.group = kCall,
     .path = "algbw_GBps",
     .key = "algbw_GBps",
     .heading = "algorithm bandwidth",
     .unit = kGigabytesPerSecond,
     .better = Better::kMore,
     .meaning = "algorithm bandwidth of a collective: size over time, 10^9 bytes a second",
     .take = [](const Source& from) { return from.call ? Value(from.call->algorithm_bandwidth * 1e-9) : Value(); }},
    {.group = kCall,
     .path = "busbw_GBps",
     .key = "busbw_GBps",
     .column = "busbw",
     .heading = "bus bandwidth",
     .unit = kGigabytesPerSecond,
     .better = Better::kMore,
     .meaning = "bus bandwidth of a collective: algorithm bandwidth times the factor of nccl-tests",
     .take = [](const Source& from) { return from.call ? Value(from.call->bus_bandwidth * 1e-9) : Value(); }},
    {.group = kProduct,
     .path = "product_tflops",
     .key = "product_tflops",
     .heading = "product TFLOP/s",
     .unit = kTeraflops,
     .better = Better::kMore,
     .meaning = "rate of a matrix product, 10^12 FLOPs a second",
     .take = [](const Source& from) { return from.product ? Value(from.product->rate * 1e-12) : Value(); }},
    {.group = kProduct,
     .path = "product_peak_share",
     .key = "product_peak_share",
     .heading = "of the peak",
     .unit = kShare,
     .better = Better::kMore,
     .is_rare = true,
     .meaning = "share of the device's peak in the product's precision; not where devices are of several types",
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
     .heading = "bubble",
     .unit = kSeconds,
     .meaning = "pipeline bubble; mean over ranks",
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
     .take =
         [](const Source& from) {
           return from.links.empty() ? Value() : Value(printable(from.links.front().first, SIZE_MAX));
         }},
    {.group = kParts,
     .key = "busiest_link_utilisation",
     .heading = "utilised",
     .unit = kShare,
     .meaning = "share of its bandwidth that the most utilised link carries",
     .take = [](const Source& from) { return from.links.empty() ? Value() : Value(from.links.front().second); }},
    {.group = kParts,
     .key = "bound_by",
     .heading = "bound by",
     .unit = kText,
     .meaning = "largest part of the iteration; the host, if its launches set the pace for longer than that",
     .take =
         [](const Source& from) {
           const std::optional<Bound> bound = bound_of(from);
           return bound ? Value(printable(bound->name, SIZE_MAX)) : Value();
         }},
    {.group = kParts,
     .key = "bound_share",
     .heading = "share",
     .unit = kShare,
     .meaning = "share of the iteration that this has",
     .take =
         [](const Source& from) {
           const std::optional<Bound> bound = bound_of(from);
           return bound ? Value(bound->seconds / seconds(from.iteration)) : Value();
         }},
});

// Prefixes of paths in the document of a run, by FigureGroup.
constexpr std::array<std::string_view, 8> kPlaces = {"", "", "", "memory.", "training_run.", "", "", ""};
// Names of units, by FigureUnit.
constexpr std::array<std::string_view, 10> kUnitNames = {"s",        "days",      "share", "B", "TFLOP/s",
                                                         "tokens/s", "samples/s", "GB/s",  "",  "text"};
// Names of directions, by Better.
constexpr std::array<std::string_view, 3> kBetter = {"", "less", "more"};

std::string number_text(FigureUnit unit, double number) {
  switch (unit) {
    case kSeconds:
      return time_text(number);
    case kDays:
      return days_text(number * kDay);
    case kShare:
      return percent(number);
    case kBytes:
      return rounded(Bytes(std::llround(number)));
    case kTeraflops:
      return fmt::format("{:.1f}", number);
    case kTokensPerSecond:
    case kSamplesPerSecond:
      return fmt::format("{:.1f} {}", number, name_of(unit));
    case kGigabytesPerSecond:
      return fmt::format("{:.2f} {}", number, name_of(unit));
    case kNumber:
    case kText:
      break;
  }
  return fmt::format("{:.4g}", number);
}

}  // namespace

std::string Figure::full_path() const {
  return path.empty() ? std::string() : fmt::format("{}{}", kPlaces[static_cast<std::size_t>(group)], path);
}

std::span<const Figure> figures() { return kFigures; }

std::vector<const Figure*> keyed_figures() {
  std::vector<const Figure*> keyed;
  for (const Figure& figure : kFigures)
    if (!figure.key.empty()) keyed.push_back(&figure);
  return keyed;
}

FigureValues figure_values(const FigureSource& source) {
  FigureValues values;
  for (const Figure& figure : kFigures)
    if (Value value = figure.take(source)) values.emplace(figure.name(), std::move(*value));
  return values;
}

const Figure* find_column(const FigureValues& values, std::string_view column) {
  const auto found = std::ranges::find_if(
      kFigures, [&](const Figure& figure) { return figure.column_name() == column && values.contains(figure.name()); });
  return column.empty() || found == kFigures.end() ? nullptr : &*found;
}

std::optional<double> number_of(const FigureValues& values, std::string_view name) {
  const auto found = values.find(name);
  if (found == values.end()) return std::nullopt;
  if (const auto* whole = std::get_if<std::int64_t>(&found->second)) return static_cast<double>(*whole);
  const auto* number = std::get_if<double>(&found->second);
  return number == nullptr ? std::nullopt : std::optional(*number);
}

std::optional<TrainingRun> whole_training(const FigureValues& values) {
  const std::optional<double> time = number_of(values, "training_run.time_s");
  const std::optional<double> device_days = number_of(values, "training_run.device_days");
  if (!time || !device_days) return std::nullopt;
  TrainingRun run;
  run.seconds = *time;
  run.device_hours = 24 * *device_days;
  run.kilowatt_hours = number_of(values, "energy_kwh");
  run.cost = number_of(values, "cost");
  return run;
}

std::string column_text(const FigureValues& values, std::string_view column) {
  const Figure* figure = find_column(values, column);
  return figure == nullptr ? std::string("-") : cell_text(*figure, values.find(figure->name())->second);
}

std::string cell_text(const Figure& figure, const FigureValue& value) {
  if (const auto* text = std::get_if<std::string>(&value)) return *text;
  if (const auto* whole = std::get_if<std::int64_t>(&value))
    return number_text(figure.unit, static_cast<double>(*whole));
  return number_text(figure.unit, std::get<double>(value));
}

Json to_json(const FigureValue& value) {
  return std::visit([](const auto& one) { return Json(one); }, value);
}

FigureValue value_of(const Json& json) {
  if (json.is_number_integer()) return json.get<std::int64_t>();
  if (json.is_number()) return json.get<double>();
  return json.get<std::string>();
}

void put_figures(FigureGroup group, const FigureSource& source, Json& to) {
  for (const Figure& figure : kFigures)
    if (figure.group == group && !figure.path.empty())
      if (const Value value = figure.take(source)) to[std::string(figure.path)] = to_json(*value);
}

Json figures_json() {
  Json list = Json::array();
  for (const Figure* figure : keyed_figures())
    list.push_back({{"key", figure->key},
                    {"path", figure->full_path()},
                    {"heading", figure->heading},
                    {"unit", name_of(figure->unit)},
                    {"better", name_of(figure->better)},
                    {"is_default", figure->is_default},
                    {"is_of_plans", figure->is_of_plans}});
  return list;
}

std::string_view name_of(FigureUnit unit) { return kUnitNames[static_cast<std::size_t>(unit)]; }

std::string_view name_of(Better better) { return kBetter[static_cast<std::size_t>(better)]; }

}  // namespace orrery::report
