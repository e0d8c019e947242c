// SPDX-License-Identifier: MIT
// A calibration finds the constants again that made a log, within the intervals that it states, says what a log cannot
// tell, and does better than the shipped constants on rows of real logs that it has not seen.
#include "study/calibrate/collectives/collectives.h"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>

#include <fmt/format.h>
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "study/benchmark/question.h"
#include "study/benchmark/study.h"
#include "study/calibrate/machine/stages.h"
#include "tests/scatter.h"
#include "tests/shipped_files.h"

using namespace orrery;
using namespace orrery::collectives;
using namespace orrery::experiment;
using namespace orrery::study;

namespace {

// A file that is gone afterwards.
class TemporaryFile {
 public:
  TemporaryFile(const std::string& name, const std::string& text)
      : path_((std::filesystem::temp_directory_path() / fmt::format("orrery-{}-{}", getpid(), name)).string()) {
    std::ofstream(path_) << text;
  }
  ~TemporaryFile() { std::filesystem::remove(path_); }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

struct Machine {
  std::string cluster;
  std::string nodes;
};

using Constants = std::vector<std::pair<std::string, std::string>>;  // path, text

CollectiveQuestion question_of(const Machine& machine, const Constants& constants = {}) {
  CollectiveQuestion question{.cluster = machine.cluster, .nodes = machine.nodes, .library = "nccl"};
  for (const auto& [path, text] : constants) question.settings.push_back("cluster.nccl." + path + "=" + text);
  return question;
}

CollectiveTable simulated(const Machine& machine, const Constants& constants, const char* operation) {
  const std::vector<Bytes> sizes = sizes_of({.first = "8", .last = "8G"});
  return study_collective(question_of(machine, constants), workload::call_operation_named(operation, "--op"), sizes,
                          kFiles);
}

// A log as all_reduce_perf prints it, of times that Orrery worked out. It names the times to 10 ns only.
std::string log_of(const CollectiveTable& table) {
  std::string text =
      "# nThread 1 nGpus 1 minBytes 8 maxBytes 8589934592 step: 2(factor) warmup iters: 5 iters: 20 agg iters: 1 "
      "validation: 1 graph: 0\n# Using devices\n";
  for (std::uint32_t rank = 0; rank < table.ranks; ++rank)
    text += fmt::format("#  Rank {:2} Group  0 Pid {} on node{} device {:2} [0x07] NVIDIA GPU\n", rank, 1000 + rank,
                        rank / (table.ranks / table.nodes), rank % (table.ranks / table.nodes));
  text +=
      "#                                                       out-of-place                       in-place\n"
      "#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw "
      "#wrong\n"
      "#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)\n";
  for (const CollectiveRow& row : table.rows) {
    const std::string side = fmt::format("{:8.2f} {:7.2f} {:7.2f}      0", seconds(row.time) * 1e6,
                                         row.algorithm_bandwidth * 1e-9, row.bus_bandwidth * 1e-9);
    text += fmt::format("{:12} {:12}     float     sum      -1 {} {}\n", row.bytes.count(), row.bytes.count() / 4, side,
                        side);
  }
  return text + fmt::format(
                    "# Out of bounds values : 0 OK\n# Avg bus bandwidth    : 1\n#\n# Collective test "
                    "concluded: {}_perf\n",
                    table.operation);
}

std::string json_of(const CollectiveTable& table) { return to_json(table).dump(); }

Calibration calibrated(const Machine& machine, const std::string& log) {
  const TemporaryFile file("log", log);
  CalibrationQuestion question;
  question.machine = {.cluster = machine.cluster, .nodes = machine.nodes};
  question.logs = {file.path()};
  return calibrate(question, kFiles);
}

// What `text` says of the constant, in its unit: as a cluster says it.
double value_of(const std::string& path, const std::string& text) {
  CollectiveQuestion question = question_of({"dgx-a100", ""}, {{path, text}});
  Diagnostics diagnostics;
  const Experiment experiment =
      read_question(question, workload::call_operation_named("all_reduce", "--op"), kFiles, diagnostics);
  return experiment.simulation.collectives.nccl_constants->constants.value(*nccl_constant_named(path));
}

double after(const Calibration& calibration, const std::string& path) {
  return calibration.fit.constants.value(*nccl_constant_named(path));
}

bool is_fitted(const Calibration& calibration, const std::string& path) {
  const std::size_t number = *nccl_constant_named(path);
  return std::ranges::any_of(calibration.fit.fitted, [&](const auto& fitted) { return fitted.number == number; });
}

void check_found(const Calibration& calibration, const Constants& constants) {
  for (const auto& [path, text] : constants) {
    INFO(path);
    CHECK(is_fitted(calibration, path));
    CHECK(after(calibration, path) == Approx(value_of(path, text)).epsilon(0.01));
  }
}

double median(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

// How a constant comes out of fits of many logs of one machine, by the path of the constant.
struct Scatter {
  std::vector<double> values;
  std::vector<double> errors;  // standard errors, in the unit of the values
};

// Fits to `draws` logs, whose times are those of `truth` but for an error of each row.
std::map<std::string, Scatter> scatter_of(const CalibrationData& truth, double error, std::size_t draws) {
  std::map<std::string, Scatter> scatter;
  std::uint64_t state = 7;
  for (std::size_t draw = 0; draw < draws; ++draw) {
    std::vector<CalibrationRow> rows = truth.rows;
    for (CalibrationRow& row : rows) row.seconds *= std::exp(error * testing::standard_normal(state));
    for (const FittedNcclConstant& fitted : fit_nccl_constants(truth, rows).fitted) {
      if (fitted.gives_way) continue;
      Scatter& one = scatter[std::string(nccl_constant_entries()[fitted.number].path)];
      one.values.push_back(fitted.after);
      one.errors.push_back(fitted.spread * std::max(fitted.before, fitted.after));
    }
  }
  return scatter;
}

struct RealTable {
  const char* name;
  const char* cluster;
  const char* nodes;
  const char* launch;
  const char* version;
};

}  // namespace

TEST_CASE("perturbed constants are found again from the log that they made") {
  struct Case {
    Machine machine;
    Constants constants;
  };
  const std::vector<Case> cases = {
      {{"dgx-a100", "1"},
       {{"base.ring.ll", "9 us"},
        {"base.ring.simple", "12 us"},
        {"chunk.ring_cost", "5 us"},
        {"ll_cap.ampere.one_node", "25 GB/s"},
        {"efficiency.ring", "88 %"}}},
      {{"dgx-h100", "1"},
       {{"base.ring.ll", "9 us"}, {"base.nvls", "30 us"}, {"efficiency.nvls.hopper", "70 %"}, {"chunk.cost", "5 us"}}},
      {{"dgx-a100", "2"},
       {{"base.tree.ll", "9 us"}, {"base.tree.simple", "12 us"}, {"efficiency.tree", "85 %"}, {"chunk.cost", "5 us"}}},
      {{"dgx-h100", "2"},
       {{"base.tree.ll", "5 us"},
        {"base.nvls", "30 us"},
        {"ll_cap.hopper.two_nodes", "30 GB/s"},
        {"efficiency.nvls.hopper", "70 %"}}},
      // Rings cannot do better than all of the link, so it is the share of the host that was wrong.
      {{"a40-nop2p", "1"}, {{"efficiency.host", "16 %"}}},
  };
  for (const Case& c : cases) {
    INFO(c.machine.cluster << " x " << c.machine.nodes);
    const CollectiveTable table = simulated(c.machine, c.constants, "all_reduce");
    check_found(calibrated(c.machine, json_of(table)), c.constants);
    // In a log of nccl-tests times are whole 10 ns of 10 us and more, so off by up to 0.1 %.
    for (const CalibratedRow& row : calibrated(c.machine, log_of(table)).rows)
      CHECK(row.after == Approx(row.measured.seconds).epsilon(0.002));
  }
}

TEST_CASE("standard errors are how far the constants of other logs of the same machine scatter") {
  constexpr std::size_t kDraws = 100;
  struct Case {
    Machine machine;
    Constants constants;
    std::vector<const char*> apart;       // what rows tell from everything else
    std::vector<const char*> traded_off;  // what may have moved for constants that are left out as too uncertain
  };
  const std::vector<Case> cases = {
      {{"dgx-a100", "1"},
       {{"base.ring.ll", "9 us"}, {"efficiency.ring", "88 %"}},
       {"base.ring.ll"},
       {"efficiency.ring", "ll_cap.ampere.one_node", "chunk.ring_cost"}},
      {{"dgx-a100", "2"},
       {{"base.tree.ll", "9 us"}, {"base.tree.simple", "12 us"}, {"efficiency.tree", "85 %"}, {"chunk.cost", "5 us"}},
       {"base.tree.ll", "base.ring.ll", "efficiency.tree", "chunk.cost"},
       {}},
  };
  for (const Case& c : cases) {
    const CollectiveTable table = simulated(c.machine, c.constants, "all_reduce");
    const auto scatter = scatter_of(calibrated(c.machine, json_of(table)).data, 0.005, kDraws);
    const auto ratio = [&](const char* path) {
      const Scatter& one = scatter.at(path);
      REQUIRE(one.values.size() == kDraws);
      return testing::mean_of(one.errors) / testing::deviation_of(one.values);
    };
    // The deviation of 100 draws is itself known to 1 / sqrt(200), 7 %.
    for (const char* path : c.apart) {
      INFO(c.machine.nodes << " nodes: " << path);
      CHECK(ratio(path) == Approx(1).margin(0.2));
    }
    // In some of the logs the other constant is no longer too uncertain, and moves: with an error that knew nothing of
    // it, 0.3 of the deviation. Where it does not, the error that allows for it is on the safe side.
    for (const char* path : c.traded_off) {
      INFO(c.machine.nodes << " nodes: " << path);
      CHECK(ratio(path) > 0.9);
      CHECK(ratio(path) < 2);
    }
  }
}

TEST_CASE("several operations in one log tell a base latency from its hops, which one does not") {
  const Machine machine{"dgx-a100", "1"};
  const Constants constants = {{"base.ring.ll", "9 us"}, {"hop.nvlink.ring.ll", "1 us"}};
  std::string log;
  for (const char* operation : {"all_reduce", "all_gather", "broadcast"})
    log += log_of(simulated(machine, constants, operation));
  check_found(calibrated(machine, log), constants);

  // Of one operation all that is known is base + 14 hops, each by its factor. With the hop's own 0 us all of it is
  // base.
  const Calibration one = calibrated(machine, json_of(simulated(machine, constants, "all_reduce")));
  const std::size_t hop = *nccl_constant_named("hop.nvlink.ring.ll");
  const auto found = std::ranges::find(one.fit.unfitted, hop, &UnfittedNcclConstant::number);
  REQUIRE(found != one.fit.unfitted.end());
  CHECK(found->reason == UnfittedReason::kTogether);
  CHECK(found->with == std::vector<std::size_t>{*nccl_constant_named("base.ring.ll")});
  CHECK(after(one, "hop.nvlink.ring.ll") == one.data.constants.value(hop));
  const double factor = one.data.constants.value(*nccl_constant_named("hop_factor.ampere")) /
                        one.data.constants.value(*nccl_constant_named("base_factor.ampere"));
  CHECK(after(one, "base.ring.ll") == Approx(9e-6 + 14e-6 * factor).epsilon(0.01));
}

TEST_CASE("logs of several releases are each predicted by their own, which is told") {
  const std::string one = log_of(simulated({"dgx-a100", "1"}, {}, "all_reduce"));
  const std::string two = log_of(simulated({"dgx-a100", "2"}, {}, "all_reduce"));
  const TemporaryFile older("older.log", "NCCL version 2.18.3+cuda12.2\n" + one);
  const TemporaryFile newer("newer.log", "NCCL version 2.21.5+cuda12.4\n" + two);
  CalibrationQuestion question;
  question.machine.cluster = "dgx-a100";
  question.logs = {older.path(), newer.path()};
  Diagnostics diagnostics;
  const CalibrationData data = read_calibration(question, kFiles, diagnostics);
  REQUIRE(data.benchmarks.size() == 2);
  CHECK(collectives::to_text(data.benchmarks[0].options.version) == "2.18.3");
  CHECK(collectives::to_text(data.benchmarks[1].options.version) == "2.21.5");
  CHECK(data.benchmarks[1].shape.nodes == 2);
  REQUIRE(diagnostics.problems().size() == 1);
  CHECK(diagnostics.problems().front().message.starts_with(fmt::format(
      "the logs are of different releases of NCCL (2.18.3 in {}, 2.21.5 in {})", older.path(), newer.path())));
}

TEST_CASE("constants of the cluster stay, and the next log goes to those that are not known yet") {
  // After a log of one node, base.ring.ll is known; a log of two then tells of the network.
  const Constants known = {{"base.tree.ll", "7 us"}, {"base.ring.ll", "7 us"}};
  Constants all = known;
  all.emplace_back("hop.network.ll", "5 us");
  const TemporaryFile log("log", log_of(simulated({"dgx-a100", "2"}, all, "all_reduce")));
  CalibrationQuestion question;
  question.machine = question_of({"dgx-a100", "2"}, known);
  question.logs = {log.path()};
  const Calibration calibration = calibrate(question, kFiles);
  check_found(calibration, {all.back()});
  CHECK_FALSE(is_fitted(calibration, "base.tree.ll"));
}

TEST_CASE("a calibrated cluster predicts what the fit did, and checks") {
  const Machine machine{"dgx-h100", "2"};
  const Constants constants = {{"base.tree.ll", "9 us"}, {"efficiency.nvls.hopper", "70 %"}};
  const CollectiveTable made = simulated(machine, constants, "all_reduce");
  const Calibration calibration = calibrated(machine, log_of(made));
  const TemporaryFile log("made.log", log_of(made));
  MachineQuestion whole;
  whole.files = {log.path()};
  whole.machine.cluster = machine.cluster;
  const std::string written =
      calibrated_file(calibrate_machine(whole, kFiles), CalibratedFile::kCluster, "a test", kFiles);
  CHECK(written.find("  # fitted: 6.8 us before; ") != std::string::npos);
  const TemporaryFile cluster("cluster.yaml", written);
  const CollectiveTable again = simulated({cluster.path(), "2"}, {}, "all_reduce");
  REQUIRE(again.rows.size() == made.rows.size());
  for (std::size_t i = 0; i < made.rows.size(); ++i) {
    // The closed form and the simulation differ by picoseconds.
    CHECK(seconds(again.rows[i].time) == Approx(calibration.rows[i].after).epsilon(1e-6));
    CHECK(seconds(again.rows[i].time) == Approx(seconds(made.rows[i].time)).epsilon(0.002));
  }
}

TEST_CASE("every shipped cluster with figures for NCCL can be written and read again") {
  for (const std::string& name : kFiles.names("clusters")) {
    INFO(name);
    CollectiveQuestion question{.cluster = name, .library = "nccl"};
    Diagnostics diagnostics;
    const workload::CallOperation operation = workload::call_operation_named("all_reduce", "--op");
    if (name == "cerebras-swarmx") question.nodes = "2";  // one device a node
    const Experiment experiment = read_question(question, operation, kFiles, diagnostics);
    Calibration calibration;
    MachineCalibration whole;
    whole.machine.cluster = experiment.resolved.find("cluster")->value;
    calibration.data.constants = experiment.simulation.collectives.nccl_constants->constants;
    calibration.fit.fitted.push_back({*nccl_constant_named("base.ring.ll"), 6.6e-6, 9e-6});
    write_constants(calibration, whole.machine.cluster);
    whole.findings = {finding_of(calibration)};
    const TemporaryFile file("cluster.yaml", calibrated_file(whole, CalibratedFile::kCluster, "a test", kFiles));
    question.cluster = file.path();
    const Experiment again = read_question(question, operation, kFiles, diagnostics);
    CHECK(again.fabric.device_count() == experiment.fabric.device_count());
    CHECK(again.fabric.link_kinds().size() == experiment.fabric.link_kinds().size());
    CHECK(again.machine_kind() == experiment.machine_kind());
    CHECK(again.simulation.collectives.nccl_constants->constants.value(*nccl_constant_named("base.ring.ll")) == 9e-6);
  }
}

TEST_CASE("on the rows of a real log that it has not seen, a calibration beats the shipped constants") {
  const std::vector<RealTable> tables = {
      {"a100_oci_1n_allreduce", "oci-gpu4", "1", "single-process", ""},
      {"h100_xe9680_2n_allreduce", "xe9680-h100", "2", "mpi", "2.26.2"},
      {"b200_lambda_2n_allreduce", "dgx-b200", "2", "mpi", "2.26.2"},
  };
  for (const RealTable& table : tables) {
    CalibrationQuestion question;
    question.logs = {fmt::format("{}/../shared/data/nccl/{}.csv", ORRERY_SOURCE_DIR, table.name)};
    if (!std::filesystem::exists(question.logs.front())) {
      WARN("SKIPPED: " << question.logs.front() << " is not there");
      continue;
    }
    INFO(table.name);
    question.machine = {.cluster = table.cluster, .nodes = table.nodes, .launch = table.launch};
    question.operation = "all_reduce";
    question.version = table.version;
    question.in_place = true;
    const Calibration calibration = calibrate(question, kFiles);
    REQUIRE(calibration.held_out);
    std::vector<double> before, held_out;
    for (const CalibratedRow& row : calibration.rows) {
      before.push_back(std::abs(row.before / row.measured.seconds - 1));
      held_out.push_back(std::abs(row.without_it / row.measured.seconds - 1));
    }
    CHECK(median(held_out) < median(before));
  }
}

TEST_CASE("more rows than a fit takes become the median of each size, and neighbours one of several") {
  using orrery::study::CalibrationRow;
  const auto row = [](std::size_t table, std::int64_t bytes, double seconds) {
    return CalibrationRow{table, Bytes(bytes), seconds};
  };
  // Few rows stay as they are, in their order.
  CHECK(orrery::study::medians_of({row(0, 8, 3), row(0, 4, 1)}, 2).front().seconds == 3);
  // Sizes 4 and 8 of table 0, size 4 of table 1: the middle one of three, and of two the larger.
  const auto medians = orrery::study::medians_of(
      {row(0, 8, 5), row(1, 4, 7), row(0, 4, 3), row(0, 4, 1), row(0, 4, 2), row(0, 8, 4), row(1, 4, 9), row(1, 4, 8)},
      3);
  REQUIRE(medians.size() == 3);
  CHECK((medians[0].table == 0 && medians[0].bytes == Bytes(4) && medians[0].seconds == 2));
  CHECK((medians[1].table == 0 && medians[1].bytes == Bytes(8) && medians[1].seconds == 5));
  CHECK((medians[2].table == 1 && medians[2].bytes == Bytes(4) && medians[2].seconds == 8));
  // Ten sizes for four places: every third, from the second on.
  std::vector<CalibrationRow> sizes;
  for (int i = 0; i < 10; ++i) sizes.push_back(row(0, i + 1, i));
  const auto taken = orrery::study::medians_of(sizes, 4);
  REQUIRE(taken.size() == 3);
  CHECK((taken[0].seconds == 1 && taken[1].seconds == 4 && taken[2].seconds == 7));
}

TEST_CASE("a constant that gives way moves as little as the rows want") {
  // Trees are slower than the shipped figures say, so that rings are taken: by how much no row shows.
  const Machine machine{"dgx-a100", "2"};
  const Calibration calibration = calibrated(
      machine, log_of(simulated(machine, {{"hop.network.ll", "60 us"}, {"base.tree.simple", "90 us"}}, "all_reduce")));
  std::size_t given = 0;
  for (const FittedNcclConstant& fitted : calibration.fit.fitted) {
    if (!fitted.gives_way) continue;
    ++given;
    INFO(collectives::nccl_constant_entries()[fitted.number].path << " " << fitted.before << " -> " << fitted.after);
    // A tenth nearer to its start it is seen.
    collectives::NcclConstants nearer = calibration.fit.constants;
    const double less =
        fitted.before > 0 ? fitted.before * std::pow(fitted.after / fitted.before, 0.9) : 0.9 * fitted.after;
    nearer.set(fitted.number, less);
    CHECK(std::ranges::any_of(calibration.rows, [&](const CalibratedRow& row) {
      return std::abs(predicted_seconds(calibration.data, row.measured, nearer) / row.after - 1) > 1e-4;
    }));
  }
  CHECK(given > 0);
}
