// SPDX-License-Identifier: MIT
// The bound that is drawn with the times of a collective.
#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "network/fabric/compose.h"
#include "study/benchmark/bound.h"

using namespace orrery;
using namespace orrery::study;

namespace {

network::DimensionSpec dimension(const std::string& topology, std::uint32_t size, std::int64_t bandwidth,
                                 std::int64_t latency) {
  network::DimensionSpec spec;
  spec.topology = network::topology_named(topology);
  spec.size = size;
  spec.bandwidth = Bandwidth(bandwidth);
  spec.latency = Duration(latency);
  return spec;
}

}  // namespace

TEST_CASE("no all-reduce is faster than the links of its ranks") {
  std::vector<DeviceId> devices;
  for (std::uint32_t i = 0; i < 8; ++i) devices.push_back(DeviceId(i));
  const workload::CallOperation all_reduce = workload::call_operation_named("all_reduce", "--op");
  const std::vector<network::DimensionSpec> one = {dimension("switch", 8, 1'000'000'000, 2'000'000)};
  // 2 * 7/8 of 8,000 bytes at 1 GB/s; a byte less than nothing takes as long as the way.
  CHECK(least_time(all_reduce, Bytes(8000), network::compose(one), devices) == Duration(14'000'000));
  CHECK(least_time(all_reduce, Bytes(8), network::compose(one), devices) == Duration(2'000'000));
  // Four on a fast dimension, two of those on one that is a hundredth: 2 * 1/2 of the buffer for each two, over four
  // links.
  const std::vector<network::DimensionSpec> two = {dimension("switch", 4, 100'000'000'000, 1000),
                                                   dimension("switch", 2, 1'000'000'000, 1000)};
  CHECK(least_time(all_reduce, Bytes(8000), network::compose(two), devices) == Duration(2'000'000));
  // A ring sends both ways.
  const std::vector<network::DimensionSpec> ring = {dimension("ring", 8, 1'000'000'000, 1000)};
  CHECK(least_time(all_reduce, Bytes(8000), network::compose(ring), devices) == Duration(7'000'000));
  CHECK_FALSE(least_time(workload::call_operation_named("broadcast", "--op"), Bytes(8), network::compose(one), devices));
}
