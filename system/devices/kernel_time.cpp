// SPDX-License-Identifier: MIT
#include "system/devices/kernel_time.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>

namespace orrery::system {
namespace {

using workload::FormatKernels;
using workload::KernelLibrary;
using workload::OperandFormat;

struct KernelTile {
  double m;
  double n;
};
constexpr std::array<KernelTile, 6> kKernelTiles = {
    {{256, 128}, {128, 256}, {128, 128}, {128, 64}, {64, 128}, {64, 64}}};

// A product is split along k into as many slices as fill so many waves at most, of this many steps at least.
constexpr double kKernelWaves = 4;
constexpr double kLeastSlice = 128;
constexpr double kMostSlices = 32;

double power4(double value) { return value * value * value * value; }

double real(std::int64_t value) { return static_cast<double>(value); }

// Bytes of an operand's value, with its share of a scale.
double operand_size(Precision precision, workload::Scaling scaling) {
  constexpr std::int64_t kWhole = 32;  // values: whole blocks of all formats
  const bool four_bits = workload::format_of(precision, scaling) == OperandFormat::kNvfp4;
  return real(stored(four_bits ? Precision::kNvfp4 : precision, kWhole).count()) / kWhole;
}

double result_size(Precision precision) {
  return is_of_products_only(precision) ? 2 : real(size_of(precision).count());
}

// Part of `bytes` that the cache does not keep from one kernel to the next: all of it from twice its useful size on.
double missed(double bytes, const KernelLibrary& kernels, const KernelDevice& device) {
  const double held = kernels.cache * device.cache;
  return held > 0 ? std::clamp(bytes / held - 1, 0.0, 1.0) : 1;
}

// Kernels over the first operand: what the cache does not hold comes from memory in two bytes a value and goes there in
// the format of the product.
double quantisation_time(const workload::Gemm& gemm, const KernelLibrary& kernels, const KernelDevice& device) {
  const double passes = real(kernels.of(workload::format_of(gemm.precision, gemm.scaling)).passes);
  if (passes == 0) return 0;
  const double values = real(gemm.batch) * real(gemm.m) * real(gemm.k);
  const double bytes = values * (2 + operand_size(gemm.precision, gemm.scaling));
  return passes * (seconds(kernels.quantise) + values * seconds(kernels.quantise_value) / device.multiprocessors) +
         bytes * missed(bytes, kernels, device) / device.memory;
}

// Products of n columns and k steps that one kernel does.
struct Products {
  double rows;  // of all of them
  double n;
  double k;
  double loading;  // seconds
  double most_slices = 1;
};

// The fastest tile, computing and loading joined by the square norm: neither hides all of the other. The power limit
// holds for the kernel as a whole, so it hides waves that are not full. `tiles_of`: how many tiles of so many rows.
template <class TilesOf>
double products_time(const Products& products, const KernelLibrary& kernels, double limit, double rate,
                     double multiprocessors, const TilesOf& tiles_of) {
  const double limited = 2 * products.rows * products.n * products.k / limit;
  double best = std::numeric_limits<double>::infinity();
  for (const KernelTile& tile : kKernelTiles) {
    const double tiles = tiles_of(tile.m) * std::ceil(products.n / tile.n);
    const double step = 2 * tile.m * tile.n *
                        (1 + kernels.small_tile * (1 / tile.m + 1 / tile.n - 1.0 / 256 - 1.0 / 128)) * multiprocessors /
                        rate;
    for (double slices = 1;
         slices == 1 || (slices <= products.most_slices && tiles * slices <= kKernelWaves * multiprocessors &&
                         products.k >= kLeastSlice * slices);
         slices = slices < 4 ? slices + 1 : 2 * slices) {
      const double waves = std::ceil(tiles * slices / multiprocessors);
      const double depth = std::ceil(products.k / slices) + kernels.epilogue;
      const double computing = std::max(waves * (step * depth + seconds(kernels.wave)), limited);
      const double summing = slices > 1 ? seconds(kernels.split) : 0;
      best = std::min(best, std::sqrt(computing * computing + products.loading * products.loading) + summing);
    }
  }
  return best;
}

double product_time(const workload::Gemm& gemm, const KernelLibrary& kernels, const KernelDevice& device) {
  const FormatKernels& format = kernels.of(workload::format_of(gemm.precision, gemm.scaling));
  const double m = real(gemm.m), n = real(gemm.n), k = real(gemm.k), batch = real(gemm.batch);
  const double bytes =
      batch * (operand_size(gemm.precision, gemm.scaling) * (m * k + k * n) + result_size(gemm.precision) * m * n);
  const double peak = device.peak * kernels.main_loop;
  return products_time({batch * m, n, k, bytes * missed(bytes, kernels, device) / device.memory, kMostSlices}, kernels,
                       peak * format.sustained, peak * format.main_loop, device.multiprocessors,
                       [&](double rows) { return batch * std::ceil(m / rows); });
}

// Time of one of the two products of all experts of a rank. The weights of experts that have tokens come from memory.
double grouped_time(const workload::FusedExperts& experts, double n, double k, const KernelLibrary& kernels,
                    const KernelDevice& device) {
  const FormatKernels& format = kernels.of(workload::format_of(experts.precision, experts.scaling));
  const double all = std::accumulate(experts.rows.begin(), experts.rows.end(), 0.0);
  const double bytes =
      operand_size(experts.precision, experts.scaling) * k * (all + n * real(std::ssize(experts.rows))) +
      result_size(experts.precision) * all * n;
  const double peak = device.peak * kernels.main_loop;
  const auto tiles_of = [&](double rows) {
    double tiles = 0;
    for (const double own : experts.rows) tiles += std::ceil(own / rows);
    return tiles;
  };
  return products_time({all, n, k, bytes / device.memory}, kernels, peak * format.sustained,
                       peak * format.main_loop * kernels.experts.main_loop, device.multiprocessors, tiles_of);
}

}  // namespace

double kernel_time(const workload::Gemm& gemm, const KernelLibrary& kernels, const KernelDevice& device) {
  return seconds(kernels.launch) + quantisation_time(gemm, kernels, device) + product_time(gemm, kernels, device);
}

double attention_share(const workload::FlashAttention& attention, const KernelLibrary& kernels) {
  if (attention.backward) return 0;
  return is_of_products_only(attention.precision) ? kernels.attention.fp8 : kernels.attention.half;
}

double keys_of_tile(const workload::FlashAttention& attention, double tile) {
  const double keys = real(attention.keys);
  return attention.window == 0 ? keys : std::min(keys, real(attention.window) + tile);
}

double mean_keys_of_tile(const workload::FlashAttention& attention, double tile) {
  const double of_tile = keys_of_tile(attention, tile), keys = real(attention.keys);
  return attention.causal ? of_tile * (1 - real(attention.window) / (2 * keys)) : of_tile;
}

// A multiprocessor takes a tile of queries through all their keys. What all have to do is shared, but the last queries
// of a sequence see the most keys; the fourth power joins the two.
double kernel_time(const workload::FlashAttention& attention, const KernelLibrary& kernels,
                   const KernelDevice& device) {
  const workload::AttentionKernels& own = kernels.attention;
  const double queries = real(attention.queries), keys = real(attention.keys), batch = real(attention.batch);
  const double size = real(attention.head_size);
  const double rate = device.peak * attention_share(attention, kernels) / device.multiprocessors;
  const double pair = 4 * size / rate + seconds(own.softmax) / device.exponentials;
  const double of_tile = keys_of_tile(attention, kQueryTile);
  const double whole = attention.causal ? (keys + own.diagonal) / 2 : keys;
  const double seen = attention.window == 0 ? whole : std::min(mean_keys_of_tile(attention, kQueryTile), whole);
  const double shared = batch * queries * seen * pair / device.multiprocessors;
  const double longest = std::min(kQueryTile, queries) * of_tile * pair;
  const double values = 2 * batch * size * (queries + keys / real(attention.group));
  const double computing = std::sqrt(std::sqrt(power4(shared) + power4(longest)));
  return seconds(own.launch) + computing + own.traffic * 2 * values / device.memory;
}

double kernel_time(const workload::FusedExperts& experts, const KernelLibrary& kernels, const KernelDevice& device) {
  const workload::ExpertKernels& own = kernels.experts;
  const double tokens = real(experts.tokens), hidden = real(experts.hidden), inner = real(experts.inner);
  const double rows = std::accumulate(experts.rows.begin(), experts.rows.end(), 0.0);
  const double products = experts.gated ? 2 : 1;  // upwards
  const double values = 2 * tokens * hidden + 3 * rows * hidden + 2 * products * rows * inner;
  return seconds(own.launch) + tokens * real(experts.per_token) * seconds(own.route) +
         own.traffic * 2 * values / device.memory + grouped_time(experts, products * inner, hidden, kernels, device) +
         grouped_time(experts, hidden, inner, kernels, device);
}

}  // namespace orrery::system
