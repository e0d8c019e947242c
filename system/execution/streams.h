// The streams of a rank: which nodes of its graph run one after the other, and in which order. Computed once per graph,
// shared by all ranks that have it.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/ids.h"
#include "workload/graph/execution_graph.h"

namespace orrery {

enum class StreamKind : std::uint8_t {
  kNoOp,          // no-ops: nothing is occupied
  kHost,          // the CPU: one node at a time, the ready one with the smallest id
  kCompute,       // one per device stream, in canonical order; nodes without a stream: the smallest ready id
  kMemory,        // remote memory: one node at a time, the smallest ready id
  kCommunicator,  // one per communicator: one call at a time, the smallest ready id (see RankExecution::call)
  kSend,          // one per peer: the smallest ready id, the next starts when the last byte of the one before has left
  kReceive,       // one per peer: posted when ready, any number at a time
};

struct Stream {
  StreamKind kind = StreamKind::kNoOp;
  std::uint32_t slot = 0;  // device stream, communicator slot or peer slot
  bool in_order = false;   // nodes start in the order of `sequence`
  bool exclusive = false;  // one at a time
};

// Whether each call of a communicator slot waits for the one before, directly or not, so that two are never under way.
bool calls_are_in_sequence(const ExecutionGraph& graph, std::uint32_t communicator_slot);

class StreamTable {
 public:
  explicit StreamTable(const ExecutionGraph& graph);

  std::span<const Stream> streams() const { return streams_; }
  std::uint32_t stream_of(NodeId node) const { return stream_of_[index_of(node)]; }
  // The nodes of an in-order stream in canonical order; empty for the others.
  std::span<const NodeId> sequence(std::uint32_t stream) const;

 private:
  std::vector<Stream> streams_;
  std::vector<std::uint32_t> stream_of_;
  std::vector<std::uint32_t> offsets_;  // per stream, into sequence_
  std::vector<NodeId> sequence_;
};

}  // namespace orrery
