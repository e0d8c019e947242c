// SPDX-License-Identifier: MIT
// Kernels of a library with constants of its own: numbers that can be worked out by hand.
#include <catch2/catch.hpp>

#include "system/devices/kernel_time.h"

using namespace orrery;
using namespace orrery::system;
using namespace orrery::workload;
using namespace std::chrono_literals;

namespace {

// 100 multiprocessors of 1 TFLOP/s each, and a memory that takes no time.
KernelDevice device() { return {1e14, 1e30, 100, 0}; }

// Nothing takes time but the main loop, at the peak and with any tile.
KernelLibrary main_loop_only() {
  KernelLibrary kernels;
  kernels.launch = kernels.wave = kernels.split = kernels.quantise = kernels.quantise_value = 0us;
  kernels.main_loop = 1;
  kernels.small_tile = kernels.epilogue = 0;
  return kernels;
}

double microseconds(const Gemm& gemm, const KernelLibrary& kernels, const KernelDevice& on) {
  return kernel_time(gemm, kernels, on) * 1e6;
}

// 100 tiles of 256 x 128, each of 2 * 256 * 128 * 1000 FLOP.
constexpr Gemm kOneWave{2560, 1280, 1000};
constexpr double kWave = 65.536;

}  // namespace

TEST_CASE("one wave of whole tiles takes a tile's time, and what every wave and product adds") {
  KernelLibrary kernels = main_loop_only();
  CHECK(microseconds(kOneWave, kernels, device()) == Approx(kWave));
  kernels.wave = 2us;
  kernels.launch = 3us;
  CHECK(microseconds(kOneWave, kernels, device()) == Approx(kWave + 5));
  kernels.epilogue = 500;
  kernels.split = 1s;
  CHECK(microseconds(kOneWave, kernels, device()) == Approx(1.5 * kWave + 5));
}

TEST_CASE("the power limit hides waves that are not full") {
  KernelLibrary kernels = main_loop_only();
  kernels.small_tile = 1e6;  // no other tile
  kernels.split = 1s;
  // 110 tiles are two waves.
  const Gemm more{2816, 1280, 1000};
  CHECK(microseconds(more, kernels, device()) == Approx(2 * kWave));
  kernels.formats[0].sustained = 0.25;
  CHECK(microseconds(kOneWave, kernels, device()) == Approx(4 * kWave));
  CHECK(microseconds(more, kernels, device()) == Approx(4.4 * kWave));
}

TEST_CASE("a product of few tiles is split along k where that is faster") {
  KernelLibrary kernels = main_loop_only();
  kernels.small_tile = 1e6;
  kernels.split = 10us;
  // 25 tiles: four slices of a quarter each fill the device.
  CHECK(microseconds(Gemm{1280, 640, 4000}, kernels, device()) == Approx(kWave + 10));
  kernels.split = 1s;
  CHECK(microseconds(Gemm{1280, 640, 4000}, kernels, device()) == Approx(4 * kWave));
}

TEST_CASE("operands that the cache holds are not loaded") {
  const KernelLibrary kernels = main_loop_only();
  KernelDevice slow{1e30, 1e12, 100, 0};
  const Gemm gemm{1000, 1000, 1000};  // 6 MB
  CHECK(microseconds(gemm, kernels, slow) == Approx(6));
  slow.cache = 12e6;  // half of it is taken
  CHECK(microseconds(gemm, kernels, slow) < 1e-3);
  slow.cache = 8e6;  // 4 MB stay: half of what is beyond them is missed
  CHECK(microseconds(gemm, kernels, slow) == Approx(3));
}

TEST_CASE("operands of fewer bytes are quantised first, and load less") {
  KernelLibrary kernels = main_loop_only();
  kernels.formats[static_cast<std::size_t>(OperandFormat::kFp8)].passes = 2;
  Gemm gemm{1000, 2000, 3000, 1, Precision::kFp8};
  CHECK(microseconds(gemm, kernels, {1e30, 1e30, 100, 0}) < 1e-3);
  kernels.quantise = 5us;
  kernels.quantise_value = Duration(100);
  // Two kernels of 5 us, and 3 million values at 1 ps each in either.
  CHECK(microseconds(gemm, kernels, {1e30, 1e30, 100, 0}) == Approx(2 * (5 + 3)));
  // 3 million values in two bytes, and in one; then 3 + 6 MB of operands and 4 MB of results.
  CHECK(microseconds(gemm, kernels, {1e30, 1e12, 100, 0}) == Approx(16 + 9 + 13));
  gemm.scaling = Scaling::kNvfp4;
  kernels.formats[static_cast<std::size_t>(OperandFormat::kNvfp4)].main_loop = 1;
  // Half a byte and a sixteenth for the scale.
  CHECK(microseconds(gemm, kernels, {1e30, 1e12, 100, 0}) == Approx(9 * 0.5625 + 4));
}

TEST_CASE("attention is shared by all multiprocessors, but the last queries see the most keys") {
  KernelLibrary kernels = main_loop_only();
  kernels.attention.half = 1;
  kernels.attention.launch = kernels.attention.softmax = 0us;
  kernels.attention.diagonal = 0;
  // 10,000 heads: 4 * 128 FLOP for half of 1024 x 1024 pairs each; one tile of the longest is nothing to that.
  FlashAttention attention{10000, 1024, 1024, 128};
  const double shared = 10000.0 * 1024 * 512 * 512 / 1e14;
  CHECK(kernel_time(attention, kernels, device()) == Approx(shared));
  kernels.attention.softmax = Duration(512);  // as long as the products
  CHECK(kernel_time(attention, kernels, device()) == Approx(2 * shared));
  attention.batch = 1;
  // One head: 8 tiles on 100 multiprocessors; the last takes 128 x 1024 pairs.
  CHECK(kernel_time(attention, kernels, device()) == Approx(128.0 * 1024 * 1024 / 1e12).epsilon(1e-3));
  attention.backward = true;
  CHECK(attention_share(attention, kernels) == 0);
}

TEST_CASE("heads that share keys and values move fewer bytes") {
  KernelLibrary kernels = main_loop_only();
  kernels.attention.half = 1;
  kernels.attention.launch = kernels.attention.softmax = 0us;
  kernels.attention.traffic = 1;
  FlashAttention attention{8, 1000, 1000, 100};
  // 0.8 million values of queries, keys, values and result each, in two bytes.
  CHECK(kernel_time(attention, kernels, {1e30, 1e12, 100, 0}) == Approx(4 * 1.6e-6));
  attention.group = 8;
  CHECK(kernel_time(attention, kernels, {1e30, 1e12, 100, 0}) == Approx(2.25 * 1.6e-6));
}

TEST_CASE("fused experts take their two products, and moving the tokens") {
  KernelLibrary kernels = main_loop_only();
  kernels.experts.launch = kernels.experts.route = 0us;
  kernels.experts.traffic = 0;
  kernels.small_tile = 1e6;  // no other tile
  FusedExperts experts{2560, 1280, 1000, 1, false, Precision::kBf16, Scaling::kTensor, std::vector<double>(10, 256.0)};
  // Down: 10 experts of one row and 10 columns of tiles of 256 x 128 and 1000 steps are one wave. Up: 8 columns of
  // tiles, of 1280 steps.
  CHECK(kernel_time(experts, kernels, device()) * 1e6 == Approx(kWave * 2.28));
  experts.rows.assign(10, 25.6);  // tiles that are nearly empty take as long
  CHECK(kernel_time(experts, kernels, device()) * 1e6 == Approx(kWave * 2.28));
  kernels.experts.main_loop = 0.5;
  CHECK(kernel_time(experts, kernels, device()) * 1e6 == Approx(kWave * 4.56));
  kernels.experts.route = 1us;
  CHECK(kernel_time(experts, kernels, {1e30, 1e30, 100, 0}) * 1e6 == Approx(2560));
}
