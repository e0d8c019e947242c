// SPDX-License-Identifier: MIT
// Measured kernels in place of the model's times: exact where they were measured, none far away, continuous between.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <filesystem>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "core/config/config.h"
#include "core/files/read_file.h"
#include "system/devices/operator_model.h"
#include "workload/chakra/file.h"

using namespace orrery;
using namespace orrery::system;
using namespace orrery::workload;

namespace {

KernelSample sample_of(const Operator& op, double microseconds) {
  return {{}, "gemm bf16", "", 128, op, Duration(std::llround(microseconds * 1e6))};
}

DeviceSpec device_with(std::vector<KernelSample> samples) {
  DeviceSpec device;
  device.name = "made-up";
  device.peaks[static_cast<std::size_t>(Precision::kBf16)] = FlopRate(100'000'000'000'000);
  device.memory_bandwidth = Bandwidth(1'000'000'000'000);
  device.streaming_multiprocessors = 100;
  device.measured = std::move(samples);
  return device;
}

const Gemm kProduct{4096, 4096, 4096, 1, Precision::kBf16};
const FlashAttention kAttention{64, 4096, 4096, 128, true, false, Precision::kBf16, 1};

double median_of_errors(std::span<const double> errors) {
  std::vector<double> sorted(errors.begin(), errors.end());
  std::ranges::sort(sorted);
  return sorted[sorted.size() / 2];
}

}  // namespace

TEST_CASE("an operator that was measured takes the measured time, the mean where it was twice") {
  const DeviceSpec device = device_with({sample_of(kProduct, 2000), sample_of(kAttention, 900)});
  const OperatorModel model(device);
  CHECK(model.time(kProduct) == Duration(2'000'000'000));
  CHECK(model.measured(kProduct) == 1);
  CHECK(model.time(kAttention) == Duration(900'000'000));

  const OperatorModel twice(device_with({sample_of(kProduct, 1000), sample_of(kProduct, 4000)}));
  CHECK(seconds(twice.time(kProduct)) == Approx(2e-3));  // of logarithms
}

TEST_CASE("a measured kernel takes as long as measured whatever the software's rates are, one like none all of them") {
  const DeviceSpec device = device_with({sample_of(kProduct, 2000)});
  SoftwareRates slow = micro_benchmark_rates(device);
  slow.gemm = 0.5;
  const OperatorModel with(device, slow), without(device_with({}), slow), alone(device_with({}));
  CHECK(seconds(without.time(kProduct)) > 1.5 * seconds(alone.time(kProduct)));
  CHECK(seconds(with.time(kProduct)) == Approx(2e-3));
  const Gemm far{64, 64, 64, 1, Precision::kBf16};
  REQUIRE(with.measured(far) == 0);
  CHECK(with.time(far) == without.time(far));
  // Between the two the share of the measurements in the correction is their share in the rates as well.
  Gemm near = kProduct;
  near.m = 3000;
  const double share = with.measured(near);
  REQUIRE(share > 0.1);
  REQUIRE(share < 0.99);
  const double fitted = std::log(seconds(without.time(near)) / seconds(alone.time(near)));
  CHECK(std::log(seconds(with.time(near)) / seconds(OperatorModel(device).time(near))) == Approx((1 - share) * fitted));
}

TEST_CASE("on a faster device than the kernels were measured on, measured times shrink as modelled ones do") {
  DeviceSpec fast = device_with({sample_of(kProduct, 2000)});
  fast.measured_on = {device_with({})};
  fast.peaks[static_cast<std::size_t>(Precision::kBf16)] = FlopRate(200'000'000'000'000);
  DeviceSpec bare = fast;
  bare.measured.clear();
  const double shrunk =
      seconds(OperatorModel(bare).time(kProduct)) / seconds(OperatorModel(device_with({})).time(kProduct));
  CHECK(shrunk < 0.6);
  CHECK(seconds(OperatorModel(fast).time(kProduct)) == Approx(2e-3 * shrunk));
}

TEST_CASE("operators unlike all that was measured keep the model's time") {
  const OperatorModel with(device_with({sample_of(kProduct, 2000), sample_of(kAttention, 900)})),
      without(device_with({}));
  Gemm far = kProduct, batch = kProduct, unaligned = kProduct;
  far.m *= 5;
  batch.batch = 2;
  unaligned.aligned = false;
  FlashAttention backward = kAttention, other_head = kAttention, masked = kAttention;
  backward.backward = true;
  other_head.head_size = 64;
  masked.causal = false;
  for (const Operator& op : std::vector<Operator>{far, batch, unaligned, backward, other_head, masked,
                                                  ElementWise{ElementWiseKind::kNorm, Bytes(1 << 20)}, Gemm{}}) {
    CHECK(with.time(op) == without.time(op));
    CHECK(with.measured(op) == 0);
  }
}

TEST_CASE("a stage that was measured has its own times, one that was not those of the forward pass") {
  Gemm input = kProduct, weight = kProduct;
  input.stage = ProductStage::kInputGradient;
  weight.stage = ProductStage::kWeightGradient;
  const OperatorModel with(device_with({sample_of(kProduct, 2000), sample_of(weight, 3000)}));
  CHECK(seconds(with.time(kProduct)) == Approx(2e-3));
  CHECK(seconds(with.time(input)) == Approx(2e-3));
  CHECK(seconds(with.time(weight)) == Approx(3e-3));
  FlashAttention backward = kAttention;
  backward.backward = true;
  CHECK(seconds(OperatorModel(device_with({sample_of(backward, 900)})).time(backward)) == Approx(9e-4));
}

TEST_CASE("grouped products that were measured stand for grouped products alone, those of as many groups first") {
  Gemm four = kProduct, one = kProduct;
  four.grouped = one.grouped = true;
  four.batch = 4;
  const DeviceSpec bare = device_with({});
  const OperatorModel without(bare), with(device_with({sample_of(four, 9000)}));
  CHECK(seconds(with.time(four)) == Approx(9e-3));
  CHECK(with.measured(four) == 1);
  CHECK(with.time(kProduct) == without.time(kProduct));
  CHECK(with.measured(kProduct) == 0);
  Gemm eight = four, many = four, batch = four;
  eight.batch = 8;
  many.batch = 64;
  batch.grouped = false;
  CHECK(with.measured(eight) > 0);
  CHECK(with.measured(eight) < 1);
  CHECK(with.measured(many) == 0);
  CHECK(with.measured(batch) == 0);
  // A kernel for groups that had one of them says nothing of plain products, nor do these of grouped ones.
  CHECK(OperatorModel(device_with({sample_of(one, 9000)})).time(kProduct) == without.time(kProduct));
  CHECK(OperatorModel(device_with({sample_of(kProduct, 9000)})).time(four) == without.time(four));
}

TEST_CASE("between measurements and the model times go over without a jump") {
  const OperatorModel with(device_with({sample_of(kProduct, 8000)})), without(device_with({}));
  double before = seconds(with.time(kProduct)) / seconds(without.time(kProduct));
  CHECK(before > 2);
  double share = 1;
  for (std::int64_t m = 4096; m < 4096 * 5; m += 64) {
    const Gemm product{m, 4096, 4096, 1, Precision::kBf16};
    const double ratio = seconds(with.time(product)) / seconds(without.time(product));
    CHECK(ratio <= before * (1 + 1e-9));
    CHECK(ratio > before * 0.97);
    CHECK(with.measured(product) <= share);
    before = ratio;
    share = with.measured(product);
  }
  CHECK(before == Approx(1));
}

TEST_CASE("measured experts are at most as many as a table may have") {
  const auto errors_of = [](int experts) {
    Diagnostics diagnostics;
    read_kernel_csv(
        "dtype,kernel,tokens,hidden,inter,topk,experts,tp,ep,distribution,latency_us\nbfloat16,moe,8,64,64,1," +
            std::to_string(experts) + ",1,1,balanced,10\n",
        "experts.csv", diagnostics);
    std::string text;
    for (const Problem& problem : diagnostics.problems()) text += to_string(problem);
    return text;
  };
  CHECK(errors_of(65536) == "");
  CHECK(errors_of(65537) == "experts.csv:2:24: error: 65537 experts; at most 65536");
}

TEST_CASE("half of the measured products of an H100 predict the other half") {
  const std::filesystem::path path = ORRERY_SOURCE_DIR "/../shared/data/kernels/gemm_h100_sxm.csv.gz";
  if (!std::filesystem::exists(path)) {
    WARN("SKIPPED: no measured kernels beside the sources");
    return;
  }
  const ConfigFiles files(ORRERY_SOURCE_DIR "/configs");
  Diagnostics diagnostics;
  ConfigContext context(files, diagnostics);
  ConfigValue root = files.load(files.shipped() / "devices/h100-sxm.yaml", {}, diagnostics);
  DeviceSpec device;
  read_config(root, context, [&](Section& section) { device = read_device(section); });
  std::vector<KernelSample> all =
      read_kernel_csv(inflate_gzip(path.string(), read_file(path.string())), path.string(), diagnostics);
  diagnostics.throw_if_errors();
  std::erase_if(all, [](const KernelSample& sample) { return sample.kind != "gemm bf16" || sample.rows < 128; });
  std::mt19937 order(1);
  for (std::size_t i = all.size() - 1; i > 0; --i) std::swap(all[i], all[order() % (i + 1)]);
  const auto half = all.begin() + static_cast<std::ptrdiff_t>(all.size() / 2);
  const OperatorModel without(device);
  device.measured.assign(all.begin(), half);
  const OperatorModel with(device);
  std::vector<double> modelled, measured;
  for (auto sample = half; sample != all.end() && measured.size() < 1000; ++sample) {
    const auto& op = std::get<Operator>(sample->what);
    modelled.push_back(std::abs(seconds(without.time(op)) / seconds(sample->measured) - 1));
    measured.push_back(std::abs(seconds(with.time(op)) / seconds(sample->measured) - 1));
  }
  CHECK(median_of_errors(measured) < 0.05);
  CHECK(median_of_errors(measured) < median_of_errors(modelled) / 2);
}
