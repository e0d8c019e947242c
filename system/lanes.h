// The streams of a rank: which nodes of its graph run one after the other, and in which order. Computed once per graph,
// shared by all ranks that have it.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/ids.h"
#include "workload/execution_graph.h"

namespace orrery {

enum class LaneKind : std::uint8_t {
  kFree,          // free nodes: nothing is occupied
  kHost,          // the CPU: one node at a time, the ready one with the smallest id
  kCompute,       // one per device stream, in canonical order; nodes without a stream: the smallest ready id
  kMemory,        // remote memory: one node at a time, the smallest ready id
  kCommunicator,  // one per communicator: calls in canonical order, one at a time
  kSend,          // one per peer: in canonical order, the next starts when the last byte of the one before has left
  kReceive,       // one per peer: posted in canonical order, any number at a time
};

// "host", "compute", ...
std::string_view name_of(LaneKind kind);

struct Lane {
  LaneKind kind = LaneKind::kFree;
  std::uint32_t slot = 0;  // device stream, communicator slot or peer slot
  bool in_order = false;   // nodes start in the order of `sequence`
  bool exclusive = false;  // one at a time
};

class LaneTable {
 public:
  explicit LaneTable(const ExecutionGraph& graph);

  std::span<const Lane> lanes() const { return lanes_; }
  std::uint32_t lane_of(NodeId node) const { return lane_of_[index_of(node)]; }
  // The nodes of an in-order lane in canonical order; empty for the others.
  std::span<const NodeId> sequence(std::uint32_t lane) const;

 private:
  std::vector<Lane> lanes_;
  std::vector<std::uint32_t> lane_of_;
  std::vector<std::uint32_t> offsets_;  // per lane, into sequence_
  std::vector<NodeId> sequence_;
};

}  // namespace orrery
