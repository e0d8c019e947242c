// Logs of nccl-tests in the shapes that its versions, launchers and shells give them. The numbers are made up:
// all-reduces on 4 ranks (bus bandwidth 2 * 3 / 4 = 1.5 times the algorithm bandwidth) of
//   1048576 B in 50.00 us: 1048576 / 50 / 1e3 = 20.97 GB/s, busbw 31.46; in-place in 40.00 us: 26.21, busbw 39.32
//   2097152 B in 80.00 us: 26.21, busbw 39.32; in-place in 100.0 us: 20.97, busbw 31.46
#include <filesystem>
#include <fstream>
#include <sstream>

#include <catch2/catch.hpp>

#include "study/nccl_log.h"

using namespace orrery;
using namespace std::chrono_literals;

namespace {

struct Reading {
  std::vector<NcclTable> tables;
  std::vector<std::string> problems;  // "log:3: warning: ..."
};

Reading read(const std::string& text) {
  Diagnostics diagnostics;
  Reading reading{read_nccl_log(text, "log", diagnostics), {}};
  for (const Problem& problem : diagnostics.problems()) reading.problems.push_back(to_string(problem));
  return reading;
}

bool says(const Reading& reading, std::string_view what) {
  for (const std::string& problem : reading.problems)
    if (problem.find(what) != std::string::npos) return true;
  return false;
}

const std::string kRun =
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

const std::string kSides =
    "#\n"
    "#                                                              out-of-place                       in-place\n";
const std::string kHeading =
    "#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw "
    "#wrong\n"
    "#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)\n";
const std::string kRow1 =
    "     1048576        262144     float     sum      -1    50.00   20.97   31.46      0    40.00   26.21   39.32     "
    " 0\n";
const std::string kRow2 =
    "     2097152        524288     float     sum      -1    80.00   26.21   39.32      0    100.0   20.97   31.46    "
    "N/A\n";
const std::string kEnd =
    "# Out of bounds values : 0 OK\n"
    "# Avg bus bandwidth    : 35.39\n"
    "#\n"
    "# Collective test concluded: all_reduce_perf\n";
const std::string kTable = kSides + kHeading + kRow1 + kRow2 + kEnd;
const std::string kLog = kRun + kTable;

// `text` with `prefix` before and `suffix` behind each line.
std::string around_lines(const std::string& text, const std::string& prefix, const std::string& suffix = {}) {
  std::istringstream in(text);
  std::string line, result;
  while (std::getline(in, line)) result += prefix + line + suffix + "\n";
  return result;
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
    text.replace(at, from.size(), to);
  return text;
}

void check_rows(const NcclTable& table) {
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

void check_log(const std::string& text) {
  const Reading reading = read(text);
  CHECK(reading.problems == std::vector<std::string>{});
  REQUIRE(reading.tables.size() == 1);
  CHECK(reading.tables[0].test == NcclTest::kAllReduce);
  CHECK(reading.tables[0].ranks == 4);
  check_rows(reading.tables[0]);
}

}  // namespace

TEST_CASE("a log of today's nccl-tests tells the run and its rows") {
  const Reading reading = read(kLog);
  CHECK(reading.problems == std::vector<std::string>{});
  REQUIRE(reading.tables.size() == 1);
  const NcclTable& table = reading.tables[0];
  CHECK(table.test == NcclTest::kAllReduce);
  CHECK(collective_of(*table.test) == CollectiveKind::kAllReduce);
  CHECK(table.ranks == 4);
  CHECK(table.nodes == 2);
  CHECK(table.groups == 1);
  CHECK(table.devices == std::vector<std::string>{"Fast GPU 80GB"});
  CHECK(table.threads_per_process == 1);
  CHECK(table.devices_per_thread == 2);
  CHECK(table.warmup_iterations == 5);
  CHECK(table.iterations == 20);
  CHECK(table.nccl_version == "2.28.7");  // 22807
  CHECK(table.average_busbw == 35.39);
  CHECK(table.line == 12);  // 9 lines of kRun, 2 of kSides
  check_rows(table);
  CHECK(table.rows[0].line == 14);
  CHECK(table.rows[0].count == 262144);
  CHECK(table.rows[0].type == "float");
  CHECK(table.rows[0].reduction == "sum");
  CHECK(table.rows[0].root == -1);
  CHECK(table.rows[0].out_of_place.wrong == 0);
  CHECK(table.rows[1].in_place.wrong == std::nullopt);  // N/A
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
  CHECK(reading.tables[0].test == NcclTest::kReduceScatter);
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
  CHECK(reading.tables[0].test == NcclTest::kAllReduce);
  CHECK(reading.tables[1].test == NcclTest::kAllGather);
  CHECK(reading.tables[0].devices == std::vector<std::string>{"Fast GPU 80GB"});
  CHECK(reading.tables[1].devices == std::vector<std::string>{"Slow GPU 80GB"});
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
  CHECK(read(lead + bare).tables.at(0).test == NcclTest::kAllReduce);
  CHECK(read(bare).tables.at(0).test == std::nullopt);
  CHECK(read("runs all_reduce_perf, alltoall_perf\n" + bare).tables.at(0).test == std::nullopt);
  CHECK(read(lead + bare + bare).tables.at(1).test == std::nullopt);  // nothing says that it is the same
  for (const auto& [program, test] :
       std::vector<std::pair<std::string, NcclTest>>{{"all_gather", NcclTest::kAllGather},
                                                     {"alltoall", NcclTest::kAllToAll},
                                                     {"broadcast", NcclTest::kBroadcast},
                                                     {"gather", NcclTest::kGather},
                                                     {"hypercube", NcclTest::kHypercube},
                                                     {"reduce", NcclTest::kReduce},
                                                     {"reduce_scatter", NcclTest::kReduceScatter},
                                                     {"scatter", NcclTest::kScatter},
                                                     {"sendrecv", NcclTest::kSendRecv},
                                                     {"alltoallv", NcclTest::kAllToAllV}})
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

TEST_CASE("wrong results are warnings that name the line") {
  const Reading reading = read(kRun + kSides + kHeading + replaced(kRow1, "31.46      0", "31.46  1e+06") +
                               "# Out of bounds values : 50 FAILED\n");
  CHECK(reading.tables.at(0).rows[0].out_of_place.wrong == 1'000'000);
  CHECK(says(reading, "log:14: warning: out-of-place result has 1e+06 wrong elements"));
  CHECK(says(reading, "log:15: warning: the benchmark found wrong results"));
}

TEST_CASE("an error that RCCL marks with an asterisk is a warning") {
  const Reading reading = read("size time algbw busbw error\n1024 10.00 0.10 0.10 3e-01*\n");
  CHECK(says(reading, "log:2: warning: out-of-place error '3e-01' is marked as too large"));
  CHECK(reading.tables.at(0).rows[0].out_of_place.error == 0.3);
}

TEST_CASE("times of the host are a warning") {
  const Reading reading = read(kRun + kSides + replaced(kHeading, "   time", "cputime") + kRow1);
  CHECK(says(reading, "log:12: warning: the times are of the host"));
  CHECK(reading.tables.at(0).cpu_times);
  CHECK(reading.tables.at(0).rows[0].out_of_place.time == Duration(50us));
  CHECK_FALSE(read(kLog).tables.at(0).cpu_times);
}

TEST_CASE("bandwidths that do not follow from bytes and time are warnings that name the line") {
  const Reading algorithm = read(kRun + kSides + kHeading + replaced(kRow1, "20.97", "20.99"));
  CHECK(
      says(algorithm, "log:14: warning: out-of-place algbw is 20.99 GB/s, but 1048576 bytes in 50 us are 20.97 GB/s"));
  const Reading bus = read(kRun + kSides + kHeading + replaced(kRow1, "39.32", "26.21"));
  CHECK(says(bus, "log:14: warning: in-place busbw is 26.21 GB/s, but 1048576 bytes in 40 us on 4 ranks make 39.32"));
}

TEST_CASE("what printing rounds away is no contradiction") {
  // 1e9 B in 12345 +- 0.5 us are 81.0012 to 81.0078 GB/s: printed 81.00 or 81.01, not 80.99 or 81.02.
  const std::string heading = "size time algbw busbw\n";
  CHECK(read(heading + "1000000000 12345 81.00 N/A\n").problems.empty());
  CHECK(read(heading + "1000000000 12345 81.01 N/A\n").problems.empty());
  CHECK(read(heading + "1000000000 12345 80.99 N/A\n").problems.size() == 1);
  CHECK(read(heading + "1000000000 12345 81.02 N/A\n").problems.size() == 1);
  // 1.2e+06 us is 1.15 to 1.25 s.
  CHECK(read(heading + "1000000000 1.2e+06 0.85 N/A\n").problems.empty());
  CHECK(read(heading + "1000000000 1.2e+06 0.88 N/A\n").problems.size() == 1);
}

TEST_CASE("times are kept to the picosecond, however they are written") {
  const std::string heading = "size time algbw busbw\n";
  CHECK(read(heading + "8 17.93 0.00 0.00\n").tables.at(0).rows[0].out_of_place.time == Duration(17'930'000));
  CHECK(read(heading + "8 1.5e+01 0.00 0.00\n").tables.at(0).rows[0].out_of_place.time == Duration(15us));
  CHECK(read(heading + "0 36.90 0.00 0.00\n").tables.at(0).rows[0].bytes == Bytes(0));
}

TEST_CASE("times that say nothing are left out with a warning") {
  const std::string heading = "size time algbw busbw\n";
  for (const std::string time : {"inf", "nan", "-nan", "0.00"}) {
    const Reading reading = read(heading + "1024 " + time + " inf nan\n");
    INFO(time);
    REQUIRE(reading.tables.size() == 1);
    CHECK(reading.tables[0].rows[0].out_of_place.time == std::nullopt);
    CHECK(reading.tables[0].rows[0].out_of_place.algbw == std::nullopt);
    CHECK(reading.tables[0].rows[0].out_of_place.busbw == std::nullopt);
    CHECK(says(reading, "log:2: warning: out-of-place time"));
  }
}

TEST_CASE("values that cannot be are errors that name the line") {
  const std::string heading = "size count time algbw busbw #wrong\n";
  const auto error = [&heading](const std::string& row) {
    const Reading reading = read(heading + row + "\n");
    CHECK(reading.tables.empty());
    return reading.problems.empty() ? std::string() : reading.problems.front();
  };
  CHECK(error("-8 2 10.0 0.00 0.00 0").starts_with("log:2: error: size '-8' is negative"));
  CHECK(error("9223372036854775808 2 10.0 0.00 0.00 0").starts_with("log:2: error: size '9223372036854775808' is out"));
  CHECK(error("8 18446744073709551616 10.0 0.00 0.00 0")
            .starts_with("log:2: error: count '18446744073709551616' is out"));
  CHECK(error("8 -2 10.0 0.00 0.00 0").starts_with("log:2: error: count '-2' is negative"));
  CHECK(error("8 2 -10.0 0.00 0.00 0").starts_with("log:2: error: out-of-place time '-10.0' is negative"));
  CHECK(error("8 2 1e999 0.00 0.00 0").starts_with("log:2: error: out-of-place time '1e999' is out of range"));
  // 2^63 ps are 9.22e12 us.
  CHECK(
      error("8 2 9.3e12 0.00 0.00 0").starts_with("log:2: error: out-of-place time 9300000000000 us is out of range"));
  CHECK(error("8 2 10.0 -1.0 0.00 0").starts_with("log:2: error: out-of-place algbw '-1.0' is negative"));
  CHECK(error("8 2 10.x 0.00 0.00 0").starts_with("log:2: error: out-of-place time '10.x' is no number"));
  CHECK(error("8 2 10.0 0.00 0.00 1.5").starts_with("log:2: error: out-of-place #wrong '1.5' is no count"));
  CHECK(error("8 2 10.0 0.00 0.00 -1").starts_with("log:2: error: out-of-place #wrong '-1' is negative"));
}

TEST_CASE("a last line that is cut off is left out with a warning, wherever it is cut") {
  const std::string before = kRun + kSides + kHeading + kRow1;
  const std::string fields =
      kRow2.substr(0, kRow2.find("    N/A"));  // without the last one, which nccl-tests may leave blank
  for (std::size_t length = fields.find('2') + 1; length <= fields.size(); ++length) {
    const Reading reading = read(before + fields.substr(0, length));
    INFO(length);
    CHECK(says(reading, "log:15: warning: the last row is cut off"));
    REQUIRE(reading.tables.size() == 1);
    CHECK(reading.tables[0].rows.size() == 1);
  }
  check_log(before + kRow2.substr(0, kRow2.size() - 1));
}

TEST_CASE("a row that ends early never makes up numbers, also where lines follow") {
  const std::string before = kRun + kSides + kHeading;
  for (std::size_t length = kRow2.find("float"); length < kRow2.size(); ++length) {
    const Reading reading = read(before + kRow2.substr(0, length) + "\n" + kRow1);
    INFO(length);
    REQUIRE(reading.tables.size() == 1);
    if (reading.tables[0].rows.size() == 1) {
      CHECK(says(reading, "log:14: "));
      continue;
    }
    // Whole but for its last digit at most: as near to what was printed as that one tells.
    const NcclRow& row = reading.tables[0].rows[0];
    CHECK(row.out_of_place.time == Duration(80us));
    CHECK(row.out_of_place.algbw == 26.21);
    CHECK(row.out_of_place.busbw.value() == Approx(39.32).margin(0.05));
    if (!row.in_place.time) continue;
    CHECK(row.in_place.time == Duration(100us));
    CHECK(row.in_place.algbw == 20.97);
    CHECK(row.in_place.busbw.value() == Approx(31.46).margin(0.07));
  }
}

TEST_CASE("ranks that the log names twice, or only in part, are warnings") {
  const std::string twice =
      kRun + "#  Rank  0 Group  0 Pid    303 on     node-c device  0 [0000:1b:00] Fast GPU 80GB\n";
  CHECK(says(read(twice + kTable), "log:10: warning: a rank is named a second time"));
  CHECK(read(twice + kTable).tables.at(0).nodes == 0);

  const std::string part =
      "#  Rank  3 Group  0 Pid    202 on     node-b device  1 [0000:43:00] Fast GPU 80GB\n" + kTable;
  CHECK(says(read(part), "log:1: warning: of the ranks from 0 to 3, 1 are named"));
  CHECK(read(part).tables.at(0).ranks == 4);
  CHECK(read(part).tables.at(0).nodes == 0);

  // Two processes with four devices each, of which the log names two each.
  const Reading cut = read(replaced(kRun, "nGpus 2", "nGpus 4") + kSides + kHeading +
                           "8 2 float sum -1 9.00 0.00 0.00 0 9.00 0.00 0.00 0\n");
  CHECK(says(cut, "log:9: warning: 4 ranks are named, but 2 processes with 4 devices each make 8"));
  CHECK(cut.tables.at(0).ranks == 8);
}

TEST_CASE("a heading without rows, or without a table at all, is one error") {
  CHECK(read(kRun + kSides + kHeading + "node-a: Test NCCL failure all_reduce.cu:44\n").problems ==
        std::vector<std::string>{"log:12: error: no rows under this heading\n  hint: did the benchmark fail?"});
  for (const std::string text : {"", "\n\n", "no such file\n", "size of the time\n", "{\"a\": [1, 2"}) {
    const Reading reading = read(text);
    INFO(text);
    CHECK(reading.tables.empty());
    REQUIRE(reading.problems.size() == 1);
    CHECK(says(reading, "log: error: no table of nccl-tests in it\n  hint: give it the output of all_reduce_perf"));
  }
  const Reading second = read(kLog + kSides + kHeading);
  CHECK(second.tables.size() == 1);
  CHECK(says(second, "log:22: warning: no rows under this heading"));
  CHECK(says(read(std::string("\xFF\xFE#\0 \0", 6)), "log: error: UTF-16 text"));
}

TEST_CASE("headings that are not understood are errors that name the line") {
  CHECK(says(read("size time speed algbw\n"), "log:1: error: column 'speed' is not known"));
  CHECK(says(read("size time algbw time algbw time algbw\n"), "log:1: error: 3 columns of times"));
  CHECK(says(read("size algbw time busbw\n"), "log:1: error: column 'algbw' before a time"));
  CHECK(says(read("size time algbw algbw\n"), "log:1: error: column 'algbw' twice"));
  CHECK(says(read("size time algbw busbw\n(B) (ms) (GB/s) (GB/s)\n8 1.0 0.0 0.0\n"), "log:2: error: unit '(ms)'"));
}
