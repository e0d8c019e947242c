// SPDX-License-Identifier: MIT
// Logs of nccl-tests in the shapes that its versions, launchers and shells give them. The numbers are made up:
// all-reduces on 4 ranks (bus bandwidth 2 * 3 / 4 = 1.5 times the algorithm bandwidth) of
//   1048576 B in 50.00 us: 1048576 / 50 / 1e3 = 20.97 GB/s, busbw 31.46; in-place in 40.00 us: 26.21, busbw 39.32
//   2097152 B in 80.00 us: 26.21, busbw 39.32; in-place in 100.0 us: 20.97, busbw 31.46
#pragma once

#include <catch2/catch.hpp>
#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "study/nccl_tests/log.h"

namespace orrery::test {

struct Reading {
  std::vector<study::NcclTable> tables;
  std::vector<std::string> problems;  // "log:3: warning: ..."
};

inline Reading read(const std::string& text) {
  Diagnostics diagnostics;
  Reading reading{study::read_nccl_log(text, "log", diagnostics), {}};
  for (const Problem& problem : diagnostics.problems()) reading.problems.push_back(to_string(problem));
  return reading;
}

inline bool says(const Reading& reading, std::string_view what) {
  for (const std::string& problem : reading.problems)
    if (problem.find(what) != std::string::npos) return true;
  return false;
}

inline const std::string kRun =
    "# nccl-tests version 2.17.6 nccl-headers=22807 nccl-library=22807\n"
    "# Collective test starting: all_reduce_perf\n"
    "# nThread 1 nGpus 2 minBytes 1048576 maxBytes 2097152 step: 2(factor) warmup iters: 5 iters: 20 agg iters: 1 "
    "validation: 1 graph: 0\n"
    "#\n"
    "# Using devices\n"
    "#  Rank  0 Group  0 Pid    101 on     node-a device  0 [0000:1b:00] Fast GPU 80GB\n"
    "#  Rank  1 Group  0 Pid    101 on     node-a device  1 [0000:43:00] Fast GPU 80GB\n"
    "#  Rank  2 Group  0 Pid    202 on     node-b device  0 [0000:1b:00] Fast GPU 80GB\n"
    "#  Rank  3 Group  0 Pid    202 on     node-b device  1 [0000:43:00] Fast GPU 80GB\n";

inline const std::string kSides =
    "#\n"
    "#                                                              out-of-place                       in-place\n";
inline const std::string kHeading =
    "#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw "
    "#wrong\n"
    "#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)\n";
inline const std::string kRow1 =
    "     1048576        262144     float     sum      -1    50.00   20.97   31.46      0    40.00   26.21   39.32     "
    " 0\n";
inline const std::string kRow2 =
    "     2097152        524288     float     sum      -1    80.00   26.21   39.32      0    100.0   20.97   31.46    "
    "N/A\n";
inline const std::string kEnd =
    "# Out of bounds values : 0 OK\n"
    "# Avg bus bandwidth    : 35.39\n"
    "#\n"
    "# Collective test concluded: all_reduce_perf\n";
inline const std::string kTable = kSides + kHeading + kRow1 + kRow2 + kEnd;
inline const std::string kLog = kRun + kTable;

// `text` with `prefix` before and `suffix` behind each line.
inline std::string around_lines(const std::string& text, const std::string& prefix, const std::string& suffix = {}) {
  std::istringstream in(text);
  std::string line, result;
  while (std::getline(in, line)) result += prefix + line + suffix + "\n";
  return result;
}

inline std::string replaced(std::string text, const std::string& from, const std::string& to) {
  for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
    text.replace(at, from.size(), to);
  return text;
}

inline void check_rows(const study::NcclTable& table) {
  using namespace std::chrono_literals;
  REQUIRE(table.rows.size() == 2);
  CHECK(table.rows[0].bytes == Bytes(1048576));
  CHECK(table.rows[0].out_of_place.time == Duration(50us));
  CHECK(table.rows[0].out_of_place.algbw == 20.97);
  CHECK(table.rows[0].out_of_place.busbw == 31.46);
  CHECK(table.rows[0].in_place.time == Duration(40us));
  CHECK(table.rows[0].in_place.busbw == 39.32);
  CHECK(table.rows[1].bytes == Bytes(2097152));
  CHECK(table.rows[1].out_of_place.time == Duration(80us));
  CHECK(table.rows[1].in_place.time == Duration(100us));
}

inline void check_log(const std::string& text) {
  const Reading reading = read(text);
  CHECK(reading.problems == std::vector<std::string>{});
  REQUIRE(reading.tables.size() == 1);
  CHECK(reading.tables[0].test == "all_reduce");
  CHECK(reading.tables[0].ranks == 4);
  check_rows(reading.tables[0]);
}

}  // namespace orrery::test
