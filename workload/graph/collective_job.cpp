// SPDX-License-Identifier: MIT
#include "workload/graph/collective_job.h"

#include <array>
#include <utility>

#include "core/assert.h"
#include "workload/graph/builder.h"

namespace orrery::workload {
namespace {

Job on_the_world(ExecutionGraph graph, NodeLabels labels, std::uint32_t ranks) {
  Job job;
  job.graphs.push_back(std::move(graph));
  job.labels.push_back(std::move(labels));
  job.ranks.resize(ranks);
  Communicator world{"world", {}};
  for (std::uint32_t rank = 0; rank < ranks; ++rank) world.members.push_back(RankId(rank));
  job.communicators.push_back(std::move(world));
  return job;
}

}  // namespace

Job collective_job(CollectiveKind kind, Bytes bytes, std::uint32_t ranks) {
  ORRERY_ASSERT(ranks >= 1);
  GraphBuilder graph;
  GraphNode call;
  call.kind = NodeKind::kCollective;
  call.collective = kind;
  call.bytes = bytes;
  graph.add(call);
  const std::array<NodeLabel, 1> labels = {{{0, name_of(kind)}}};
  Job job = on_the_world(std::move(graph).build(), NodeLabels(labels), ranks);
  for (RankBinding& rank : job.ranks) rank.communicators = {GroupId(0)};
  return job;
}

Job neighbour_job(Bytes bytes, std::uint32_t ranks) {
  ORRERY_ASSERT(ranks >= 2);
  GraphBuilder graph;
  GraphNode transfer;
  transfer.bytes = bytes;
  for (const NodeKind kind : {NodeKind::kSend, NodeKind::kReceive}) {
    transfer.kind = kind;
    graph.add(transfer);
    ++transfer.slot;
  }
  const std::array<NodeLabel, 2> labels = {{{0, "send"}, {1, "receive"}}};
  Job job = on_the_world(std::move(graph).build(), NodeLabels(labels), ranks);
  for (std::uint32_t rank = 0; rank < ranks; ++rank)
    job.ranks[rank].peers = {RankId((rank + 1) % ranks), RankId((rank + ranks - 1) % ranks)};
  return job;
}

Job compute_job(std::string_view name, std::span<const Duration> times, std::span<const std::uint32_t> graphs) {
  ORRERY_ASSERT(!times.empty());
  Job job;
  for (const Duration time : times) {
    GraphBuilder graph;
    GraphNode compute;
    compute.kind = NodeKind::kCompute;
    compute.duration = time;
    graph.add(compute);
    if (job.graphs.empty()) {
      const std::array<NodeLabel, 1> labels = {{{0, name}}};
      job = on_the_world(std::move(graph).build(), NodeLabels(labels), static_cast<std::uint32_t>(graphs.size()));
    } else {
      job.graphs.push_back(std::move(graph).build());
    }
  }
  for (std::size_t rank = 0; rank < graphs.size(); ++rank) job.ranks[rank].graph = graphs[rank];
  return job;
}

}  // namespace orrery::workload
