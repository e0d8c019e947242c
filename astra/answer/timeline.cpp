// SPDX-License-Identifier: MIT
#include "astra/answer/timeline.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

namespace orrery::astra {
namespace {

constexpr std::array<std::string_view, 4> kTracks = {"host", "compute", "communication", "receive"};

std::size_t track_of(const Node& node) {
  if (node.on_host) return 0;
  if (node.kind == NodeKind::kCompute) return 1;
  return node.kind == NodeKind::kReceive ? 3 : 2;
}

std::string name_of_slice(const Node& node, const RankProgram& own) {
  if (node.kind == NodeKind::kCollective && node.comm != CommKind::kBroadcast) {
    const std::uint64_t group = own.groups.empty() ? 0 : own.groups[node.slot];  // replayed ones have none
    return group == 0 ? std::string(name_of(node.comm)) : fmt::format("{}, group {}", name_of(node.comm), group);
  }
  if (node.kind == NodeKind::kCollective) return std::string(name_of(node.comm));
  if (node.kind == NodeKind::kSend && !own.peers.empty()) return fmt::format("send to {}", own.peers[node.slot]);
  if (node.kind == NodeKind::kReceive && !own.peers.empty())
    return fmt::format("receive from {}", own.peers[node.slot]);
  return std::string(name_of(node.kind));
}

// Microseconds, which is what the format has.
std::string microseconds(Ticks time) { return fmt::format("{}.{:03}", time / 1000, time % 1000); }

}  // namespace

std::string timeline_text(const Job& job, const Result& result, std::size_t most_ranks) {
  std::string text = "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[";
  std::string_view comma = "\n";
  const auto add = [&](const std::string& event) {
    text += comma;
    text += event;
    comma = ",\n";
  };
  for (std::size_t agent = 0; agent < std::min(result.agents.size(), most_ranks); ++agent) {
    const std::uint32_t rank = result.agents[agent];
    const RankProgram& own = job.ranks[rank];
    add(fmt::format(R"({{"ph":"M","name":"process_name","pid":{0},"args":{{"name":"rank {0}"}}}})", rank));
    add(fmt::format(R"({{"ph":"M","name":"process_sort_index","pid":{0},"args":{{"sort_index":{0}}}}})", rank));
    for (std::size_t track = 0; track < kTracks.size(); ++track)
      add(fmt::format(R"({{"ph":"M","name":"thread_name","pid":{},"tid":{},"args":{{"name":"{}"}}}})", rank, track,
                      kTracks[track]));
    for (const Operation& operation : result.operations[agent]) {
      const Node& node = job.programs[own.program].nodes[operation.node];
      add(fmt::format(R"({{"ph":"X","name":"{}","pid":{},"tid":{},"ts":{},"dur":{},"args":{{"node":{},"bytes":{}}}}})",
                      name_of_slice(node, own), rank, track_of(node), microseconds(operation.start),
                      microseconds(operation.end - operation.start), node.id, node.bytes));
    }
  }
  return text + "\n]}\n";
}

}  // namespace orrery::astra
