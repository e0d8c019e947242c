// SPDX-License-Identifier: MIT
// How long operators take on a device, against closed forms.
#include <catch2/catch.hpp>
#include <cmath>

#include "core/error.h"
#include "system/devices/operator_model.h"

using namespace orrery;
using namespace orrery::system;
using namespace orrery::workload;
using namespace std::chrono_literals;

namespace {

// 100 multiprocessors of 1 TFLOP/s; everything is reached but what a test takes away.
DeviceSpec device() {
  DeviceSpec device;
  device.name = "some-gpu";
  for (const auto& [precision, peak] : {std::pair{Precision::kFp64, 6},
                                        {Precision::kFp32, 12},
                                        {Precision::kTf32, 50},
                                        {Precision::kFp16, 100},
                                        {Precision::kBf16, 100},
                                        {Precision::kFp8, 200},
                                        {Precision::kInt8, 200}})
    device.peaks[static_cast<std::size_t>(precision)] = FlopRate(peak * 1'000'000'000'000);
  device.memory_bandwidth = Bandwidth(1'000'000'000'000);
  device.streaming_multiprocessors = 100;
  device.compute.gemm = kFullEfficiency;
  device.compute.fp8 = kFullEfficiency;
  device.compute.fp32 = kFullEfficiency;
  device.compute.memory = kFullEfficiency;
  device.compute.gemm_launch = 5us;
  device.compute.launch = 3us;
  return device;
}

double constant(std::string_view name) {
  for (const GemmConstant& constant : shared_gemm_constants())
    if (constant.name == name) return constant.value;
  FAIL("no constant " << name);
  return 0;
}

double microseconds(Duration duration) { return seconds(duration) * 1e6; }

// Two bytes an element; one that takes much longer than loading, so that loading adds less than a millionth.
double elements() { return constant("prologue") / 2; }

}  // namespace

TEST_CASE("formats and products of gradients may have rates of their own") {
  DeviceSpec own = device();
  own.memory_bandwidth = Bandwidth(1'000'000'000'000'000);
  own.compute.gemm_launch = 0us;
  own.compute.formats[static_cast<std::size_t>(Precision::kFp16)] = Efficiency(500'000);
  own.compute.formats[static_cast<std::size_t>(Precision::kInt8)] = Efficiency(250'000);
  own.compute.input_gradient = 0.8;
  own.compute.weight_gradient = 0.5;
  const OperatorModel model(own);
  const auto time = [&](Precision precision, ProductStage stage) {
    Gemm gemm{2560, 1280, 100000, 1, precision};
    gemm.stage = stage;
    return microseconds(model.time(gemm));
  };
  // A wave of tiles of 256 x 128 at 1 TFLOP/s a multiprocessor, as below.
  const double wide = 2 * 256 * 128 * (100000 + elements()) / 1e12 * 1e6;
  const double narrow = 2 * 256 * 128 * (100000 + 2 * elements()) / 2e12 * 1e6;  // a byte an element, twice the rate
  CHECK(time(Precision::kBf16, ProductStage::kForward) == Approx(wide).epsilon(1e-5));
  CHECK(time(Precision::kFp16, ProductStage::kForward) == Approx(wide / 0.5).epsilon(1e-5));
  CHECK(time(Precision::kFp8, ProductStage::kForward) == Approx(narrow).epsilon(1e-5));
  CHECK(time(Precision::kInt8, ProductStage::kForward) == Approx(narrow / 0.25).epsilon(1e-5));
  CHECK(time(Precision::kBf16, ProductStage::kInputGradient) == Approx(wide / 0.8).epsilon(1e-5));
  CHECK(time(Precision::kFp16, ProductStage::kInputGradient) == Approx(wide / 0.5 / 0.8).epsilon(1e-5));
  CHECK(time(Precision::kBf16, ProductStage::kWeightGradient) == Approx(wide / 0.5).epsilon(1e-5));
}

TEST_CASE("one wave of whole tiles takes one tile's time") {
  DeviceSpec fast = device();
  fast.memory_bandwidth = Bandwidth(1'000'000'000'000'000);
  const OperatorModel model(fast);
  // 10 x 10 tiles of 256 x 128 on 100 multiprocessors: each computes 2 * 256 * 128 * (k + prologue) at 1 TFLOP/s.
  const double tile = 2 * 256 * 128 * (100000 + elements()) / 1e12 * 1e6;
  CHECK(microseconds(model.time(Gemm{2560, 1280, 100000})) == Approx(5 + tile).epsilon(1e-6));
  // One row more is another row of tiles: 110 of them; the last wave takes its least share.
  const double two = 1 + constant("tail");
  CHECK(microseconds(model.time(Gemm{2561, 1280, 100000})) <= 5 + two * tile * 1.000001);
  CHECK(microseconds(model.time(Gemm{2561, 1280, 100000})) > 5 + 1.1 * tile);
  // Ten products at once have the tiles of one that is ten times as long.
  CHECK(model.time(Gemm{256, 1280, 100000, 10}) - model.time(Gemm{2560, 1280, 100000}) <= 1us);
}

TEST_CASE("two full waves take twice as long as one, and a hardly filled one its least share") {
  DeviceSpec fast = device();
  fast.memory_bandwidth = Bandwidth(1'000'000'000'000'000);
  fast.compute.gemm_launch = 0s;
  const OperatorModel model(fast);
  const double one = microseconds(model.time(Gemm{2560, 1280, 100000}));
  CHECK(microseconds(model.time(Gemm{5120, 1280, 100000})) == Approx(2 * one).epsilon(1e-6));
  // 101 tiles of 256 x 128 would take 1 + tail waves; smaller tiles may do better, never by more than their loss.
  const double more = microseconds(model.time(Gemm{2560 + 256, 1280, 100000}));
  CHECK(more > 1.1 * one);
  CHECK(more <= (1 + constant("tail")) * one * 1.000001);
}

TEST_CASE("computing joins loading by the fourth power") {
  const OperatorModel model(device());
  // One tile of 64 x 64 on one multiprocessor of 1 TFLOP/s, less efficient than 256 x 128 by the loss of small tiles:
  // too little work to be split.
  const Gemm product{64, 64, 64};
  const double loading = microseconds(bytes_of(product) / Bandwidth(1'000'000'000'000));
  CHECK(loading == Approx(3 * 64 * 64 * 2 / 1e12 * 1e6).epsilon(1e-4));
  const double loss = 1 + constant("small_tile") * (1.0 / 64 + 1.0 / 64 - 1.0 / 256 - 1.0 / 128);
  const double computing = 2 * 64 * 64 * (64 + elements()) * loss / 1e12 * 1e6;
  const double joined = std::pow(std::pow(loading, 4) + std::pow(computing, 4), 0.25);
  CHECK(microseconds(model.time(product)) == Approx(5 + joined).epsilon(1e-6));
  // With a thousandth of the bandwidth computing does not count.
  DeviceSpec slow = device();
  slow.memory_bandwidth = Bandwidth(1'000'000);
  CHECK(microseconds(OperatorModel(slow).time(product)) == Approx(5 + loading * 1e6).epsilon(1e-6));
}

TEST_CASE("a product of few tiles and a deep k is split, and its partial sums are added up") {
  const OperatorModel model(device());
  // One tile of 256 x 128, 100 slices of which fill the device. Partial sums of 256 * 128 * 4 bytes a slice are written
  // and read at 1 TB/s, by a kernel that is launched in 3 us.
  const Gemm deep{256, 128, 10'000'000};
  const double slice = 2 * 256 * 128 * (100000 + elements()) / 1e12 * 1e6;
  const double loading = microseconds(bytes_of(deep) / Bandwidth(1'000'000'000'000));
  const double joined = std::pow(std::pow(slice, 4) + std::pow(loading, 4), 0.25);
  const double sums = 100 * 2 * 256 * 128 * 4 / 1e12 * 1e6;
  CHECK(microseconds(model.time(deep)) == Approx(5 + joined + 3 + sums).epsilon(1e-6));
  // Four tiles take a quarter of the slices each.
  const Gemm four{512, 256, 10'000'000};
  CHECK(microseconds(model.time(four)) > 5 + 4 * slice);
  CHECK(microseconds(model.time(four)) < 5 + 4 * slice * 1.1);
  // Not worth the launch: 64 x 64 x 1000 takes less as it is.
  const double loss = 1 + constant("small_tile") * (1.0 / 64 + 1.0 / 64 - 1.0 / 256 - 1.0 / 128);
  const double whole = 2 * 64 * 64 * (200 + elements()) * loss / 1e12 * 1e6;
  CHECK(microseconds(model.time(Gemm{64, 64, 200})) == Approx(5 + whole).epsilon(1e-3));
  // A device that launches in no time splits it.
  DeviceSpec eager = device();
  eager.compute.launch = 0s;
  CHECK(microseconds(OperatorModel(eager).time(Gemm{64, 64, 200})) < 5 + 0.9 * whole);
}

TEST_CASE("Winograd's algorithm multiplies 4 times where windows do 9, and loads the same") {
  DeviceSpec fast = device();
  fast.memory_bandwidth = Bandwidth(1'000'000'000'000'000);
  fast.compute.gemm_launch = 0s;
  const OperatorModel model(fast);
  Gemm product{2560, 1280, 90000};
  const Duration windows = model.time(Gemm{2560, 1280, 40000});
  product.winograd = true;
  CHECK(microseconds(model.time(product)) == Approx(microseconds(windows)).epsilon(1e-6));
  CHECK(flops_of(product) == flops_of(Gemm{2560, 1280, 90000}));
}

// A convolution's weight gradient: 12 tiles of 64 x 64, whose 1.6 million products each would keep 12 of 80
// multiprocessors busy.
TEST_CASE("the weight gradient of ResNet-50's first convolution runs at the rate of other products") {
  DeviceSpec v100 = device();
  v100.streaming_multiprocessors = 80;
  v100.peaks[static_cast<std::size_t>(Precision::kFp32)] = FlopRate(15'700'000'000'000);
  v100.memory_bandwidth = Bandwidth(900'000'000'000);
  const Gemm gradient{147, 64, 128 * 112 * 112, 1, Precision::kFp32};
  const double rate = static_cast<double>(flops_of(gradient).count()) / seconds(OperatorModel(v100).time(gradient));
  // 147 of 192 rows of tiles are of use, which are two thirds as fast as the largest.
  CHECK(rate > 0.4 * 15.7e12);
}

TEST_CASE("without a number of multiprocessors nothing is rounded up to tiles") {
  DeviceSpec plain = device();
  plain.streaming_multiprocessors = 0;
  plain.memory_bandwidth = Bandwidth(1'000'000'000'000'000);
  // 2 * 1000 * 1001 * (100000 + prologue) at 100 TFLOP/s.
  const double work = 2.0 * 1000 * 1001 * (100000 + elements()) / 100e12 * 1e6;
  CHECK(microseconds(OperatorModel(plain).time(Gemm{1000, 1001, 100000})) == Approx(5 + work).epsilon(1e-6));
}

TEST_CASE("a product takes as long on systolic arrays as its rows need to flow through its tiles") {
  DeviceSpec arrays = device();
  arrays.streaming_multiprocessors = 0;
  arrays.memory_bandwidth = Bandwidth(1'000'000'000'000'000);
  arrays.systolic = SystolicArrays{100, 50, 4};
  const OperatorModel model(arrays);
  // 2 * 100 * 50 * 4 FLOPs a cycle at 100 TFLOP/s.
  const double cycle = 40'000 / 100e12 * 1e6;
  const auto cycles = [&](const Gemm& gemm) { return (microseconds(model.time(gemm)) - 5) / cycle; };
  // 3 x 4 tiles of 100 x 50, three on each array; 100,000 rows and 149 more cycles to drain.
  CHECK(cycles(Gemm{100'000, 200, 300}) == Approx(3 * 100'149).epsilon(1e-5));
  // A row or a column more is another row or column of tiles: 4 x 4, and 3 x 5 of which three are alone in their turn.
  CHECK(cycles(Gemm{100'000, 200, 301}) == Approx(4 * 100'149).epsilon(1e-5));
  CHECK(cycles(Gemm{100'000, 201, 300}) == Approx(4 * 100'149).epsilon(1e-5));
  // One tile: four arrays take a quarter of the rows each.
  CHECK(cycles(Gemm{100'000, 50, 100}) == Approx(25'149).epsilon(1e-5));
  // Few rows: the other factor flows, 100,000 columns past three tiles, each on an array of its own.
  CHECK(cycles(Gemm{50, 100'000, 300}) == Approx(100'149).epsilon(1e-5));
  // Large whole products are as fast as the peak.
  const Gemm whole{1'000'000, 2000, 2000};
  CHECK(seconds(model.time(whole)) == Approx(seconds(flops_of(whole) / FlopRate(100'000'000'000'000))).epsilon(1e-3));
}

TEST_CASE("products in fp64 and int8 take their own peaks and the widths of their operands") {
  DeviceSpec plain = device();
  plain.streaming_multiprocessors = 0;
  plain.memory_bandwidth = Bandwidth(1'000'000'000'000'000);
  plain.compute.fp8 = Efficiency(500'000);
  const OperatorModel model(plain);
  // 2 * 1000 * 1000 * (100000 + 240 bytes of operands) at 6 TFLOP/s, and at half of 200.
  const double products = 2.0 * 1000 * 1000;
  CHECK(microseconds(model.time(Gemm{1000, 1000, 100000, 1, Precision::kFp64})) ==
        Approx(5 + products * (100000 + 240.0 / 8) / 6e12 * 1e6).epsilon(1e-6));
  CHECK(microseconds(model.time(Gemm{1000, 1000, 100000, 1, Precision::kInt8})) ==
        Approx(5 + products * (100000 + 240.0) / 100e12 * 1e6).epsilon(1e-6));
  // Operands of one byte, a result of two; and eight bytes each.
  CHECK(bytes_of(Gemm{10, 20, 30, 1, Precision::kInt8}) == Bytes(10 * 30 + 30 * 20 + 2 * 10 * 20));
  CHECK(bytes_of(Gemm{10, 20, 30, 1, Precision::kFp64}) == Bytes(8 * (10 * 30 + 30 * 20 + 10 * 20)));
}

TEST_CASE("no product is faster than the peak or the memory, and none is faster than a smaller one") {
  for (const std::uint32_t multiprocessors : {0u, 1u, 84u, 100u, 132u}) {
    DeviceSpec some = device();
    some.streaming_multiprocessors = multiprocessors;
    some.peaks[static_cast<std::size_t>(Precision::kMxfp8)] = FlopRate(200'000'000'000'000);
    some.peaks[static_cast<std::size_t>(Precision::kNvfp4)] = FlopRate(400'000'000'000'000);
    const OperatorModel model(some);
    for (const Precision precision : kAllPrecisions) {
      for (const std::int64_t m : {1, 17, 64, 129, 4096}) {
        for (const std::int64_t n : {8, 192, 2145, 12288}) {
          Duration before{};
          for (const std::int64_t k : {1, 2, 64, 65, 768, 4097, 16384}) {
            const Gemm product{m, n, k, 2, precision};
            INFO(multiprocessors << " " << name_of(precision) << " " << m << " x " << n << " x " << k);
            const Duration time = model.time(product);
            // Those are rounded up to a picosecond, times to the nearest.
            CHECK(time + Duration(1) >= 5us + flops_of(product) / *some.peak(precision));
            CHECK(time + Duration(1) >= 5us + bytes_of(product) / some.memory_bandwidth);
            CHECK(time > before);
            CHECK(model.time(Gemm{m + 256, n, k, 2, precision}) >= time);
            CHECK(model.time(product) == time);
            before = time;
          }
        }
      }
    }
  }
}

TEST_CASE("shares of the device and of the software slow down what they are of") {
  DeviceSpec fast = device();
  fast.memory_bandwidth = Bandwidth(1'000'000'000'000'000);
  fast.compute.gemm_launch = 0s;
  const Gemm product{2560, 1280, 100000};
  const double full = microseconds(OperatorModel(fast).time(product));
  SoftwareRates rates = micro_benchmark_rates(fast);
  rates.gemm = 0.8;
  CHECK(microseconds(OperatorModel(fast, rates).time(product)) == Approx(full / 0.8).epsilon(1e-6));
  fast.compute.gemm = Efficiency(500'000);
  CHECK(microseconds(OperatorModel(fast, rates).time(product)) == Approx(full / 0.4).epsilon(1e-6));
  // fp8 computes at 200 TFLOP/s, less its own share; its prologue is as many bytes, so twice the elements.
  fast.compute.fp8 = Efficiency(800'000);
  const Gemm eighth{2560, 1280, 100000, 1, Precision::kFp8};
  const double prologue = (100000 + 2 * elements()) / (100000 + elements());
  CHECK(microseconds(OperatorModel(fast, rates).time(eighth)) == Approx(full * prologue / 2 / 0.32).epsilon(1e-6));
  // Products in fp32 have a share of their own.
  const Gemm plain{2560, 1280, 100000, 1, Precision::kFp32};
  const double single = microseconds(OperatorModel(fast, rates).time(plain));
  fast.compute.fp32 = Efficiency(900'000);
  CHECK(microseconds(OperatorModel(fast, rates).time(plain)) == Approx(single / 0.9).epsilon(1e-6));
  // A clock of half is half of every rate of computing.
  fast.compute.clock = Efficiency(500'000);
  CHECK(microseconds(OperatorModel(fast, rates).time(product)) == Approx(full / 0.2).epsilon(1e-6));
}

TEST_CASE("a clock that does not last slows down products and attention, not the memory") {
  DeviceSpec limited = device();
  limited.compute.gemm_launch = 0s;
  const FlashAttention attention{64, 4096, 4096, 128};
  const ElementWise copy{ElementWiseKind::kCopy, Bytes(1'000'000'000)};
  const Duration fast = OperatorModel(limited).time(attention), moved = OperatorModel(limited).time(copy);
  limited.compute.clock = Efficiency(500'000);
  CHECK(seconds(OperatorModel(limited).time(attention)) == Approx(2 * seconds(fast)));
  CHECK(OperatorModel(limited).time(copy) == moved);
}

TEST_CASE("products of rows that are not aligned are slower") {
  DeviceSpec fast = device();
  fast.memory_bandwidth = Bandwidth(1'000'000'000'000'000);
  fast.compute.gemm_launch = 0s;
  Gemm product{2560, 1280, 100000};
  const double aligned = microseconds(OperatorModel(fast).time(product));
  product.aligned = false;
  CHECK(microseconds(OperatorModel(fast).time(product)) == Approx(aligned / constant("unaligned")).epsilon(1e-6));
}

TEST_CASE("flash attention takes its share of the peak, or its bytes") {
  DeviceSpec some = device();
  some.compute.flash_forward = Efficiency(500'000);
  some.compute.flash_backward = Efficiency(400'000);
  const OperatorModel model(some);
  // 4 * 16 * 4096^2 * 128 / 2 FLOPs at 50 TFLOP/s.
  FlashAttention attention{16, 4096, 4096, 128};
  CHECK(microseconds(model.time(attention)) == Approx(5 + 4.0 * 16 * 4096 * 4096 * 128 / 2 / 50e12 * 1e6));
  attention.backward = true;  // 2.5 times that at 40 TFLOP/s
  CHECK(microseconds(model.time(attention)) == Approx(5 + 2.5 * 4.0 * 16 * 4096 * 4096 * 128 / 2 / 40e12 * 1e6));
  // One query of a long cache: keys and values of 2 * 128 * 1e6 * 2 bytes, queries and result of 2 * 128 * 2.
  CHECK(microseconds(model.time(FlashAttention{1, 1, 1000000, 128, false})) == Approx(5 + 512.000512));
  SoftwareRates rates;  // of a software, which says so itself
  rates.flash_backward = 0.2;
  CHECK(microseconds(OperatorModel(some, rates).time(attention)) ==
        Approx(5 + 2.5 * 4.0 * 16 * 4096 * 4096 * 128 / 2 / 20e12 * 1e6));
}

TEST_CASE("a tile of queries under a window takes all keys that any of them sees, and no more than without a window") {
  DeviceSpec some = device();
  some.compute.flash_forward = Efficiency(500'000);
  const OperatorModel model(some);
  // 512 keys and 128 more for each of 16 * 4096 queries, less a sixteenth, half of the 512 of the first window among
  // 4096; 4 * 128 FLOPs each at 50 TFLOP/s.
  FlashAttention attention{16, 4096, 4096, 128};
  const Duration whole = model.time(attention);
  attention.window = 512;
  CHECK(microseconds(model.time(attention)) == Approx(5 + 16.0 * 4096 * (512 + 128) * 15 / 16 * 4 * 128 / 50e12 * 1e6));
  // 2048 + 128 keys, less a quarter, are 0.797 of the half of 4096 that a causal mask leaves.
  attention.window = 2048;
  CHECK(microseconds(model.time(attention)) ==
        Approx(5 + (microseconds(whole) - 5) * (2048 + 128) * 0.75 / 2048).epsilon(1e-9));
  attention.window = 4000;
  CHECK(model.time(attention) == whole);
}

TEST_CASE("attention of few heads takes as long as one multiprocessor needs for the last queries") {
  DeviceSpec some = device();
  some.compute.flash_forward = Efficiency(500'000);
  some.compute.flash_backward = Efficiency(400'000);
  // 128 queries see 4096 keys: 4 * 128 * 4096 * 128 FLOPs at 1 TFLOP/s and half of it. Two heads share 64 tiles of half
  // that on average among 100 multiprocessors.
  FlashAttention attention{2, 4096, 4096, 128};
  const double longest = 4.0 * 128 * 4096 * 128 / 0.5e12 * 1e6;
  CHECK(microseconds(OperatorModel(some).time(attention)) == Approx(5 + longest));
  SoftwareRates rates = micro_benchmark_rates(some);
  rates.flash_launch = 40us;  // in place of that of a product, forward alone
  CHECK(microseconds(OperatorModel(some, rates).time(attention)) == Approx(40 + longest));
  attention.backward = true;
  CHECK(microseconds(OperatorModel(some, rates).time(attention)) == Approx(5 + longest * 2.5 * 0.5 / 0.4));
}

TEST_CASE("twice the exponentials take half the time of them off attention, never more than a quarter of it") {
  DeviceSpec some = device();
  some.compute.gemm_launch = 0s;
  some.compute.flash_forward = Efficiency(500'000);
  const FlashAttention attention{64, 4096, 4096, 128};
  const double alone = microseconds(OperatorModel(some).time(attention));
  some.exponentials = 2;
  // A pair takes 4 * 128 FLOPs at 0.5 TFLOP/s, of which 36 ps are halved: 1024 ps become 1006.
  CHECK(microseconds(OperatorModel(some).time(attention)) == Approx(alone * 1006 / 1024));
  for (auto& peak : some.peaks)
    if (peak) peak = FlopRate(peak->count() * 100);  // a pair takes less than twice the time of an exponential
  some.memory_bandwidth = Bandwidth(1'000'000'000'000'000);
  CHECK(microseconds(OperatorModel(some).time(attention)) == Approx(alone / 100 * 0.75));
}

// Products of tiles that take much longer than loading, but for what is told.
TEST_CASE("adding up a gradient takes a share of its traffic beside the product") {
  const OperatorModel model(device());
  Gemm product{2560, 1280, 100000};
  product.stage = ProductStage::kWeightGradient;
  const double alone = microseconds(model.time(product));
  CHECK(model.time(product) == model.time(Gemm{2560, 1280, 100000}));
  product.result = Bytes(8);  // 26 MB at 1 TB/s
  const double added = constant("accumulated") * 2560 * 1280 * 8 / 1e12 * 1e6;
  CHECK(microseconds(model.time(product)) == Approx(alone + added).epsilon(1e-4));
}

TEST_CASE("grouped products hide a part of what is shorter, computing or loading") {
  DeviceSpec some = device();
  some.compute.gemm_launch = 0s;
  Gemm product{1024, 1280, 4096, 10};
  DeviceSpec computes = some;
  computes.memory_bandwidth = Bandwidth(1'000'000'000'000'000);
  const double computing = microseconds(OperatorModel(computes).time(product));
  const double loading = static_cast<double>(bytes_of(product).count()) / 1e12 * 1e6;
  REQUIRE(computing > loading);
  product.grouped = true;
  CHECK(microseconds(OperatorModel(some).time(product)) ==
        Approx(computing + constant("grouped") * loading).epsilon(1e-3));
}

TEST_CASE("accumulation in fp32 slows down gradients in fp8, not the forward pass") {
  DeviceSpec fast = device();
  fast.memory_bandwidth = Bandwidth(1'000'000'000'000'000);
  fast.compute.gemm_launch = 0s;
  SoftwareRates rates = micro_benchmark_rates(fast);
  rates.fp8 = 0.8;
  Gemm product{2560, 1280, 100000, 1, Precision::kFp8};
  const double forward = microseconds(OperatorModel(fast).time(product));
  CHECK(microseconds(OperatorModel(fast, rates).time(product)) == Approx(forward).epsilon(1e-6));
  for (const ProductStage stage : {ProductStage::kInputGradient, ProductStage::kWeightGradient}) {
    product.stage = stage;
    CHECK(microseconds(OperatorModel(fast, rates).time(product)) == Approx(forward / 0.8).epsilon(1e-6));
  }
  product.precision = Precision::kBf16;
  CHECK(OperatorModel(fast, rates).time(product) == OperatorModel(fast).time(product));
}

TEST_CASE("element-wise operators take their bytes, as often as the software moves them") {
  DeviceSpec some = device();
  some.compute.memory = Efficiency(800'000);
  SoftwareRates rates;
  rates.traffic[static_cast<std::size_t>(ElementWiseKind::kNorm)] = 2;
  const OperatorModel model(some, rates);
  // 8 MB at 800 GB/s are 10 us.
  CHECK(model.time(ElementWise{ElementWiseKind::kAdd, Bytes(8'000'000)}) == 13us);
  CHECK(model.time(ElementWise{ElementWiseKind::kNorm, Bytes(8'000'000)}) == 23us);
  CHECK(model.time(ElementWise{ElementWiseKind::kAdd, Bytes(1)}) > 3us);
}

TEST_CASE("without work there is no time, and with too much the longest") {
  const OperatorModel model(device());
  CHECK(model.time(Gemm{0, 8, 8}) == 0s);
  CHECK(model.time(Gemm{8, 8, 0}) == 0s);
  CHECK(model.time(Gemm{8, 8, 8, 0}) == 0s);
  CHECK(model.time(FlashAttention{0, 8, 8, 8}) == 0s);
  CHECK(model.time(ElementWise{ElementWiseKind::kCopy, Bytes(0)}) == 0s);
  SoftwareRates slow;
  slow.traffic.fill(100);
  DeviceSpec still = device();
  still.memory_bandwidth = Bandwidth(1);
  CHECK(OperatorModel(still, slow).time(ElementWise{ElementWiseKind::kCopy, Bytes::max()}) == Duration::max());
}

TEST_CASE("a precision without a peak is an error that says which there are") {
  DeviceSpec some = device();
  some.peaks[static_cast<std::size_t>(Precision::kFp8)] = std::nullopt;
  const OperatorModel model(some);
  try {
    model.time(Gemm{8, 8, 8, 1, Precision::kFp8});
    FAIL("no error");
  } catch (const InputError& error) {
    REQUIRE(error.problems().size() == 1);
    CHECK(error.problems()[0].where.file.empty());
    CHECK(error.problems()[0].message == "device 'some-gpu' has no peak for fp8");
    CHECK(error.problems()[0].hint ==
          "it computes in fp64, fp32, tf32, fp16, bf16, int8; or add peak.fp8 to the device");
  }
  CHECK_THROWS_AS(model.time(FlashAttention{1, 8, 8, 8, true, false, Precision::kFp8}), InputError);
  CHECK_NOTHROW(model.time(ElementWise{ElementWiseKind::kCopy, Bytes(8)}));
}

TEST_CASE("every shipped device has a time for every product that it has a peak for") {
  const ConfigFiles files(ORRERY_SOURCE_DIR "/configs");
  for (const std::string& name : files.names("devices")) {
    INFO(name);
    Diagnostics diagnostics;
    ConfigContext context(files, diagnostics);
    ConfigValue root = files.load(files.shipped() / "devices" / (name + ".yaml"), {}, diagnostics);
    DeviceSpec shipped;
    read_config(root, context, [&](Section& section) { shipped = read_device(section); });
    diagnostics.throw_if_errors();
    const OperatorModel model(shipped);
    for (const Precision precision : kAllPrecisions) {
      if (!shipped.peak(precision)) continue;
      const Gemm product{4096, 4096, 4096, 1, precision};
      const double share = seconds(flops_of(product) / *shipped.peak(precision)) / seconds(model.time(product));
      CHECK(share < 1);
      CHECK(share > 0.1);
    }
    CHECK(shipped.compute.flash_backward <= shipped.compute.flash_forward);
  }
}
