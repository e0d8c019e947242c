// SPDX-License-Identifier: MIT
// Kinds of files of a calibration, told by their contents, and a machine calibrated to several of them.
#include "study/calibrate/machine/evidence.h"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>

#include <fmt/format.h>
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "study/benchmark/study.h"
#include "study/calibrate/machine/stages.h"
#include "tests/shipped_files.h"

using namespace orrery;
using namespace orrery::study;

namespace {

// A file that is gone afterwards.
class EvidenceText {
 public:
  EvidenceText(const std::string& name, const std::string& text)
      : path_((std::filesystem::temp_directory_path() / fmt::format("orrery-{}-{}", getpid(), name)).string()) {
    std::ofstream(path_, std::ios::binary) << text;
  }
  ~EvidenceText() { std::filesystem::remove(path_); }
  EvidenceText(const EvidenceText&) = delete;
  EvidenceText& operator=(const EvidenceText&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

EvidenceKind kind_of(const std::string& text, const std::string& name = "evidence.txt") {
  const EvidenceText file(name, text);
  return evidence_of(file.path(), kFiles).kind;
}

std::string refusal_of(const std::string& text, const std::string& name = "evidence.txt") {
  try {
    kind_of(text, name);
  } catch (const InputError& error) {
    return error.problems().front().message;
  }
  return {};
}

const std::string kHeading =
    "#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw\n";

}  // namespace

TEST_CASE("a file's kind is told by what is in it") {
  CHECK(kind_of(kHeading) == EvidenceKind::kCollectives);
  CHECK(kind_of(std::string(200'000, '.') + "\n" + kHeading) == EvidenceKind::kCollectives);  // late in a job's output
  CHECK(kind_of("size_bytes,oop_time_us\n8,10\n") == EvidenceKind::kCollectives);
  CHECK(kind_of(R"({"schema": "orrery.collective/1", "rows": []})") == EvidenceKind::kCollectives);
  CHECK(kind_of("node0:1:1 [0] NCCL WARN Connect failed\n") == EvidenceKind::kCollectives);
  CHECK(kind_of("m,n,k,time_us\n4096,4096,4096,600\n") == EvidenceKind::kKernels);
  CHECK(kind_of(R"({"schema": "orrery.measurement/1", "kernels": []})") == EvidenceKind::kKernels);
  CHECK(kind_of(R"({"schemaVersion": 1, "traceEvents": []})") == EvidenceKind::kProfile);
  CHECK(kind_of("table: t\nfigure: time\nexperiment: {}\nrows: []\n", "t.yaml") == EvidenceKind::kSteps);
}

TEST_CASE("a file of no kind is refused with what is wrong with it") {
  CHECK(refusal_of("") == "the file is empty");
  CHECK(refusal_of(std::string("\x7f"
                               "ELF\0\0",
                               6)) == "binary data");
  CHECK(refusal_of("8,10.5\n16,10.6\n") == "a table without a line that names its columns");
  CHECK(refusal_of("hello\n") == "no measurement that a calibration takes");
  CHECK(refusal_of("cluster: dgx-a100\nworkload: {collective: all_reduce}\n", "job.yaml") ==
        "an experiment, not a measurement");
}

TEST_CASE("a machine is calibrated to a log and to kernels at once, each in its own part of the cluster") {
  CollectiveQuestion made{.cluster = "dgx-a100", .library = "nccl", .settings = {"cluster.nccl.base.ring.ll=9 us"}};
  const auto operation = workload::call_operation_named("all_reduce", "--op");
  const std::vector<Bytes> sizes = sizes_of({.first = "8", .last = "8G"});
  const EvidenceText log("log.json", to_json(study_collective(made, operation, sizes, kFiles)).dump());
  // Large products at 250 TFLOP/s: 2 m n k / 250e12, of a device whose peak is 312.
  std::string table = "m,n,k,dtype,time_us\n";
  for (const double size : {4096.0, 6144.0, 8192.0, 12288.0, 16384.0})
    table += fmt::format("{0:.0f},{0:.0f},{0:.0f},bf16,{1:.2f}\n", size, 2 * size * size * size / 250e12 * 1e6);
  const EvidenceText kernels("kernels.csv", table);
  MachineQuestion question;
  question.files = {log.path(), kernels.path()};
  question.machine.cluster = "dgx-a100";
  const MachineCalibration found = calibrate_machine(question, kFiles);
  REQUIRE(found.findings.size() == 2);
  CHECK(found.findings[0].title == "collectives");
  CHECK(found.findings[1].title == "kernels");
  CHECK(found.changes(CalibratedFile::kCluster));
  CHECK_FALSE(found.changes(CalibratedFile::kSoftware));
  const std::string text = calibrated_file(found, CalibratedFile::kCluster, "a test", kFiles);
  CHECK(text.find("      ll: 9 us  # fitted: 6.6 us before; ") != std::string::npos);
  CHECK(text.find("gemm: 78.3 %\n") == std::string::npos);
  const nlohmann::ordered_json document = calibration_json(found);
  CHECK(document["rows"].size() == sizes.size() + 5);
  CHECK(document["files"][1]["kind"] == "kernels");
}

namespace {

// 3.3 s by the shipped constants.
const std::string kMeasuredJob =
    "cluster: dgx-h100\nnodes: 2\nworkload:\n  model: llama3-8b\n  precision: bf16\n  batch: {global: 64, micro: 1}\n"
    "  parallel: {tensor: 1, pipeline: 1, data: 16}\n";

bool warns_of(const MachineCalibration& calibration, std::string_view text) {
  return std::ranges::any_of(calibration.warnings,
                             [&](const Problem& problem) { return problem.message.find(text) != std::string::npos; });
}

// 60 kernels of 4 us, launched one in 30 us: a step of 1.8 ms.
std::string short_profile() {
  std::string events;
  for (int i = 0; i < 60; ++i)
    events += fmt::format(
        R"({}{{"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 7, "ts": {}, "dur": 5, )"
        R"("args": {{"correlation": {}}}}}, {{"ph": "X", "cat": "kernel", "name": "k", "pid": 1, "tid": 7, "ts": {}, )"
        R"("dur": 4, "args": {{"device": 0, "stream": 7, "correlation": {}}}}})",
        i == 0 ? "" : ", ", 30 * i, i, 30 * i + 6, i);
  return fmt::format(R"({{"deviceProperties": [{{"name": "NVIDIA H100 80GB HBM3"}}], "traceEvents": [{}]}})", events);
}

}  // namespace

TEST_CASE("a profile a thousand times shorter than the measured step is of another job") {
  const EvidenceText job("job.yaml", kMeasuredJob), profile("profile.json", short_profile());
  MachineQuestion question;
  question.files = {profile.path()};
  question.machine.cluster = "dgx-h100";
  question.software = "megatron-2025";
  REQUIRE(calibrate_machine(question, kFiles).changes(CalibratedFile::kSoftware));  // host.launch, by itself
  question.machine.cluster = question.software = "";
  question.job = job.path();
  question.measured = "3.4 s";
  const MachineCalibration found = calibrate_machine(question, kFiles);
  CHECK(warns_of(found, "took 3.400 s: it is of another job, and left out"));
  CHECK_FALSE(found.changes(CalibratedFile::kSoftware));
  REQUIRE(found.findings.size() == 1);
  CHECK(found.findings[0].parts.back().name == "not explained");
}

TEST_CASE("what another stage makes of the measured step is seen beside the constants as they were") {
  // Products at 300 of 989 TFLOP/s, where the shipped constants have more than 600.
  std::string table = "m,n,k,dtype,time_us\n";
  for (const double size : {4096.0, 6144.0, 8192.0, 12288.0, 16384.0})
    table += fmt::format("{0:.0f},{0:.0f},{0:.0f},bf16,{1:.2f}\n", size, 2 * size * size * size / 300e12 * 1e6);
  const EvidenceText job("job.yaml", kMeasuredJob), kernels("kernels.csv", table);
  MachineQuestion question;
  question.job = job.path();
  question.measured = "3.4 s";
  const MachineCalibration alone = calibrate_machine(question, kFiles);
  question.files = {kernels.path()};
  const MachineCalibration found = calibrate_machine(question, kFiles);
  REQUIRE(found.findings.size() == 2);
  const CalibratedMeasurement& step = found.findings[1].rows.front();
  CHECK(step.before == Approx(alone.findings[0].rows.front().before));
  CHECK(step.after > 1.2 * step.before);
  CHECK(warns_of(found, "the constants of the other files predict the measured step worse than those before"));
  CHECK_FALSE(warns_of(alone, "worse than those before"));
}

TEST_CASE("constants of an earlier calibration keep their evidence in the next file") {
  const auto operation = workload::call_operation_named("all_reduce", "--op");
  const std::vector<Bytes> sizes = sizes_of({.first = "8", .last = "8G"});
  const auto log_of = [&](const std::string& nodes, const std::vector<std::string>& settings) {
    const CollectiveQuestion made{.cluster = "dgx-a100", .nodes = nodes, .library = "nccl", .settings = settings};
    return to_json(study_collective(made, operation, sizes, kFiles)).dump();
  };
  // One node tells of base.ring.ll, which the log of two nodes leaves as it is, and tells of the network.
  const EvidenceText one("one.json", log_of("1", {"cluster.nccl.base.ring.ll=9 us"}));
  const EvidenceText two("two.json",
                         log_of("2", {"cluster.nccl.base.ring.ll=9 us", "cluster.nccl.hop.network.ll=9 us"}));
  MachineQuestion question;
  question.files = {one.path()};
  question.machine.cluster = "dgx-a100";
  const EvidenceText first("first.yaml", calibrated_file(calibrate_machine(question, kFiles), CalibratedFile::kCluster,
                                                         "the first", kFiles));
  question.files = {two.path()};
  question.machine.cluster = first.path();
  const std::string text =
      calibrated_file(calibrate_machine(question, kFiles), CalibratedFile::kCluster, "the second", kFiles);
  CHECK(text.find(": 9 us  # fitted: 6.6 us before; ") != std::string::npos);
  CHECK(text.find(fmt::format("rows of {}", one.path())) != std::string::npos);
  CHECK(text.find(fmt::format("rows of {}", two.path())) != std::string::npos);
}
