// SPDX-License-Identifier: MIT
// Sizes and operations as nccl-tests has them.
#include "study/benchmark/question.h"

#include <catch2/catch.hpp>

#include <utility>

#include "core/error.h"
#include "workload/calls/operation.h"

using namespace orrery;
using namespace orrery::study;
using namespace orrery::workload;

namespace {

std::vector<std::int64_t> counts(const BenchmarkSizes& sizes) {
  std::vector<std::int64_t> result;
  for (const Bytes size : sizes_of(sizes)) result.push_back(size.count());
  return result;
}

std::string error_of(const BenchmarkSizes& sizes) {
  try {
    sizes_of(sizes);
    return {};
  } catch (const InputError& error) {
    return error.what();
  }
}

using Counts = std::vector<std::int64_t>;

}  // namespace

TEST_CASE("sizes grow by a factor or by steps up to the last") {
  CHECK(counts({}) == Counts{32 << 20});
  CHECK(counts({.first = "8"}) == Counts{8});
  CHECK(counts({.first = "1K", .last = "5k"}) == Counts{1024, 2048, 4096});
  CHECK(counts({.first = "1M", .last = "16M", .factor = "4"}) == Counts{1 << 20, 4 << 20, 16 << 20});
  CHECK(counts({.first = "1G", .last = "3G", .increment = "1G"}) == Counts{1LL << 30, 2LL << 30, 3LL << 30});
  CHECK(counts({.first = "1T", .last = "1T"}) == Counts{1LL << 40});
  // 1.5 * 1 is rounded down to 1, which would not grow; 1.5 * 3 = 4.5.
  CHECK(counts({.first = "1", .last = "6", .factor = "1.5"}) == Counts{1, 2, 3, 4, 6});
  CHECK(counts({.first = "1024T", .last = "1024T", .factor = "1e300"}) == Counts{1LL << 50});
  CHECK(sizes_of({.first = "8", .last = "16G", .factor = "2"}).size() == 32);  // 2^3 .. 2^34
}

TEST_CASE("a size may have any unit of bytes, and K, M, G and T are the binary ones") {
  const std::pair<const char*, std::int64_t> texts[] = {
      {"32K", 32 << 10},       {"1m", 1 << 20},     {"1 G", 1 << 30},    {"1.5M", 3 << 19}, {"1GiB", 1 << 30},
      {"1 GB", 1'000'000'000}, {"100 kB", 100'000}, {"100 KB", 100'000}, {"8 B", 8},        {"0.5 KiB", 512}};
  for (const auto& [text, bytes] : texts) {
    CAPTURE(text);
    CHECK(counts({.first = text}) == Counts{bytes});
  }
  CHECK(counts({.first = "1MiB", .last = "3M", .increment = "1024 KiB"}) == Counts{1 << 20, 2 << 20, 3 << 20});
}

TEST_CASE("sizes that cannot be are refused by the name of their option") {
  for (const char* text : {"0", "-1", "x", "1.5", "-8K", "1Q", "8 Kb", "1.5 XB", "2000T", "2 PiB",
                           "99999999999999999999", "M", "MiB", " 8", "nan", "8 ", "0.2 B"}) {
    CAPTURE(text);
    CHECK(error_of({.first = text}).starts_with("-b: error"));
    CHECK(error_of({.first = "1", .last = text}).starts_with("-e: error"));
    CHECK(error_of({.first = "1", .last = "2", .increment = text}).starts_with("-i: error"));
  }
  for (const char* text : {"1", "0.5", "0", "-2", "nan", "inf", "two", "2x", "200 %"}) {
    CAPTURE(text);
    CHECK(error_of({.factor = text}).starts_with("-f: error"));
  }
  CHECK(error_of({.first = "2M", .last = "1M"}).find("1M, is less than the first, 2M") != std::string::npos);
  CHECK(error_of({.last = "1M"}).find("1M, is less than the first, 32M") != std::string::npos);
  CHECK(error_of({.first = "1", .last = "1T", .increment = "1"}).find("more than 1000 sizes") != std::string::npos);
  CHECK(error_of({.first = "1", .last = "1T", .factor = "1.001"}).find("more than 1000 sizes") != std::string::npos);
}

TEST_CASE("bus bandwidth and counts follow nccl-tests") {
  // Of 8 ranks: 2 * 7/8, 7/8, 1. A buffer of 4 KiB is 1,024 floats; a share of it is 128.
  struct Expected {
    const char* name;
    double factor;
    std::int64_t count;
  };
  for (const auto& [name, factor, count] :
       {Expected{"all_reduce", 1.75, 1024}, Expected{"all-gather", 0.875, 128}, Expected{"Reduce_Scatter", 0.875, 128},
        Expected{"all_to_all", 0.875, 128}, Expected{"broadcast", 1, 1024}, Expected{"reduce", 1, 1024},
        Expected{"gather", 0.875, 128}, Expected{"scatter", 0.875, 128}, Expected{"sendrecv", 1, 1024}}) {
    CAPTURE(name);
    const workload::CallOperation operation = workload::call_operation_named(name, "--op");
    CHECK(workload::bus_factor(operation, 8) == factor);
    CHECK(workload::float_count(operation, Bytes(4096), 8) == count);
    CHECK(workload::float_count(operation, Bytes(1), 8) == 1);
  }
  CHECK(workload::call_operations().size() == 10);
  CHECK_THROWS_AS(workload::call_operation_named("scan", "--op"), InputError);
}

TEST_CASE("an all-gather's rank brings a share, a reduce-scatter's the whole") {
  const auto input = [](const char* name) {
    const Job job = workload::call_job(workload::call_operation_named(name, "--op"), Bytes(1001), 8);
    return job.graph(RankId(7)).bytes(NodeId(0)).count();
  };
  CHECK(input("all_gather") == 126);  // ceil(1001 / 8)
  CHECK(input("gather") == 126);
  for (const char* name : {"reduce_scatter", "scatter", "all_to_all", "all_reduce", "broadcast", "sendrecv"})
    CHECK(input(name) == 1001);
}

TEST_CASE("a barrier has one row and takes no sizes") {
  const workload::CallOperation barrier = workload::call_operation_named("barrier", "--op");
  CHECK(sizes_of({}, barrier) == std::vector{Bytes(0)});
  CHECK(sizes_of({}, workload::call_operation_named("reduce", "--op")) == std::vector{Bytes(32 << 20)});
  for (const BenchmarkSizes& given : {BenchmarkSizes{.first = "8"}, BenchmarkSizes{.last = "8"},
                                      BenchmarkSizes{.factor = "2"}, BenchmarkSizes{.increment = "8"}})
    CHECK_THROWS_AS(sizes_of(given, barrier), InputError);
}
