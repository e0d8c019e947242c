// SPDX-License-Identifier: MIT
// Logs of nccl-tests in the shapes that its versions, launchers and shells give them.
#include <sstream>

#include <catch2/catch.hpp>

#include "tests/study/nccl/nccl_logs.h"

using namespace orrery;
using namespace orrery::study;
using namespace orrery::test;
using namespace std::chrono_literals;

TEST_CASE("a log of today's nccl-tests tells the run and its rows") {
  const Reading reading = read(kLog);
  CHECK(reading.problems == std::vector<std::string>{});
  REQUIRE(reading.tables.size() == 1);
  const NcclTable& table = reading.tables[0];
  CHECK(table.test == "all_reduce");
  CHECK(table.ranks == 4);
  CHECK(table.nodes == 2);
  CHECK(table.groups == 1);
  CHECK(table.threads_per_process == 1);
  CHECK(table.devices_per_thread == 2);
  CHECK(table.device == "Fast GPU 80GB");
  CHECK(table.nccl_version == "2.28.7");  // 22807
  CHECK(table.line == 12);                // 9 lines of kRun, 2 of kSides
  check_rows(table);
  CHECK(table.rows[0].line == 14);
  CHECK(table.rows[0].count == 262144);
  CHECK(table.rows[0].type == "float");
  CHECK(table.rows[0].reduction == "sum");
  CHECK(table.rows[0].root == -1);
  CHECK(table.rows[0].out_of_place.wrong == 0);
  CHECK(table.rows[1].in_place.wrong == std::nullopt);  // N/A
}

TEST_CASE("rccl-tests print the same, and RCCL its version with a commit") {
  const std::string ranks = replaced(kRun, "Fast GPU 80GB", "AMD Instinct MI300X");
  const std::string version = "RCCL version : 2.22.3-HEAD:4ef2a4d\nHIP version  : 6.4.0\n";
  const Reading reading = read(version + ranks + kTable);
  CHECK(reading.problems == std::vector<std::string>{});
  CHECK(reading.tables.at(0).device == "AMD Instinct MI300X");
  CHECK(read(kRun + version + kTable).tables.at(0).nccl_version == "2.22.3");
}

TEST_CASE("of a benchmark that failed, the line that says why is told") {
  const std::string why = "node-a:77:77 [0] misc/socket.cc:483 NCCL WARN socketStartConnect: Connect failed\n";
  const Reading reading = read("# nThread 1 nGpus 1\n" + why);
  CHECK(reading.tables.empty());
  CHECK(says(reading,
             "log:2: error: no table of nccl-tests in it; the benchmark failed: node-a:77:77 [0] misc/socket.cc"));
}

TEST_CASE("what launchers put before lines does not matter") {
  check_log(around_lines(kLog, "0: "));
  check_log(around_lines(kLog, " 3: "));
  check_log(around_lines(kLog, "[1,0]<stdout>:"));
  check_log(around_lines(kLog, "[prterun-node-a-77@1,0]<stdout>: "));
  check_log(around_lines(kLog, "Tue Feb 27 10:11:12 2024[1,0]<stdout>:"));
  check_log(around_lines(kLog, "node-a: "));
  check_log(around_lines(kLog, "nccl-test-1  | "));
  check_log(around_lines(kLog, "[rank0]: "));
  check_log(around_lines(kLog, "2024-05-01T12:00:00.123456Z "));
  check_log(around_lines(kLog, "[2024-05-01 12:00:00] 0: "));
  check_log(around_lines(kLog, "2024/05/01 12:00:00 "));
  check_log(around_lines(kLog, "    "));
}

TEST_CASE("line ends, colours, tabs and a byte order mark do not matter") {
  check_log(around_lines(kLog, "", "\r"));
  check_log(around_lines(kLog, "\033[1;32m", "\033[0m"));
  check_log("\xEF\xBB\xBF" + kLog);
  check_log(replaced(kLog, "  ", "\t"));
  check_log(kLog.substr(0, kLog.size() - 1));
  check_log(replaced(kLog, "#  ", "   "));  // '#' lost, as where a web page took it for a heading
}

TEST_CASE("what others print between the lines is passed over") {
  const std::string library = "node-a:101:117 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[1] via P2P/CUMEM\n";
  const std::string warning = "node-b:202:218 [1] misc/socket.cc:50 NCCL WARN socketProgress: 2 of 7 closed\n";
  std::string text = "+ srun -N 2 /opt/nccl-tests/build/all_reduce_perf -b 1M -e 2M\nWARNING: Open MPI: 3 things\n";
  std::istringstream in(kLog);
  for (std::string line; std::getline(in, line);) text += line + "\n" + library + "12 slots\n" + warning + "\n";
  check_log(text);
}

TEST_CASE("a row that the library's messages tear apart is put together") {
  const std::string left = "     1048576        262144     float     sum      -1";
  const std::string right = kRow1.substr(left.size());
  check_log(kRun + kSides + kHeading + left + "node-a:101:117 [0] NCCL INFO Launch mode\n" + right + kRow2 + kEnd);
  check_log(kRun + kSides + kHeading + left + "\nnode-a:101:117 [0] NCCL INFO Launch mode\n" + right + kRow2 + kEnd);
  const Reading torn = read(kRun + kSides + kHeading + left + "\n" + kRow2 + kEnd);
  CHECK(says(torn, "log:14: warning: this row has no times; left out"));
  REQUIRE(torn.tables.size() == 1);
  CHECK(torn.tables[0].rows.size() == 1);
}

TEST_CASE("old versions have an error for #wrong, and no root") {
  const Reading reading = read(
      "===begin reduce_scatter_perf test===\n"
      "#   Rank  0 Pid    101 on     node-a device  0 [0x1b] Old GPU\n"
      "#   Rank  1 Pid    101 on     node-a device  1 [0x43] Old GPU\n"
      "NCCL version 2.8.4+cuda11.0\n"
      "#                                                     out-of-place                       in-place\n"
      "#       size         count    type   redop     time   algbw   busbw  error     time   algbw   busbw  error\n"
      "#        (B)    (elements)                     (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)\n"
      "     1048576        131072   float     sum    50.00   20.97   10.49  1e-07    40.00   26.21   13.11  0e+00\n");
  CHECK(reading.problems == std::vector<std::string>{});  // busbw is half of algbw on two ranks
  REQUIRE(reading.tables.size() == 1);
  CHECK(reading.tables[0].test == "reduce_scatter");
  CHECK(reading.tables[0].ranks == 2);
  CHECK(reading.tables[0].nodes == 1);
  CHECK(reading.tables[0].nccl_version == "2.8.4+cuda11.0");
  REQUIRE(reading.tables[0].rows.size() == 1);
  const NcclRow& row = reading.tables[0].rows[0];
  CHECK(row.root == std::nullopt);
  CHECK(row.out_of_place.error == 1e-7);
  CHECK(row.out_of_place.wrong == std::nullopt);
}

TEST_CASE("fields that a row leaves blank are told by their places") {
  const std::string heading =
      "#       size         count    type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw "
      "#wrong\n";
  const Reading no_redop = read(heading +
                                "     1048576        262144   float               2    50.00   20.97   20.97      0    "
                                "40.00   26.21   26.21      0\n");
  CHECK(no_redop.problems == std::vector<std::string>{});
  REQUIRE(no_redop.tables.size() == 1);
  CHECK(no_redop.tables[0].rows[0].reduction.empty());
  CHECK(no_redop.tables[0].rows[0].root == 2);
  CHECK(no_redop.tables[0].rows[0].in_place.busbw == 26.21);

  const Reading no_wrong = read(
      heading +
      "     1048576        262144   float     sum      -1    50.00   20.97   31.46           40.00   26.21   39.32\n");
  CHECK(no_wrong.problems == std::vector<std::string>{});
  REQUIRE(no_wrong.tables.size() == 1);
  CHECK(no_wrong.tables[0].rows[0].out_of_place.wrong == std::nullopt);
  CHECK(no_wrong.tables[0].rows[0].in_place.time == Duration(40us));

  const Reading in_place_only = read(heading +
                                     "     1048576        262144   float     sum      -1                               "
                                     "      40.00   26.21   39.32      0\n");
  CHECK(in_place_only.problems == std::vector<std::string>{});
  REQUIRE(in_place_only.tables.size() == 1);
  CHECK(in_place_only.tables[0].rows[0].out_of_place.time == std::nullopt);
  CHECK(in_place_only.tables[0].rows[0].in_place.time == Duration(40us));
}

TEST_CASE("blank fields whose places are lost are refused, not guessed") {
  const Reading reading = read(kHeading + "1048576 262144 float sum -1 40.00 26.21 39.32 0\n" + kRow2);
  CHECK(says(reading, "log:3: warning: a line like a row, but not under the columns: 9 fields; expected 13; left out"));
  REQUIRE(reading.tables.size() == 1);
  CHECK(reading.tables[0].rows.size() == 1);
}

TEST_CASE("the line above the heading says which side comes first") {
  const std::string heading =
      "#       size         count     time   algbw   busbw #wrong     time   algbw   busbw #wrong\n";
  const std::string row =
      "     1048576        262144    50.00   20.97   31.46      0    40.00   26.21   39.32      0\n";
  const Reading turned =
      read("#                             in-place                       out-of-place\n" + heading + row);
  REQUIRE(turned.tables.size() == 1);
  CHECK(turned.tables[0].rows[0].in_place.time == Duration(50us));
  CHECK(turned.tables[0].rows[0].out_of_place.time == Duration(40us));

  const std::string one = "#       size         count     time   algbw   busbw #wrong\n";
  const std::string one_row = "     1048576        262144    50.00   20.97   31.46      0\n";
  const Reading alone = read("#                             in-place\n" + one + one_row);
  REQUIRE(alone.tables.size() == 1);
  CHECK(alone.tables[0].rows[0].in_place.time == Duration(50us));
  CHECK(alone.tables[0].rows[0].out_of_place.time == std::nullopt);
  CHECK(read(one + one_row).tables.at(0).rows[0].out_of_place.time == Duration(50us));
}

TEST_CASE("columns of iterations and times of day are passed over") {
  const Reading reading = read(
      "#    size    count    type  redop  root    time  algbw  busbw #wrong  #bitdiff   i_min   i_max   i_p99   i_cv%  "
      "         timestamp\n"
      "#     (B) (elements)                       (us) (GB/s) (GB/s)                      (us)    (us)    (us)     (%)"
      "  %Y-%m-%d %H:%M:%S\n"
      "  1048576   262144   float    sum    -1   50.00  20.97  31.46      0         0   48.00   55.00   54.00    1.20"
      "  2025-11-21 10:11:12\n");
  CHECK(reading.problems == std::vector<std::string>{});
  REQUIRE(reading.tables.size() == 1);
  CHECK(reading.tables[0].rows[0].out_of_place.time == Duration(50us));
  CHECK(reading.tables[0].rows[0].in_place.time == std::nullopt);
}

TEST_CASE("several runs in a file are several tables") {
  const std::string gather = replaced(replaced(kLog, "all_reduce", "all_gather"), "Fast", "Slow");
  const Reading reading =
      read(kLog + replaced(replaced(gather, "31.46", "15.73"), "39.32", "19.66"));  // 3 / 4 of algbw
  CHECK(reading.problems == std::vector<std::string>{});
  REQUIRE(reading.tables.size() == 2);
  CHECK(reading.tables[0].test == "all_reduce");
  CHECK(reading.tables[1].test == "all_gather");
  CHECK(reading.tables[1].ranks == 4);
}

TEST_CASE("runs that print at the same time are told apart by their labels") {
  std::istringstream in(kLog);
  std::string text;
  for (std::string line; std::getline(in, line);) {
    text += "0: " + line + "\n";
    text += "1: " + replaced(line, "node-", "host-") + "\n";
  }
  const Reading reading = read(text);
  CHECK(reading.problems == std::vector<std::string>{});
  REQUIRE(reading.tables.size() == 2);
  for (const NcclTable& table : reading.tables) check_rows(table);
}

TEST_CASE("the operation comes from the command where the log does not say it") {
  const std::string lead = "$ mpirun -np 4 ./build/all_reduce_perf_mpi -b 1M -e 2M -f 2\n";
  const std::string bare = replaced(kTable, "# Collective test concluded: all_reduce_perf\n", "");
  CHECK(read(lead + bare).tables.at(0).test == "all_reduce");
  CHECK(read(bare).tables.at(0).test.empty());
  CHECK(read("runs all_reduce_perf, alltoall_perf\n" + bare).tables.at(0).test.empty());
  CHECK(read(lead + bare + bare).tables.at(1).test.empty());  // nothing says that it is the same
  for (const auto& [program, test] :
       std::vector<std::pair<std::string, std::string>>{{"all_gather", "all_gather"},
                                                        {"alltoall", "all_to_all"},
                                                        {"broadcast", "broadcast"},
                                                        {"gather", "gather"},
                                                        {"hypercube", "hypercube"},
                                                        {"reduce", "reduce"},
                                                        {"reduce_scatter", "reduce_scatter"},
                                                        {"scatter", "scatter"},
                                                        {"sendrecv", "sendrecv"},
                                                        {"alltoallv", "all_to_all_v"}})
    CHECK(read("/opt/" + program + "_perf -g 8\n" + bare).tables.at(0).test == test);
}

TEST_CASE("a table that ends as another operation is a warning") {
  CHECK(says(read(replaced(kLog, "concluded: all_reduce", "concluded: broadcast")),
             "log:19: warning: the table of all_reduce ends as one of broadcast"));
}

TEST_CASE("the version of NCCL may come before or after the heading") {
  const std::string version = "node-a:101:101 [0] NCCL INFO NCCL version 2.21.5+cuda12.4\n";
  CHECK(read(kRun + version + kTable).tables.at(0).nccl_version == "2.21.5+cuda12.4");
  CHECK(read(kRun + kSides + kHeading + version + kRow1).tables.at(0).nccl_version == "2.21.5+cuda12.4");
  CHECK(read("# nccl-library=2804\n" + kTable).tables.at(0).nccl_version == "2.8.4");
}
