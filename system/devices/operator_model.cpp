// SPDX-License-Identifier: MIT
#include "system/devices/operator_model.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/assert.h"
#include "core/error.h"

namespace orrery::system {
namespace {

// Fitted together with the constants of the devices that name their table in `fitted` (configs/validation/compute).
//
// Filling a tile's pipeline and writing its result take as long as so many bytes of each row's main loop.
constexpr double kPrologue = 240;
// Loss of a tile smaller than 256 x 128: it loads more for every product.
constexpr double kSmallTile = 10.5;
// A last wave that is hardly filled takes this much of a full one: its tiles run faster, alone on a multiprocessor.
constexpr double kTail = 0.82;
// Computing and loading overlap but for this: the order of the norm that joins their times. A choice among 2, 4 and
// infinity.
constexpr double kOverlap = 4;
// A product is split along k into as many slices as fill so many waves at most: more gain nothing.
constexpr double kSplitWaves = 4;
// Share of multiplications left by Winograd's algorithm for a 3x3 convolution: 4 by 4 values for 2 by 2 results of 9
// products each.
constexpr double kWinograd = 16.0 / 36;
// Share of the rate that is left if rows of operands do not start at multiples of 16 bytes, which kernels with tensor
// cores load: attention by heads whose size is no multiple of 8. Fitted to configs/validation/training/bloom.
constexpr double kUnaligned = 0.125;
// A product that adds a gradient to what is there reads and writes it when its tiles are done: this share of that time
// is hidden by no other tile. Fitted to configs/validation/compute/training-*.
constexpr double kAccumulated = 0.35;
// Grouped products of experts overlap computing and loading only so far that this share of the shorter adds to the
// longer. Fitted to the same.
constexpr double kGrouped = 0.54;
// Time of the exponential of a query and a key on one multiprocessor, of which shares of the peak in flash attention
// are a part: `softmax` of configs/software/inference-2026.yaml on Hopper and Blackwell. At most half of the kernel.
constexpr double kExponential = 36e-12;

constexpr std::array<GemmConstant, 7> kGemmConstants = {{
    {"prologue", kPrologue, "filling and draining a tile, in bytes of a row of an operand"},
    {"small_tile", kSmallTile, "what smaller tiles lose"},
    {"tail", kTail, "least share of a full wave that the last one takes"},
    {"overlap", kOverlap, "order of the norm that joins computing and loading (2, 4 or infinity were tried)"},
    {"unaligned", kUnaligned, "rate of products of rows that are not aligned"},
    {"accumulated", kAccumulated, "share of the time of adding up gradients that their product does not hide"},
    {"grouped", kGrouped, "share of the shorter of computing and loading that grouped products do not hide"},
}};

struct Tile {
  double m;
  double n;

  // Rate relative to that of a tile of 256 x 128.
  constexpr double efficiency() const { return 1 / (1 + kSmallTile * (1 / m + 1 / n - 1.0 / 256 - 1.0 / 128)); }
};

// Tiles that cuBLAS and CUTLASS choose from, less those that make no difference here. The last is for batches of small
// products: a single one of few rows does not run faster with it (configs/validation/compute).
constexpr std::array<Tile, 7> kTiles = {{{256, 128}, {128, 256}, {128, 128}, {128, 64}, {64, 128}, {64, 64}, {32, 32}}};

std::span<const Tile> tiles_for(const workload::Gemm& gemm) {
  return std::span(kTiles).first(gemm.batch > 1 ? kTiles.size() : kTiles.size() - 1);
}

double number(std::int64_t value) { return static_cast<double>(value); }

// Waves of `tiles` over the multiprocessors, in full waves.
double waves_of(double tiles, double multiprocessors) {
  const double waves = tiles / multiprocessors;
  if (waves <= 1) return 1;
  const double full = std::floor(waves);
  const double rest = waves - full;
  return rest > 0 ? full + std::max(kTail, rest) : full;
}

// Overlapped as far as kOverlap says; two square roots are the same everywhere, which std::pow is not.
double joined(double a, double b) {
  static_assert(kOverlap == 4);
  const double longer = std::max(a, b);
  const double ratio = std::min(a, b) / longer;
  const double square = ratio * ratio;
  return longer * std::sqrt(std::sqrt(1 + square * square));
}

// Times of computing and loading of one product.
double overlapped(const workload::Gemm& gemm, double computing, double loading) {
  if (gemm.grouped) return std::max(computing, loading) + kGrouped * std::min(computing, loading);
  return joined(computing, loading);
}

// To the nearest picosecond, but never none; the longest time if there is no such time.
Duration from_seconds(double time) {
  const double picoseconds = std::max(1.0, std::round(time * 1e12));
  if (!(picoseconds < number(Duration::max().count()))) return Duration::max();
  return Duration(static_cast<std::int64_t>(picoseconds));
}

double share(Efficiency efficiency) { return number(efficiency.count()) / number(kFullEfficiency.count()); }

// Relative to a forward product.
double stage_rate(workload::ProductStage stage, const ComputeSpec& compute) {
  if (stage == workload::ProductStage::kInputGradient) return compute.input_gradient;
  return stage == workload::ProductStage::kWeightGradient ? compute.weight_gradient : 1;
}

}  // namespace

std::span<const GemmConstant> shared_gemm_constants() { return kGemmConstants; }

workload::SoftwareRates micro_benchmark_rates(const DeviceSpec& device) {
  workload::SoftwareRates rates;
  rates.flash_forward = share(device.compute.flash_forward);
  rates.flash_backward = share(device.compute.flash_backward);
  return rates;
}

OperatorModel::OperatorModel(DeviceSpec device, const workload::SoftwareRates& rates)
    : device_(std::move(device)),
      rates_(rates),
      memory_bandwidth_(number(device_.memory_bandwidth.count()) * share(device_.compute.memory)) {
  const std::vector<KernelSample> measured = std::exchange(device_.measured, {});
  const std::vector<DeviceSpec> on = std::exchange(device_.measured_on, {});
  if (measured.empty()) return;
  const DeviceSpec& base = on.empty() ? device_ : on.front();
  const auto alone_on = [&](const DeviceSpec& where) {
    workload::SoftwareRates alone = micro_benchmark_rates(where);
    alone.kernels = rates.kernels;
    return OperatorModel(where, alone);
  };
  const OperatorModel model = alone_on(base);
  alone_ = std::make_shared<const OperatorModel>(alone_on(device_));
  std::vector<KernelSample> usable;  // formats without a peak are none that a job can ask for
  std::ranges::copy_if(measured, std::back_inserter(usable),
                       [&](const KernelSample& sample) { return model.computes(sample); });
  measured_.emplace(usable, [&](const workload::Operator& op) { return model.time(op); });
}

bool OperatorModel::computes(const KernelSample& sample) const {
  const auto* op = std::get_if<workload::Operator>(&sample.what);
  if (op == nullptr) return false;
  if (const auto* attention = std::get_if<workload::FlashAttention>(op))
    return device_.peak(attention->precision).has_value();
  const auto* gemm = std::get_if<workload::Gemm>(op);
  if (gemm == nullptr) return false;
  const bool four_bits = rates_.kernels && gemm->scaling == workload::Scaling::kNvfp4;
  return device_.peak(four_bits ? Precision::kNvfp4 : gemm->precision).has_value();
}

Duration OperatorModel::modelled(const workload::Operator& op) const {
  return std::visit([this](const auto& o) { return time_of(o); }, op);
}

Duration OperatorModel::time(const workload::Operator& op) const {
  const Duration time = modelled(op);
  if (!measured_ || time == Duration::zero()) return time;
  const MeasuredKernels::Correction correction = measured_->of(op);
  if (correction.share == 0) return time;
  // The software's fitted rates are of kernels as the model has them: they count only as far as no measurement does.
  const double fitted = std::log(seconds(time) / seconds(alone_->modelled(op)));
  return from_seconds(seconds(time) * std::exp(-correction.share * fitted) * correction.factor);
}

double OperatorModel::measured(const workload::Operator& op) const { return measured_ ? measured_->of(op).share : 0; }

std::optional<Duration> OperatorModel::time(const workload::FusedExperts& experts) const {
  if (!rates_.kernels) return std::nullopt;
  const KernelDevice device = kernel_device(library_peak(experts.precision, experts.scaling));
  return from_seconds(kernel_time(experts, *rates_.kernels, device));
}

double OperatorModel::peak(Precision precision) const {
  if (const auto peak = device_.peak(precision)) return number(peak->count()) * share(device_.compute.clock);
  std::vector<std::string> names;
  for (const Precision other : kAllPrecisions)
    if (device_.peak(other)) names.emplace_back(name_of(other));
  throw InputError(
      {}, fmt::format("device '{}' has no peak for {}", printable(device_.name), name_of(precision)),
      fmt::format("it computes in {}; or add peak.{} to the device", fmt::join(names, ", "), name_of(precision)));
}

double OperatorModel::low_precision_share(const workload::Gemm& gemm) const {
  if (gemm.precision == Precision::kMxfp8) return rates_.mxfp8;
  if (gemm.precision == Precision::kNvfp4) return rates_.nvfp4;
  return gemm.stage == workload::ProductStage::kForward ? 1 : rates_.fp8;
}

double OperatorModel::gemm_rate(const workload::Gemm& gemm) const {
  const ComputeSpec& compute = device_.compute;
  const std::optional<Efficiency>& own = compute.formats[static_cast<std::size_t>(gemm.precision)];
  const bool is_low = is_of_products_only(gemm.precision);
  const double loss = is_low ? share(own.value_or(compute.fp8)) * low_precision_share(gemm) : rates_.bf16;
  const double alignment = gemm.aligned ? 1 : kUnaligned;
  Efficiency main_loop = gemm.precision == Precision::kFp32 ? compute.fp32 : compute.gemm;
  if (own && !is_low) main_loop = *own;
  return peak(gemm.precision) * share(main_loop) * loss * alignment * rates_.gemm * stage_rate(gemm.stage, compute);
}

// A kernel of its own reads the partial sums that every slice has written, in fp32 at least.
double OperatorModel::reduction_time(const workload::Gemm& gemm, double slices) const {
  const double sums = number(gemm.batch) * number(gemm.m) * number(gemm.n) * slices;
  const Bytes size = std::max(size_of(Precision::kFp32), size_of(gemm.precision));
  return seconds(device_.compute.launch) + 2 * sums * number(size.count()) / memory_bandwidth_;
}

// A tile of one factor, rows by columns, lies in the cells of an array, and the rows of the other flow through it, one
// a cycle; the last one leaves it `rows + columns - 1` cycles after it has come. Meanwhile the next tile is loaded.
// Arrays share tiles, and rows where there are fewer tiles than arrays; either factor may be the one that lies still.
double OperatorModel::systolic_time(const workload::Gemm& gemm) const {
  const SystolicArrays& arrays = *device_.systolic;
  const double cells = number(arrays.rows) * number(arrays.columns), count = number(arrays.count);
  const double cycle = 2 * cells * count / gemm_rate(gemm);
  const double depth = std::ceil(number(gemm.k) * (gemm.winograd ? kWinograd : 1) / number(arrays.rows));
  const auto cycles = [&](std::int64_t still, std::int64_t flowing) {
    const double tiles = number(gemm.batch) * depth * std::ceil(number(still) / number(arrays.columns));
    const double parts = std::max(1.0, std::floor(count / tiles));
    const double flow = std::ceil(number(flowing) / parts) + number(arrays.rows) + number(arrays.columns) - 1;
    return std::ceil(tiles * parts / count) * flow;
  };
  return cycle * std::min(cycles(gemm.n, gemm.m), cycles(gemm.m, gemm.n));
}

double OperatorModel::accumulation_time(const workload::Gemm& gemm) const {
  if (gemm.grouped || device_.systolic || gemm.stage != workload::ProductStage::kWeightGradient) return 0;
  const double values = number(gemm.batch) * number(gemm.m) * number(gemm.n);
  return kAccumulated * values * number(gemm.result.count()) / memory_bandwidth_;
}

// A multiprocessor computes one tile of one slice at a time; the library takes the tiles and slices that are fastest.
// Without the number of multiprocessors the whole device works on the product as it is.
double OperatorModel::product_time(const workload::Gemm& gemm) const {
  const double loading = number(workload::bytes_of(gemm).count()) / memory_bandwidth_;
  if (device_.systolic) return overlapped(gemm, systolic_time(gemm), loading);
  const double rate = gemm_rate(gemm);
  const double prologue = kPrologue * 8 / number(bits_of(gemm.precision));
  const double multiplied = number(gemm.k) * (gemm.winograd ? kWinograd : 1);
  if (device_.streaming_multiprocessors == 0) {
    const double products = number(gemm.batch) * number(gemm.m) * number(gemm.n);
    return overlapped(gemm, 2 * products * (multiplied + prologue) / rate, loading);
  }
  const double multiprocessors = device_.streaming_multiprocessors;
  double best = std::numeric_limits<double>::infinity();
  for (const Tile& tile : tiles_for(gemm)) {
    const double tiles = std::ceil(number(gemm.m) / tile.m) * std::ceil(number(gemm.n) / tile.n) * number(gemm.batch);
    const double slowdown = tile.m * tile.n / tile.efficiency() * multiprocessors / rate;
    for (double slices = 1; slices == 1 || tiles * slices <= kSplitWaves * multiprocessors; ++slices) {
      const double depth = multiplied / slices + prologue;
      const double computing = 2 * waves_of(tiles * slices, multiprocessors) * depth * slowdown;
      const double reducing = slices > 1 ? reduction_time(gemm, slices) : 0;
      best = std::min(best, overlapped(gemm, computing, loading) + reducing);
    }
  }
  return best;
}

KernelDevice OperatorModel::kernel_device(double peak) const {
  return {peak, memory_bandwidth_, std::max(1.0, static_cast<double>(device_.streaming_multiprocessors)),
          number(device_.cache.count()), device_.exponentials};
}

double OperatorModel::library_peak(Precision precision, workload::Scaling scaling) const {
  const bool four_bits = workload::format_of(precision, scaling) == workload::OperandFormat::kNvfp4;
  return peak(four_bits ? Precision::kNvfp4 : precision) * rates_.gemm;
}

Duration OperatorModel::time_of(const workload::Gemm& gemm) const {
  ORRERY_ASSERT(gemm.m >= 0 && gemm.n >= 0 && gemm.k >= 0 && gemm.batch >= 0);
  if (gemm.m == 0 || gemm.n == 0 || gemm.k == 0 || gemm.batch == 0) return Duration::zero();
  if (rates_.kernels)
    return from_seconds(kernel_time(gemm, *rates_.kernels, kernel_device(library_peak(gemm.precision, gemm.scaling))));
  return from_seconds(seconds(device_.compute.gemm_launch) + product_time(gemm) + accumulation_time(gemm));
}

namespace {

// FLOPs of one query and one key.
double pair_work(const workload::FlashAttention& attention) {
  return number(attention.head_size) * (attention.backward ? 10 : 4);
}

// FLOPs of the kernel. Under a window a tile takes all the keys that any of its queries sees, and masks the others, but
// never more than without a window.
double computed_flops(const workload::FlashAttention& attention, Flops needed) {
  if (attention.window == 0) return number(needed.count());
  const double all = number(attention.keys) * (attention.causal ? 0.5 : 1);
  return number(attention.batch) * number(attention.queries) * std::min(all, mean_keys_of_tile(attention, kQueryTile)) *
         pair_work(attention);
}

}  // namespace

double OperatorModel::attention_rate(const workload::FlashAttention& attention) const {
  // One side of both products is a head: it fills so much of an array.
  const double cells = device_.systolic ? number(std::max(device_.systolic->rows, device_.systolic->columns)) : 1;
  const double filled = std::min(1.0, number(attention.head_size) / cells);
  const double rate =
      filled * peak(attention.precision) * (attention.backward ? rates_.flash_backward : rates_.flash_forward);
  const double pair = pair_work(attention) * device_.streaming_multiprocessors / rate;
  const double saved = std::min(kExponential, pair / 2) * (1 - 1 / device_.exponentials);
  return saved == 0 ? rate : rate * pair / (pair - saved);
}

Duration OperatorModel::time_of(const workload::FlashAttention& attention) const {
  const Flops flops = workload::flops_of(attention);
  ORRERY_ASSERT(flops >= Flops(0));
  if (flops == Flops(0)) return Duration::zero();
  if (rates_.kernels && attention_share(attention, *rates_.kernels) > 0)
    return from_seconds(kernel_time(attention, *rates_.kernels, kernel_device(peak(attention.precision))));
  const double rate = attention_rate(attention);
  const double loading = number(workload::bytes_of(attention).count()) / memory_bandwidth_;
  // A kernel takes as long at least as one tile of queries needs for all of its keys; those for fewer split the keys.
  const bool whole = number(attention.queries) >= kQueryTile;
  const double tile = whole ? kQueryTile * keys_of_tile(attention, kQueryTile) * pair_work(attention) : 0;
  const double longest = tile * device_.streaming_multiprocessors / rate;
  const Duration own = attention.backward ? Duration::zero() : rates_.flash_launch;
  const Duration launch = std::max(device_.compute.gemm_launch, own);
  return from_seconds(seconds(launch) + std::max({computed_flops(attention, flops) / rate, longest, loading}));
}

Duration OperatorModel::time_of(const workload::ElementWise& op) const {
  ORRERY_ASSERT(op.bytes >= Bytes(0));
  if (op.bytes == Bytes(0)) return Duration::zero();
  const double bytes = number(op.bytes.count()) * rates_.traffic[static_cast<std::size_t>(op.kind)];
  return from_seconds(seconds(device_.compute.launch) + bytes / memory_bandwidth_);
}

}  // namespace orrery::system
