// SPDX-License-Identifier: MIT
// The studies under configs/studies whose answer a calculation by hand gives.
#include <algorithm>
#include <catch2/catch.hpp>

#include <fmt/format.h>

#include "experiment/runs/run.h"
#include "tests/shipped_files.h"

using namespace orrery;
using namespace orrery::experiment;
using namespace orrery::report;

namespace {

double busiest(const Result& result, const std::string& link_class) {
  const auto found = std::ranges::find(result.links, link_class, &LinkClassUse::name);
  REQUIRE(found != result.links.end());
  return found->most;
}

}  // namespace

TEST_CASE("NVLink must be 1.75 times the bandwidth between servers not to be the bottleneck of tensor parallelism") {
  // d*B = 2 * 8192 * 2048 B. Ring all-reduce among 8: 14 steps of an eighth. Beside it an eighth to the other server.
  const Bytes eighth(2 * 8192 * 2048 / 8);
  const Bandwidth between(20'000'000'000);  // of one of 8 NICs: 160 GB/s
  for (const std::int64_t gigabytes : {200, 240, 279, 280, 281, 300, 450}) {
    for (const char* model : {"alpha-beta", "flow"}) {
      CAPTURE(gigabytes, model);
      const Bandwidth nvlink(gigabytes * 1'000'000'000);
      const Result result =
          run_experiment(
              {ORRERY_SOURCE_DIR "/configs/studies/tensor-beside-pipeline.yaml",
               {fmt::format("cluster.dims.0.bandwidth={} GB/s", gigabytes), fmt::format("network.model={}", model)}},
              kFiles)
              .result;
      const Duration inside = 14 * (eighth / nvlink);
      const Duration across = eighth / between;
      CHECK(result.finish == Time(std::max(inside, across)));
      // The bottleneck is used all the time, the other link for the ratio of the two times. 280 = 1.75 * 160.
      const bool nvlink_bounds = gigabytes < 280;
      CHECK((busiest(result, "nvlink.up") > busiest(result, "rdma.up")) == nvlink_bounds);
      CHECK(busiest(result, nvlink_bounds ? "nvlink.up" : "rdma.up") == Approx(1));
      CHECK(busiest(result, nvlink_bounds ? "rdma.up" : "nvlink.up") ==
            Approx(seconds(std::min(inside, across)) / seconds(result.finish)));
    }
  }
}
