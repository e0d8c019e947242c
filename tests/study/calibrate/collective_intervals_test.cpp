// SPDX-License-Identifier: MIT
// Intervals of NCCL's constants hold the values that made the logs; logs of one node and of several tell constants
// apart that neither tells alone.
#include <unistd.h>
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "study/benchmark/study.h"
#include "study/calibrate/collectives/collectives.h"
#include "tests/scatter.h"
#include "tests/shipped_files.h"

using namespace orrery;
using namespace orrery::collectives;
using namespace orrery::study;

namespace {

using Constants = std::vector<std::pair<std::string, std::string>>;  // path, text

// One log of a calibration: an operation on so many nodes.
struct Run {
  const char* operation;
  const char* nodes;
};

CollectiveQuestion machine_of(const char* cluster, const Run& run, const Constants& constants) {
  CollectiveQuestion question{.cluster = cluster, .nodes = run.nodes, .library = "nccl"};
  for (const auto& [path, text] : constants) question.settings.push_back("cluster.nccl." + path + "=" + text);
  return question;
}

// The files of runs on a machine with these constants, which are gone afterwards.
class Logs {
 public:
  Logs(const char* cluster, const std::vector<Run>& runs, const Constants& constants) {
    const std::vector<Bytes> sizes = sizes_of({.first = "8", .last = "8G"});
    for (const Run& run : runs) {
      const auto operation = workload::call_operation_named(run.operation, "--op");
      const CollectiveTable table = study_collective(machine_of(cluster, run, constants), operation, sizes, kFiles);
      paths_.push_back((std::filesystem::temp_directory_path() /
                        fmt::format("orrery-{}-{}-{}.json", getpid(), run.operation, run.nodes))
                           .string());
      std::ofstream(paths_.back()) << to_json(table).dump();
    }
  }
  ~Logs() {
    for (const std::string& path : paths_) std::filesystem::remove(path);
  }
  Logs(const Logs&) = delete;
  Logs& operator=(const Logs&) = delete;

  CalibrationQuestion question(const char* cluster) const {
    CalibrationQuestion question;
    question.machine.cluster = cluster;
    question.logs = paths_;
    return question;
  }

 private:
  std::vector<std::string> paths_;
};

double true_value(const char* cluster, const Constants& constants, std::size_t number) {
  Diagnostics diagnostics;
  const auto operation = workload::call_operation_named("all_reduce", "--op");
  const auto experiment =
      read_question(machine_of(cluster, {"all_reduce", "1"}, constants), operation, kFiles, diagnostics);
  return experiment.simulation.collectives.nccl_constants->constants.value(number);
}

struct Held {
  int draws = 0;  // in which the constant has an interval
  int held = 0;   // of them, whose interval holds the true value
};

}  // namespace

TEST_CASE("intervals hold the constants that made the logs, in nine of ten of twenty draws at three percent of noise") {
  constexpr int kDraws = 20;
  constexpr double kNoise = 0.03;
  struct Case {
    const char* cluster;
    std::vector<Run> runs;
    Constants constants;
  };
  const std::vector<Case> cases = {
      {"dgx-a100",
       {{"all_reduce", "1"}, {"all_reduce", "2"}},
       {{"base.ring.ll", "9 us"}, {"base.tree.ll", "9 us"}, {"efficiency.tree", "85 %"}}},
      {"dgx-h100",
       {{"all_reduce", "1"}, {"all_gather", "1"}, {"all_reduce", "2"}},
       {{"base.ring.ll", "9 us"}, {"base.nvls", "30 us"}, {"efficiency.nvls.hopper", "70 %"}}},
      {"dgx-a100", {{"all_reduce", "1"}}, {{"base.ring.ll", "9 us"}, {"efficiency.ring", "88 %"}}},
  };
  std::uint64_t state = 11;
  Held all;
  for (const Case& c : cases) {
    const Logs logs(c.cluster, c.runs, c.constants);
    Diagnostics diagnostics;
    CalibrationData data = read_calibration(logs.question(c.cluster), kFiles, diagnostics);
    std::map<std::size_t, Held> held;
    for (int draw = 0; draw < kDraws; ++draw) {
      std::vector<CalibrationRow> rows = data.rows;
      for (CalibrationRow& row : rows) row.seconds *= std::exp(kNoise * testing::standard_normal(state));
      for (const FittedNcclConstant& fitted : fit_nccl_constants(data, rows, FitIntervals::kWide).fitted) {
        if (fitted.low > fitted.high) continue;
        Held& one = held[fitted.number];
        const double value = true_value(c.cluster, c.constants, fitted.number);
        ++one.draws;
        if (fitted.low <= value && value <= fitted.high) ++one.held;
      }
    }
    for (const auto& [number, one] : held) {
      all.draws += one.draws;
      all.held += one.held;
      INFO(c.cluster << " " << c.runs.size() << " logs: " << nccl_constant_entries()[number].path << " held in "
                     << one.held << " of " << one.draws);
      // A constant that is determined in a few draws alone says little by itself.
      if (one.draws >= kDraws / 2) CHECK(10 * one.held >= 9 * one.draws);
    }
    for (const auto& [path, text] : c.constants) {
      INFO(c.cluster << ": " << path);
      CHECK(held[*nccl_constant_named(path)].draws >= kDraws / 2);
    }
  }
  CHECK(10 * all.held >= 9 * all.draws);
}

TEST_CASE("logs of one node and of two, fitted together, tell a base from its hops, and find their own ranks") {
  // 8 ranks pass 14 hops of a ring, 16 ranks 30, two of them over the network.
  const Constants constants = {{"base.ring.ll", "9 us"}, {"hop.nvlink.ring.ll", "500 ns"}};
  const std::vector<Run> runs = {{"all_gather", "1"}, {"all_gather", "2"}};
  const Logs logs("dgx-a100", runs, constants);
  const Calibration calibration = calibrate(logs.question("dgx-a100"), kFiles);
  REQUIRE(calibration.data.benchmarks.size() == 2);
  CHECK(calibration.data.benchmarks[0].shape.ranks == 8);
  CHECK(calibration.data.benchmarks[1].shape.ranks == 16);
  CHECK(calibration.data.benchmarks[1].shape.nodes == 2);
  for (const CalibratedRow& row : calibration.rows) CHECK(row.after == Approx(row.measured.seconds).epsilon(0.01));
}

namespace {

// A name that is gone afterwards.
struct TemporaryName {
  std::string path;
  ~TemporaryName() { std::filesystem::remove(path); }
};

// Data of a table of 2^30 B in 5000 us, 214.75 GB/s, of which nothing else is known, on dgx-a100.
CalibrationData data_of(const std::string& bus, const std::string& operation, Diagnostics& diagnostics) {
  const TemporaryName file{
      (std::filesystem::temp_directory_path() / fmt::format("orrery-{}-op.csv", getpid())).string()};
  std::ofstream(file.path) << "size_bytes,oop_time_us,oop_algbw_GBps,oop_busbw_GBps\n1073741824,5000,214.75," << bus
                           << "\n";
  CalibrationQuestion question;
  question.machine.cluster = "dgx-a100";
  question.logs = {file.path};
  question.operation = operation;
  return read_calibration(question, kFiles, diagnostics);
}

bool has_message(const Diagnostics& diagnostics, const std::string& message) {
  return std::ranges::any_of(diagnostics.problems(),
                             [&](const Problem& one) { return one.message.find(message) != std::string::npos; });
}

}  // namespace

TEST_CASE("a table says by its bandwidths which operation it is of, and which it is not") {
  Diagnostics diagnostics;
  // 1.75 on any ranks: 2 (n - 1) / n alone is above 1.
  const CalibrationData data = data_of("375.81", "", diagnostics);
  CHECK(data.benchmarks.front().operation.name == "all_reduce");
  CHECK(data.benchmarks.front().shape.ranks == 8);
  CHECK(has_message(diagnostics, "by its bandwidths it is all_reduce"));
  CHECK_THROWS_AS(data_of("375.81", "all_gather", diagnostics), InputError);
  CHECK_THROWS_AS(data_of("375.81", "broadcast", diagnostics), InputError);
  CHECK_THROWS_AS(data_of("187.91", "all_reduce", diagnostics), InputError);
  CHECK_THROWS_AS(data_of("187.91", "", diagnostics), InputError);  // all_gather, all_to_all, reduce_scatter, ...
  CHECK(data_of("187.91", "reduce_scatter", diagnostics).benchmarks.front().shape.ranks == 8);
}

TEST_CASE("a table of one node that does not say its launch is of one process, a table of several of MPI") {
  Diagnostics one_node, two_nodes;
  CHECK(data_of("375.81", "all_reduce", one_node).benchmarks.front().options.launch == LaunchMode::kSingleProcess);
  CHECK(has_message(one_node, "taken as one process for all GPUs of the node"));
  CHECK(data_of("402.65", "all_reduce", two_nodes).benchmarks.front().options.launch == LaunchMode::kMpi);
  CHECK(has_message(two_nodes, "taken as a process for each GPU"));
}

TEST_CASE("a table says by its bandwidths how many ranks it is of") {
  // 2^30 B in 5000 us: 214.75 GB/s; of 16 ranks 2 * 15 / 16 = 1.875 times as much, 402.65.
  const std::string path =
      (std::filesystem::temp_directory_path() / fmt::format("orrery-{}-bw.csv", getpid())).string();
  std::ofstream(path) << "size_bytes,oop_time_us,oop_algbw_GBps,oop_busbw_GBps\n1073741824,5000,214.75,402.65\n";
  CalibrationQuestion question;
  question.machine.cluster = "dgx-a100";
  question.logs = {path};
  question.operation = "all_reduce";
  Diagnostics diagnostics;
  const CalibrationData data = read_calibration(question, kFiles, diagnostics);
  CHECK(data.benchmarks.front().shape.ranks == 16);
  CHECK(data.benchmarks.front().shape.nodes == 2);
  // A broadcast has one bandwidth for both, whatever its ranks: all of the cluster.
  std::ofstream(path) << "size_bytes,oop_time_us,oop_algbw_GBps,oop_busbw_GBps\n1073741824,5000,214.75,214.75\n";
  question.operation = "broadcast";
  CHECK(read_calibration(question, kFiles, diagnostics).benchmarks.front().shape.ranks == 8);
  std::filesystem::remove(path);
}
