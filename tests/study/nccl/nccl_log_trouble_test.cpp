// SPDX-License-Identifier: MIT
// Logs of nccl-tests that contradict themselves, break off, or are none.
#include <catch2/catch.hpp>

#include "tests/study/nccl/nccl_logs.h"

using namespace orrery;
using namespace orrery::study;
using namespace orrery::test;
using namespace std::chrono_literals;

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
  CHECK(says(algorithm,
             "log:14: warning: out-of-place algbw is 20.99 GB/s, but 1048576 bytes in 50 us are 20.9715 GB/s"));
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
  CHECK(error("8 2 10.x 0.00 0.00 0").starts_with("log:2: error: out-of-place time '10.x' is not a number"));
  CHECK(error("8 2 10.0 0.00 0.00 1.5").starts_with("log:2: error: out-of-place #wrong '1.5' is not a count"));
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
        std::vector<std::string>{"log:12: error: no rows under this heading\n  hint: line 14 says: Test NCCL failure "
                                 "all_reduce.cu:44"});
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
