// SPDX-License-Identifier: MIT
#include "astra/answer/timeline.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "core/files/trace_events.h"

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

}  // namespace

void write_timeline(const Job& job, const Result& result, std::size_t most_ranks,
                    const std::function<void(std::string_view)>& write) {
  TraceEvents events(write);
  for (std::size_t agent = 0; agent < std::min(result.agents.size(), most_ranks); ++agent) {
    const std::uint32_t rank = result.agents[agent];
    const RankProgram& own = job.ranks[rank];
    events.process(rank, fmt::format("rank {}", rank));
    for (std::size_t track = 0; track < kTracks.size(); ++track) events.thread(rank, track, kTracks[track]);
    for (const Operation& operation : result.operations[agent]) {
      const Node& node = job.programs[own.program].nodes[operation.node];
      events.slice({rank, track_of(node), trace_time_of_nanoseconds(operation.start)},
                   trace_time_of_nanoseconds(operation.end - operation.start), name_of_slice(node, own),
                   fmt::format(R"("node":{},"bytes":{})", node.id, node.bytes));
    }
  }
  events.end();
}

}  // namespace orrery::astra
