// SPDX-License-Identifier: MIT
// Simulates jobs whose computations hosts launch and calls slow down, which no trace has: reads them from standard
// input, as launched.py writes them, and prints rank, node, start, moving and end (ps) of each operation, and an empty
// line behind each job.
//
// A job is lines of words; durations are in ps:
//   job RANKS
//   calls TIME PROCESSORS MEMORY_RATE     every call takes so long from when its last member has come
//   sends TIME PROCESSORS                 every send likewise
//   group RANK...                         communicators are numbered from 1 on; 0 is the world
//   launched RANK TIME LAUNCHES SPAN SYNCHRONISES BOUND AFTER...
//   host RANK TIME SYNCHRONISES AFTER...
//   call RANK GROUP SYNCHRONISES AFTER...
//   send | receive RANK PEER AFTER...
//   end
#include <cstdint>
#include <iostream>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "system/plans/group_library.h"
#include "tests/system/small_jobs.h"

using namespace orrery;
using namespace orrery::test;

namespace {

class SteadyLibrary final : public system::GroupLibrary {
 public:
  Duration call_time{}, send_time{};
  collectives::DeviceShare call_takes{};
  std::uint32_t send_processors = 0;

  collectives::Aggregate transfer(CollectiveKind, Bytes, std::uint32_t, const system::GroupLayout&) const override {
    return {collectives::NodePattern::kRing, Bytes(0), Bytes(0), call_time, {}, call_takes};
  }
  system::PointToPoint point_to_point(Bytes bytes, bool, Duration) const override {
    return {send_time, bytes, false, send_processors};
  }
};

template <typename T>
T next(std::istringstream& words) {
  T value{};
  words >> value;
  return value;
}

Duration next_time(std::istringstream& words) { return Duration(next<std::int64_t>(words)); }

std::vector<NodeId> nodes(std::istringstream& words) {
  std::vector<NodeId> after;
  for (std::uint32_t node = 0; words >> node;) after.push_back(NodeId(node));
  return after;
}

void add_node(JobBuilder& builder, const std::string& kind, std::istringstream& words) {
  const auto rank = next<std::uint32_t>(words);
  if (kind == "launched") {
    const Duration time = next_time(words);
    workload::HostWork host;
    host.launches = next_time(words);
    host.span = next_time(words);
    host.synchronises = next<bool>(words);
    const auto bound = next<std::uint32_t>(words);
    builder.launched(rank, time, host, nodes(words), bound);
  } else if (kind == "host") {
    const Duration time = next_time(words);
    const bool synchronises = next<bool>(words);
    builder.host(rank, time, nodes(words), synchronises);
  } else if (kind == "call") {
    const auto group = next<std::uint32_t>(words);
    const bool synchronises = next<bool>(words);
    const std::vector<NodeId> after = nodes(words);
    builder.collective(rank, CollectiveKind::kAllReduce, Bytes(1), GroupId(group), after, 0, synchronises);
  } else {
    const auto other = next<std::uint32_t>(words);
    if (kind == "send") builder.send(rank, other, Bytes(1), nodes(words));
    if (kind == "receive") builder.receive(rank, other, Bytes(1), nodes(words));
  }
}

void print_times(const workload::Job& job, const SteadyLibrary& library) {
  system::SimulationOptions options;
  options.collectives.library = &library;
  options.collectives.granularity = system::Granularity::kPhase;
  const auto ranks = static_cast<std::uint32_t>(job.ranks.size());
  // A byte over such links takes a picosecond.
  const network::Fabric fabric = one_dimension("switch", ranks, Bandwidth(1'000'000'000'000), Duration::zero());
  const Outcome outcome = simulate(job, fabric, options);
  for (std::uint32_t rank = 0; rank < ranks; ++rank)
    for (const system::OperationRecord& record : outcome.log.of(outcome.totals.acting[rank]))
      std::cout << rank << ' ' << index_of(record.node) << ' ' << record.start.time_since_epoch().count() << ' '
                << record.moving.time_since_epoch().count() << ' ' << record.end.time_since_epoch().count() << '\n';
  std::cout << '\n';
}

}  // namespace

int main() {
  std::optional<JobBuilder> builder;
  SteadyLibrary library;
  for (std::string line; std::getline(std::cin, line);) {
    std::istringstream words(line);
    const auto kind = next<std::string>(words);
    if (kind == "job") {
      builder.emplace(next<std::uint32_t>(words));
    } else if (kind == "calls") {
      library.call_time = next_time(words);
      library.call_takes.processors = next<std::uint32_t>(words);
      library.call_takes.memory_rate = next<std::int64_t>(words);
    } else if (kind == "sends") {
      library.send_time = next_time(words);
      library.send_processors = next<std::uint32_t>(words);
    } else if (kind == "group") {
      std::vector<std::uint32_t> members;
      for (std::uint32_t rank = 0; words >> rank;) members.push_back(rank);
      builder->group(std::to_string(members.size()), members);
    } else if (kind == "end") {
      print_times(builder->build(), library);
    } else {
      add_node(*builder, kind, words);
    }
  }
}
