// SPDX-License-Identifier: MIT
// Replays of recorded steps held against what the recordings measured.
#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "study/validate/traces/traces.h"
#include "tests/shipped_files.h"
#include "tests/workload/import/kineto_text.h"

using namespace orrery;
using namespace orrery::study;
using namespace orrery::testing;
using Catch::Matchers::Contains;
namespace fs = std::filesystem;

namespace {

const fs::path kRecorded = ORRERY_SOURCE_DIR "/../shared/data/traces";

// A folder of recordings that goes away.
struct Recordings {
  Recordings() : folder(fs::temp_directory_path() / "orrery-trace-validation-test") {
    fs::remove_all(folder);
    fs::create_directories(folder);
  }
  ~Recordings() { fs::remove_all(folder); }
  void write(const std::string& name, const std::string& text) const { std::ofstream(folder / name) << text; }

  fs::path folder;
};

TraceTable table_with(const std::string& traces, const std::string& more = "") {
  Diagnostics diagnostics;
  const std::string text = fmt::format(
      "table: a\ntitle: t\nsource: s\nmeasured: m\ntraces: {}\n{}"
      "experiment: {{cluster: dgx-a100, nodes: 1, workload: {{symmetric: true}}}}\n",
      traces, more);
  TraceTable table = table_from<TraceTable>(parse_config(text, "x.yaml", diagnostics), kFiles, diagnostics);
  diagnostics.throw_if_errors();
  return table;
}

// Rank 1 computes for 80 us before the collective, for which rank 0 waits.
std::string profile(int rank) {
  return KinetoText(rank, 2)
      .kernel("a", rank == 0 ? 1000 : 1020, rank == 0 ? 10 : 80)
      .nccl("allreduce", rank == 0 ? 1010 : 1100, rank == 0 ? 100 : 10, notes(8, 8, "[0, 1]", 2))
      .call("cudaStreamWaitEvent", 1104)  // b waits for it
      .kernel("b", 1110, 40)
      .str();
}

}  // namespace

TEST_CASE("a replay waits for the rank that was late, and computes for as long as recorded") {
  const Recordings recordings;
  recordings.write("r0.json", profile(0));
  recordings.write("r1.json", profile(1));
  const TraceTable table = table_with("[r0.json, r1.json]");
  const MeasuredRows traces = validate_traces({&table, 1}, recordings.folder, kFiles);
  REQUIRE(traces.size() == 1);
  const Measured& trace = traces[0];
  CHECK_FALSE(is_skipped(trace));
  CHECK(trace.facts["ranks"] == 2);
  CHECK(trace.measured == 150e-6);  // 1000 to 1150 us, on the clock of both
  // All but the collective's 10 us are as recorded: 100 us until rank 1 comes, and 40 us of b.
  CHECK(trace.predicted > 140e-6);
  CHECK(trace.predicted < 160e-6);
  const auto fact = [&](const char* name) { return trace.facts[name].get<double>(); };
  CHECK(fact("waiting") > 0.2);  // rank 0, for 90 of 150 us
  CHECK(fact("as_recorded") + fact("simulated") + fact("waiting") <= 1.0001);
  // Rank 0 is busy for 10 us, the collective from 100 us on, and 40 us.
  CHECK(fact("overlap_replayed") < 0.6);
  CHECK(fact("overlap_replayed") > 0.3);
  // From 1100 us, when rank 1 came, to 1110.
  CHECK(fact("calls_measured_s") == 10e-6);
  CHECK(fact("calls_simulated_s") > 0);
  CHECK(fact("calls_simulated_s") < 20e-6);
  CHECK_THAT(trace_validation_text(traces), Contains("0.15 ms"));
  CHECK(traces_json(traces)[0]["profiles"] == 2);
}

TEST_CASE("recordings that are not there, or that cannot be unpacked, are skipped with the reason") {
  const Recordings recordings;
  recordings.write("broken.tar.gz", "no archive");
  const std::vector<TraceTable> tables = {table_with("[nowhere.json]"), table_with("[broken.tar.gz]")};
  const MeasuredRows traces = validate_traces(tables, recordings.folder, kFiles);
  CHECK_THAT(traces[0].facts["skipped"].get<std::string>(), Contains("nowhere.json is not there"));
  CHECK_THAT(traces[1].facts["skipped"].get<std::string>(), Contains("broken.tar.gz cannot be unpacked"));
  CHECK_THAT(trace_validation_text(traces), Contains("SKIPPED a: "));
  CHECK(traces_json(traces)[1]["skipped"] == traces[1].facts["skipped"]);
}

TEST_CASE("an archive is unpacked, and a step that the table gives counts") {
  const Recordings recordings;
  recordings.write("r0.json", profile(0));
  const std::string pack =
      fmt::format("cd {0} && tar -czf all.tar.gz r0.json && rm r0.json", recordings.folder.string());
  REQUIRE(std::system(pack.c_str()) == 0);
  const TraceTable table = table_with("[all.tar.gz]", "step: 50 us\nstep_from: a stopwatch\n");
  const MeasuredRows traces = validate_traces({&table, 1}, recordings.folder, kFiles);
  CHECK_FALSE(is_skipped(traces[0]));
  CHECK(traces[0].facts["ranks"] == 2);
  CHECK(traces[0].facts["profiles"] == 1);
  CHECK(traces[0].measured == 50e-6);
}

TEST_CASE("a table of traces names its files and an experiment") {
  CHECK_THROWS_WITH(table_with("[]"), Contains("'traces' names no file"));
  CHECK_THROWS_WITH(table_with("[a.tar.gz]", "prefix: rank\n"), Contains("Chakra traces need the measured 'step'"));
}

TEST_CASE("the shipped recordings are replayed, each within what is known of it") {
  if (!fs::exists(kRecorded)) {
    WARN("SKIPPED: " << kRecorded << " is absent");
    return;
  }
  const std::vector<TraceTable> tables = list_tables<TraceTable>(kFiles);
  CHECK(tables.size() >= 7);
  for (const Measured& trace : validate_traces(tables, kRecorded, kFiles)) {
    INFO(trace.table->name);
    if (is_skipped(trace)) {
      WARN("SKIPPED: " << trace.facts["skipped"]);
      continue;
    }
    if (table_of<TraceTable>(trace).miss.empty()) CHECK(std::abs(trace.error()) < 0.02);
  }
}
