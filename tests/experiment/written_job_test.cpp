// SPDX-License-Identifier: MIT
// A job that was written and read back runs as it did before.
#include <catch2/catch.hpp>
#include <random>

#include "tests/system/random_jobs.h"
#include "tests/system/small_jobs.h"
#include "tests/workload/traces/same_job.h"
#include "tests/workload/traces/trace_builder.h"
#include "workload/tools/writer.h"
#include "workload/traces/load_job.h"

using namespace orrery;
using namespace orrery::network;
using namespace orrery::workload;
using namespace orrery::test;

TEST_CASE("random jobs are the same after writing and reading, and take the same time") {
  std::mt19937_64 random(6);
  for (int i = 0; i < 30; ++i) {
    const std::uint32_t ranks = 2 + static_cast<std::uint32_t>(random() % 7);
    const Job job = random_job(random, ranks);
    const orrery::testing::ScratchDirectory directory;
    Diagnostics diagnostics;
    const Job again = load_chakra_job(write_job(job, directory.path("out"), "job"), diagnostics);
    REQUIRE(orrery::testing::difference(job, again) == "");
    const Fabric fabric = one_dimension("switch", ranks, Bandwidth(10'000'000'000), Duration(1'000'000));
    CHECK(simulate(job, fabric).totals.finish == simulate(again, fabric).totals.finish);
  }
}
