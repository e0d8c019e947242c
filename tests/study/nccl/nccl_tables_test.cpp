// SPDX-License-Identifier: MIT
// The numbers of nccl-tests in tables that are no logs: CSV, and what `orrery collective` prints.
#include <filesystem>
#include <fstream>
#include <sstream>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "study/benchmark/study.h"
#include "study/nccl_tests/log.h"

using namespace orrery;
using namespace orrery::study;
using namespace std::chrono_literals;

namespace {

struct Reading {
  std::vector<NcclTable> tables;
  std::vector<std::string> problems;
};

Reading read(const std::string& text) {
  Diagnostics diagnostics;
  Reading reading{read_nccl_log(text, "log", diagnostics), {}};
  for (const Problem& problem : diagnostics.problems()) reading.problems.push_back(to_string(problem));
  return reading;
}

bool begins(const Reading& reading, std::string_view what) {
  return reading.problems.size() == 1 && reading.problems[0].starts_with(what);
}

const std::string kColumns =
    "size_bytes,oop_time_us,oop_algbw_GBps,oop_busbw_GBps,ip_time_us,ip_algbw_GBps,ip_busbw_GBps\n";

// Eight ranks: 1 MiB in 50 us, 20.97152 GB/s, times 7 / 4 is 36.70016.
CollectiveTable simulated() {
  CollectiveTable table;
  table.cluster = "some-cluster";
  table.operation = "all_reduce";
  table.ranks = 8;
  table.nodes = 2;
  table.device = "some-gpu";
  table.network_model = "alpha-beta";
  CollectiveRow row{Bytes(1048576), 262144, Duration(50us), 20.97152e9, 36.70016e9, "ring", {}, {}, {}};
  row.bound.name = "latency";
  row.bound.share = 0.5;
  table.rows = {row};
  return table;
}

}  // namespace

TEST_CASE("a CSV table of the numbers is read like a log") {
  // 1073741824 B in 13989 us are 76.756 GB/s; the program that wrote "13989.0" had read "13989".
  const Reading reading =
      read("# from a log\n" + kColumns + "1048576,50.0,20.97,31.46,,,\n\n1073741824,13989.0,76.7575,115.1,N/A,,\n");
  CHECK(reading.problems == std::vector<std::string>{});
  REQUIRE(reading.tables.size() == 1);
  CHECK(reading.tables[0].line == 2);
  CHECK(reading.tables[0].test.empty());
  REQUIRE(reading.tables[0].rows.size() == 2);
  CHECK(reading.tables[0].rows[0].line == 3);
  CHECK(reading.tables[0].rows[0].bytes == Bytes(1048576));
  CHECK(reading.tables[0].rows[0].out_of_place.time == Duration(50us));
  CHECK(reading.tables[0].rows[0].out_of_place.busbw == 31.46);
  CHECK(reading.tables[0].rows[0].in_place.time == std::nullopt);
  CHECK(reading.tables[0].rows[1].line == 5);
  CHECK(read("ip_time_us, size_bytes, redop\r\n50.0, 8, \"sum\"\r\n").tables.at(0).rows[0].in_place.time ==
        Duration(50us));
  CHECK(read("ip_time_us, size_bytes, redop\r\n50.0, 8, \"sum\"\r\n").tables.at(0).rows[0].reduction == "sum");
}

TEST_CASE("CSV that cannot be is an error that names the line") {
  CHECK(begins(read(kColumns), "log: error: no table of nccl-tests in it"));
  CHECK(begins(read("size_bytes,oop_time_us,speed\n8,1.0,2\n"), "log:1: error: column 'speed' is not known"));
  CHECK(begins(read("size_bytes,oop_algbw_GBps\n8,1.0\n"), "log:1: error: no column of times"));
  CHECK(begins(read("size_bytes,oop_time_us\n8,1.0,2\n16,1.0\n"), "log:2: error: 3 cells; expected 2"));
  CHECK(begins(read("size_bytes,oop_time_us\n-8,1.0\n"), "log:2: error: size '-8' is negative"));
  CHECK(begins(read("size_bytes,oop_time_us\neight,1.0\n"), "log:2: error: size 'eight' is not a whole number"));
  CHECK(begins(read("size_bytes,oop_time_us\n8,-1.0\n"), "log:2: error: out-of-place time '-1.0' is negative"));
  CHECK(begins(read("size_bytes,oop_time_us,oop_algbw_GBps\n8000,2.0,3.0\n"),
               "log:2: warning: out-of-place algbw is 3 GB/s, but 8000 bytes in 2 us are 4 GB/s"));
  const Reading cut = read("size_bytes,oop_time_us\n8,1.0\n16");
  CHECK(begins(cut, "log:3: warning: the last row is cut off"));
  CHECK(cut.tables.at(0).rows.size() == 1);
}

TEST_CASE("the table of one simulated cluster is read back") {
  const Reading reading = read(collective_text(simulated()));
  CHECK(reading.problems == std::vector<std::string>{});
  REQUIRE(reading.tables.size() == 1);
  const NcclTable& table = reading.tables[0];
  CHECK(table.test == "all_reduce");
  CHECK(table.ranks == 8);
  CHECK(table.nodes == 2);
  REQUIRE(table.rows.size() == 1);
  CHECK(table.rows[0].bytes == Bytes(1048576));
  CHECK(table.rows[0].count == 262144);
  CHECK(table.rows[0].out_of_place.time == Duration(50us));
  CHECK(table.rows[0].out_of_place.algbw == 20.97);
  CHECK(table.rows[0].out_of_place.busbw == 36.70);
}

TEST_CASE("a comparison of clusters is refused: its columns are of several") {
  const std::vector<CollectiveTable> tables = {simulated(), simulated()};
  const Reading reading = read(side_by_side_text(tables));
  CHECK(reading.tables.empty());
  CHECK(begins(reading, "log:5: error: column 'some-cluster:' is not known"));
}

TEST_CASE("the JSON of a simulated cluster is read back exactly") {
  const Reading reading = read(to_json(simulated()).dump(2));
  CHECK(reading.problems == std::vector<std::string>{});
  REQUIRE(reading.tables.size() == 1);
  CHECK(reading.tables[0].test == "all_reduce");
  CHECK(reading.tables[0].ranks == 8);
  REQUIRE(reading.tables[0].rows.size() == 1);
  CHECK(reading.tables[0].rows[0].bytes == Bytes(1048576));
  CHECK(reading.tables[0].rows[0].out_of_place.time == Duration(50us));
}

TEST_CASE("JSON that cannot be is an error that names the row") {
  const auto with = [](const std::string& rows) {
    return read("{\"schema\": \"orrery.collective/1\", \"op\": \"all_reduce\", \"ranks\": 8, \"rows\": " + rows + "}");
  };
  CHECK(begins(read("{\"schema\": \"orrery.run/1\"}"), "log: error: JSON, but not of schema 'orrery.collective/1'"));
  CHECK(begins(with("[]"), "log: error: no rows"));
  CHECK(begins(with("[8]"), "log: error: rows[0]: no object"));
  CHECK(begins(with("[{\"bytes\": -8, \"time_us\": 1.0}]"), "log: error: rows[0]: bytes is not a size"));
  CHECK(
      begins(with("[{\"bytes\": 9223372036854775808, \"time_us\": 1.0}]"), "log: error: rows[0]: bytes is not a size"));
  CHECK(begins(with("[{\"bytes\": 8, \"time_us\": 0}]"), "log: error: rows[0]: time_us is not a time"));
  CHECK(begins(with("[{\"bytes\": 8, \"time_us\": 1e300}]"), "log: error: rows[0]: time_us is not a time"));
}

TEST_CASE("every table of measurements at hand is read") {
  const std::filesystem::path folder = ORRERY_SOURCE_DIR "/../shared/data/nccl";
  if (!std::filesystem::exists(folder)) {
    WARN("SKIPPED: no measurements beside the sources");
    return;
  }
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    std::ifstream file(entry.path());
    std::ostringstream text;
    text << file.rdbuf();
    if (!text.str().starts_with("size_bytes,")) continue;  // not of nccl-tests
    INFO(entry.path().filename());
    const Reading reading = read(text.str());
    CHECK(reading.problems == std::vector<std::string>{});
    const std::string content = text.str();
    REQUIRE(reading.tables.size() == 1);
    const auto lines = std::count(content.begin(), content.end(), '\n');
    CHECK(static_cast<std::ptrdiff_t>(reading.tables[0].rows.size()) == lines - 1 + (content.ends_with('\n') ? 0 : 1));
    ++files;
  }
  CHECK(files > 0);
}
