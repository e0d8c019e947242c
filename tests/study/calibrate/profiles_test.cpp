// SPDX-License-Identifier: MIT
// What one rank's profile tells a calibration: profiles are made here, with launches, kernels and operators of known
// times.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <random>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "core/config/quantity_text.h"
#include "experiment/experiment.h"
#include "study/calibrate/profiles.h"
#include "tests/shipped_files.h"

using namespace orrery;
using namespace orrery::study;

namespace {

// A profile as torch.profiler writes it; times in microseconds.
class MadeProfile {
 public:
  void launch(double at, int correlation, const std::string& name = "cudaLaunchKernel", double takes = 5) {
    event("cuda_runtime", name, at, takes, 7, fmt::format("\"correlation\": {}", correlation));
  }
  void kernel(double at, double takes, int correlation, const std::string& name = "kernel", int stream = 7,
              const std::string& more = "") {
    event("kernel", name, at, takes, stream,
          fmt::format("\"device\": 0, \"stream\": {}, \"correlation\": {}{}", stream, correlation, more));
  }
  void op(const std::string& name, double at, double takes, const std::string& dims = "", const std::string& types = "",
          const std::string& values = "") {
    std::string args = "\"External id\": 1";
    if (!dims.empty()) args += fmt::format(", \"Input Dims\": {}, \"Input type\": {}", dims, types);
    if (!values.empty()) args += fmt::format(", \"Concrete Inputs\": {}", values);
    event("cpu_op", name, at, takes, 7, args);
  }
  void event(const std::string& category, const std::string& name, double at, double takes, int thread,
             const std::string& args) {
    if (!events_.empty()) events_ += ",\n";
    events_ += fmt::format(
        R"({{"ph": "X", "cat": "{}", "name": "{}", "pid": 1, "tid": {}, "ts": {:.3f}, "dur": {:.3f}, "args": {{{}}}}})",
        category, name, thread, at, takes, args);
  }
  std::string text(const std::string& device = "NVIDIA H100 80GB HBM3") const {
    return fmt::format(
        R"({{"deviceProperties": [{{"name": "{}"}}], "distributedInfo": {{"rank": 0, "world_size": 1}}, "traceEvents": [{}]}})",
        device, events_);
  }
  ProfileEvidence read() const { return read_profile_evidence_text("made.json", text()); }

 private:
  std::string events_;
};

// Kernels of 4 us, each launched `gap` us behind the one before with noise of 3 %.
MadeProfile launches(double gap, int count, std::uint32_t seed) {
  std::mt19937 random(seed);
  std::normal_distribution<double> noise(0, 0.03);
  MadeProfile profile;
  double now = 1000;
  for (int i = 0; i < count; ++i) {
    profile.launch(now, i);
    profile.kernel(now + 6, 4, i);
    now += gap * std::exp(noise(random));
  }
  return profile;
}

CalibratedMachine host_machine(const std::string& launch, const std::string& host_launch = "1") {
  Diagnostics diagnostics;
  ConfigValue root = parse_config("cluster: dgx-h100\nnodes: 1", "made.yaml", diagnostics);
  set_value(root, "cluster.node.host_launch", {ConfigValue::Kind::kScalar, {}, host_launch, {}, {}}, kFiles,
            diagnostics);
  const experiment::Experiment machine = experiment::read_machine("made.yaml", root, kFiles, diagnostics);
  return {machine.resolved.find("cluster")->value,
          parse_config("{name: mine, host: {launch: " + launch + "}}", "made.yaml", diagnostics)};
}

std::string profile_refusal(const std::string& text) {
  try {
    read_profile_evidence_text("made.json", text);
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("the host's launch time of profiles made with known ones lies in its interval") {
  std::mt19937 random(5);
  std::uniform_real_distribution<double> gaps(12, 80);
  int held = 0;
  for (std::uint32_t draw = 0; draw < 20; ++draw) {
    const double gap = gaps(random);
    const std::vector<ProfileEvidence> profiles = {launches(gap, 400, draw).read()};
    CalibratedMachine machine = host_machine("30 us");
    const Finding finding = calibrate_host(profiles, machine, kFiles);
    REQUIRE(finding.constants.size() == 1);
    const CalibratedConstant& launch = finding.constants.front();
    CHECK(launch.key == "host.launch");
    CHECK(launch.before == Approx(30e-6));
    REQUIRE(launch.determined());
    // 400 gaps with 3 % noise know their median to 1.25 * 3 % / 20 = 0.19 %.
    CHECK(launch.after == Approx(gap * 1e-6).epsilon(0.01));
    CHECK(launch.high / launch.low < 1.015);
    if (launch.low <= gap * 1e-6 && gap * 1e-6 <= launch.high) ++held;
    const auto written = parse_quantity<Duration>(machine.software.find("host")->value.find("launch")->value.scalar);
    CHECK(seconds(*written.value) == Approx(launch.after).epsilon(1e-3));
  }
  CHECK(held >= 18);
}

TEST_CASE("a software's launch time is that on a host of host_launch 1") {
  const std::vector<ProfileEvidence> profiles = {launches(42, 300, 1).read()};
  CalibratedMachine machine = host_machine("30 us", "1.4");
  const Finding finding = calibrate_host(profiles, machine, kFiles);
  CHECK(finding.constants.front().after == Approx(30e-6).epsilon(0.01));  // 42 / 1.4
}

TEST_CASE("a profile without launches, or with few, moves nothing and says so") {
  CalibratedMachine machine = host_machine("30 us");
  const std::vector<ProfileEvidence> profiles = {launches(42, 20, 1).read()};
  const Finding finding = calibrate_host(profiles, machine, kFiles);
  CHECK_FALSE(finding.constants.front().determined());
  CHECK(finding.constants.front().after == Approx(30e-6));
  CHECK(finding.constants.front().stays == "19 gaps between launches, of which 50 are wanted");

  MadeProfile device_only;
  device_only.kernel(0, 5, 1);
  const ProfileEvidence alone = device_only.read();
  REQUIRE(alone.warnings.size() == 2);
  CHECK(alone.warnings[1].message == "no launch of a kernel is in the profile: it says nothing of the host");
}

TEST_CASE("gaps across a synchronisation or behind a blocked launch are not the host's pace") {
  MadeProfile profile;
  double now = 0;
  for (int i = 0; i < 100; ++i) {
    profile.launch(now, i, "cudaLaunchKernel", i % 10 == 5 ? 400 : 5);  // the queue is full
    profile.kernel(now + 410, 2, i);
    if (i % 10 == 0) profile.event("cuda_runtime", "cudaStreamSynchronize", now + 6, 200, 7, "\"correlation\": 9999");
    now += i % 10 == 0 || i % 10 == 5 ? 500 : 20;
  }
  const ProfileEvidence evidence = profile.read();
  CHECK(evidence.launches.kernels == 100);
  CHECK(evidence.launches.all.size() == 79);  // of 99, 10 with a synchronisation and 10 behind a blocked launch
  CHECK(evidence.launches.all.back() == Approx(20e-6));
}

TEST_CASE("the time of a profile is told apart: kernels, exchange alone, host and idle") {
  MadeProfile profile;
  profile.launch(0, 1);
  profile.kernel(10, 20, 1, "nvjet_tst_128x256");  // 10 to 30: product
  profile.launch(2, 2);
  profile.kernel(20, 30, 2, "ncclDevKernel_AllReduce", 9);  // 20 to 50, of which 30 to 50 alone
  profile.launch(55, 3);
  profile.kernel(60, 5, 3, "flash_fwd_kernel");  // behind 10 in which the device waited for its launch
  profile.launch(57, 4);
  profile.kernel(70, 5, 4, "elementwise");  // behind 5 in which it had been launched
  const ProfiledTime time = profile.read().time;
  CHECK(time.of(ProfiledKind::kProduct) == Approx(20e-6));
  CHECK(time.of(ProfiledKind::kExchange) == Approx(20e-6));
  CHECK(time.exchange == Approx(30e-6));
  CHECK(time.of(ProfiledKind::kHost) == Approx(10e-6));
  CHECK(time.of(ProfiledKind::kAttention) == Approx(5e-6));
  CHECK(time.of(ProfiledKind::kIdle) == Approx(5e-6));
  CHECK(time.of(ProfiledKind::kOther) == Approx(5e-6));
  CHECK(time.total() == Approx(65e-6));
}

TEST_CASE("the time of marked steps is that of one") {
  MadeProfile profile;
  profile.event("user_annotation", "ProfilerStep#3", 0, 100, 7, "");
  profile.event("user_annotation", "ProfilerStep#4", 100, 100, 7, "");
  profile.launch(-50, 1);  // before the first
  profile.kernel(-45, 5, 1);
  profile.launch(10, 2);
  profile.kernel(20, 30, 2, "gemm");
  profile.launch(110, 3);
  profile.kernel(120, 30, 3, "gemm");
  const ProfiledTime time = profile.read().time;
  CHECK(time.steps == 2);
  CHECK(time.of(ProfiledKind::kProduct) == Approx(30e-6));
  CHECK(time.of(ProfiledKind::kHost) == Approx(35e-6));  // 50 to 120, of two steps
}

TEST_CASE("products get their sizes from operators, and their stage from the kernel or autograd") {
  MadeProfile profile;
  const std::string types = R"(["c10::BFloat16", "c10::BFloat16"])";
  profile.op("aten::linear", 0, 30, "[[8, 64], [32, 64]]", types);
  profile.op("aten::mm", 1, 20, "[[8, 64], [64, 32]]", types);
  profile.launch(5, 1);
  profile.kernel(100, 7, 1, "gemm_kernel");
  profile.op("autograd::engine::evaluate_function: MmBackward0", 40, 60);
  profile.op("aten::mm", 41, 10, "[[8, 32], [32, 64]]", types);
  profile.launch(42, 2);
  profile.kernel(110, 9, 2, "gemm_kernel");
  profile.op("aten::mm", 60, 10, "[[32, 8], [8, 64]]", types);
  profile.launch(62, 3);
  profile.kernel(120, 11, 3, "gemm_kernel");
  profile.launch(63, 4);
  profile.kernel(131, 1, 4, "splitKreduce_kernel");  // of the same product
  profile.op("aten::addmm", 200, 10, "[[32], [8, 64], [64, 32], [], []]",
             R"(["c10::Half", "c10::Half", "c10::Half", "Scalar", "Scalar"])");
  profile.launch(201, 5);
  profile.kernel(220, 3, 5, "sm80_xmma_gemm_f16f16_tn_n_tilesize");
  const ProfileEvidence evidence = profile.read();
  REQUIRE(evidence.kernels.size() == 4);
  CHECK(evidence.products_known == Approx(1));
  const auto find = [&](TimedStage stage, Precision precision) {
    for (const KernelTiming& one : evidence.kernels)
      if (one.stage == stage && one.precision == precision) return one;
    FAIL("no such kernel");
    return KernelTiming{};
  };
  const KernelTiming forward = find(TimedStage::kForward, Precision::kBf16);
  CHECK((forward.m == 8 && forward.n == 32 && forward.k == 64));
  CHECK(forward.seconds == Approx(7e-6));
  const KernelTiming input = find(TimedStage::kInputGradient, Precision::kBf16);
  CHECK((input.m == 8 && input.n == 64 && input.k == 32));
  const KernelTiming weight = find(TimedStage::kWeightGradient, Precision::kBf16);
  CHECK((weight.m == 32 && weight.n == 64 && weight.k == 8));
  CHECK(weight.seconds == Approx(12e-6));  // with the sum of its parts
  CHECK(find(TimedStage::kForward, Precision::kFp16).seconds == Approx(3e-6));
}

TEST_CASE("attention, grouped products and copies are known by their operators") {
  MadeProfile profile;
  const std::string types = R"(["c10::BFloat16", "c10::BFloat16", "c10::BFloat16", "", "Scalar"])";
  profile.op("aten::_scaled_dot_product_flash_attention", 0, 10,
             "[[2, 8, 128, 64], [2, 4, 128, 64], [2, 4, 128, 64], [], []]", types,
             R"(["", "", "", "0.", "True", "False", ""])");
  profile.launch(1, 1);
  profile.kernel(20, 6, 1, "flash_fwd_kernel");
  profile.op("aten::_grouped_mm", 40, 10, "[[64, 16], [4, 16, 32]]", types);
  profile.launch(41, 2);
  profile.kernel(50, 8, 2, "grouped");
  profile.op("aten::copy_", 60, 10, "[[8192, 4096], [8192, 4096], []]", R"(["c10::BFloat16", "float", "Scalar"])");
  profile.launch(61, 3);
  profile.kernel(80, 100, 3, "copy");
  const ProfileEvidence evidence = profile.read();
  REQUIRE(evidence.kernels.size() == 3);
  for (const KernelTiming& one : evidence.kernels) {
    if (one.kind == TimedKind::kAttention) {
      CHECK((one.batch == 2 && one.heads == 8 && one.kv_heads == 4 && one.sequence == 128 && one.head_size == 64));
      CHECK(one.causal);
    }
    if (one.kind == TimedKind::kGrouped) CHECK((one.groups == 4 && one.m == 16 && one.n == 32 && one.k == 16));
    // 2^25 elements: 4 B of each are read and 2 B written.
    if (one.kind == TimedKind::kMemory) CHECK(one.bytes == Approx(6.0 * 8192 * 4096));
  }
}

TEST_CASE("of collectives the fastest of a size counts, which waits least") {
  MadeProfile profile;
  for (int i = 0; i < 3; ++i)
    profile.kernel(100.0 * i, 20 + 10 * i, i, "ncclDevKernel_AllGather", 9,
                   R"(, "Collective name": "_allgather_base", "In msg nelems": 1000, "Out msg nelems": 8000, )"
                   R"("Group size": 8, "dtype": "BFloat16")");
  const ProfileEvidence evidence = profile.read();
  REQUIRE(evidence.collectives.size() == 1);
  const ProfiledCollective& one = evidence.collectives.front();
  CHECK(one.kind == CollectiveKind::kAllGather);
  CHECK(one.bytes == Bytes(16'000));  // all shares together
  CHECK((one.ranks == 8 && one.count == 3));
  CHECK(one.fastest == Approx(20e-6));
  CHECK(one.median == Approx(30e-6));
  CalibratedMachine machine = host_machine("30 us");
  const std::vector<ProfileEvidence> profiles = {evidence};
  const Finding finding = calibrate_host(profiles, machine, kFiles);
  CHECK(std::ranges::any_of(finding.notes, [](const std::string& note) {
    return note.starts_with(
        "collectives all_gather of 15.62 KiB among 8 ranks 30.00 us, 20.00 us at best (3 times): ");  // 16,000 / 1,024
  }));
}

TEST_CASE("wrong profiles are told what is wrong with them") {
  const std::string whole = launches(20, 5, 1).text();
  CHECK(profile_refusal(whole.substr(0, whole.size() / 2)).find("was the profiler stopped while it wrote?") !=
        std::string::npos);
  MadeProfile host_only;
  host_only.op("aten::mm", 0, 5, "[[8, 8], [8, 8]]", R"(["float", "float"])");
  CHECK(profile_refusal(host_only.text()).find("no operation of a device among the events") != std::string::npos);
  std::string broken = whole;
  const std::string kernel = R"("cat": "kernel", "name": "kernel", "pid": 1, "tid": 7, "ts": )";
  broken.insert(broken.find(kernel) + kernel.size(), "\"nan\", \"was\": ");
  CHECK(profile_refusal(broken).find("has no ts and dur in microseconds") != std::string::npos);
  CHECK(profile_refusal(R"({"schema": "1.1.0", "nodes": []})").find("execution trace") != std::string::npos);
}

TEST_CASE("a profile of another device is refused") {
  const std::vector<ProfileEvidence> profiles = {
      read_profile_evidence_text("a100.json", launches(20, 100, 1).text("NVIDIA A100-SXM4-80GB"))};
  CalibratedMachine machine = host_machine("30 us");
  CHECK_THROWS_WITH(calibrate_host(profiles, machine, kFiles),
                    Catch::Contains("measured on NVIDIA A100-SXM4-80GB; the cluster has h100-sxm"));
}
