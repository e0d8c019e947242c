// SPDX-License-Identifier: MIT
// Progress of one rank in its graph: nodes that wait for others or for their stream, and nodes that run. Decides
// nothing by time; it only keeps when nodes were taken.
//
// Which calls of a communicator belong together is settled before (workload/matching/matching.h); when a rank starts
// its part is decided here. A communicator runs one call at a time. But while a call still waits for members, the rank
// must be able to join another one that a peer has already entered: ranks may come to their calls in different orders,
// and would else wait for each other for ever.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "core/ids.h"
#include "core/paged.h"
#include "core/units.h"
#include "system/plans/plan.h"
#include "workload/graph/execution_graph.h"

namespace orrery::system {

// Resource that a node occupies. Host: the CPU, one node at a time, the ready one with the smallest id. Compute: a
// stream of the device, in canonical order; nodes without a stream: the smallest ready id. Memory, remote: one node at
// a time, the smallest ready id. Collective: a communicator, one call at a time, the smallest ready id (see
// RankExecution::call), or any number of them. Send: a peer, the smallest ready id, the next starts when the last byte
// of the one before has left, or while that waits for its receive. Receive: posted when ready, any number at a time.
// No-op: nothing is occupied. A computation behind one that the host synchronises with is launched when that is done.
struct Stream {
  workload::NodeKind kind = workload::NodeKind::kNoOp;  // kMemoryLoad for stores too
  std::uint32_t slot = 0;                               // device stream, communicator slot or peer slot
  bool in_order = false;                                // nodes start in the order of `sequence`
  bool exclusive = false;                               // one at a time
};

// The streams of a rank: which nodes of its graph run one after the other, and in which order. Computed once per graph,
// shared by all ranks that have it.
class StreamTable {
 public:
  StreamTable(const workload::ExecutionGraph& graph, QueueScope scope);

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

class RankExecution {
 public:
  enum class State : std::uint8_t { kBlocked, kReady, kRunning, kDone };

  // Both outlive it.
  RankExecution(const workload::ExecutionGraph& graph, const StreamTable& streams);

  // A node that can start now, which counts as running from here on; nothing when none can. Within a stream nodes come
  // in the stream's order; streams do not compete.
  std::optional<NodeId> take(Time now);
  // `node` was running and is done now: its stream is free, its successors have one thing less to wait for. Returns
  // when it was taken. `synchronised`: when the host went on, if the node is one that it waits for.
  Time complete(NodeId node, Time now) { return complete(node, now, now); }
  Time complete(NodeId node, Time now, Time synchronised);

  // The rank begins at `time`, and its host with it.
  void begin_at(Time time) { synchronised_ += time.time_since_epoch(); }
  // Wait of the computation `node`, taken at `now` and of `time`, for the host to launch its kernels: it ends that much
  // later. One whose time is another than its graph's has kernels that are as much longer or shorter.
  Duration host_wait(NodeId node, Duration time, Time now) const;
  // The running computation `node` is so long in waiting.
  void wait_for_host(NodeId node, Duration wait) { nodes_.open(index_of(node)).waits = wait; }
  // The time at which the host turns to `node`, once what it synchronises with before is done.
  Time host_turns_to(NodeId node) const { return synchronised_ + graph_->host_before(node); }

  // A peer has entered the collective call `node`: it may run beside calls that still wait for members.
  void call(NodeId node);
  // All members of the running call `node` have come: until it is done, nothing joins it.
  void hold(NodeId node);
  // The running send `node` waits for its receive: until it moves the peer's next send may start.
  void await_receive(NodeId node);
  void moves(NodeId node) { std::erase(stream_states_[streams_->stream_of(node)].waiting, node); }

  bool finished() const { return done_ == graph_->size(); }
  std::size_t done() const { return done_; }
  // True if the target of the node's stream (a communicator, a peer) has been noted as in use.
  bool is_in_use(NodeId node) const { return stream_states_[streams_->stream_of(node)].in_use; }
  void note_use(NodeId node) { stream_states_[streams_->stream_of(node)].in_use = true; }

  // True if the repetition taken last had to wait for its stream.
  bool has_waited() const { return has_waited_; }
  // Number of nodes on the stream of `node` that have run or are running; empty if a ready one waits for the stream, or
  // runs.
  std::optional<std::uint32_t> runs_if_free(NodeId node) const;
  bool is_wanted(NodeId node) const { return !stream_states_[streams_->stream_of(node)].ready.empty(); }

  // For reports. kReady: nothing to wait for but the stream.
  State state(NodeId node) const;
  // Start of a running node: the time when it was taken.
  Time taken(NodeId node) const { return nodes_.find(index_of(node))->taken; }
  // Time from which a running computation no longer waits for the host.
  Time moving(NodeId node) const {
    const Node* running = nodes_.find(index_of(node));
    return running->taken + running->waits;
  }
  const workload::ExecutionGraph& graph() const { return *graph_; }

 private:
  struct StreamState {
    std::uint32_t cursor = 0;  // in-order: next of the sequence
    std::uint32_t running = 0;
    std::uint32_t runs = 0;  // so far
    bool touched = false;
    bool in_use = false;
    std::vector<NodeId> ready;    // others: heap, smallest id first
    std::vector<NodeId> called;   // calls that peers have entered and this rank has not
    std::vector<NodeId> held;     // running calls whose members have all come
    std::vector<NodeId> waiting;  // running sends whose receive is not posted
  };

  struct Node {
    std::uint32_t predecessors_done = 0;  // or kRunning, kDone
    Time taken;
    Duration waits{};  // for the host
  };

  void make_ready(NodeId node, Time now);
  bool is_behind_host(NodeId node) const;
  void touch(std::uint32_t stream);
  std::optional<NodeId> take_from(std::uint32_t stream);
  static std::optional<NodeId> take_called(StreamState& stream);

  static constexpr std::uint32_t kRunning = UINT32_MAX - 1;
  static constexpr std::uint32_t kDone = UINT32_MAX;

  const workload::ExecutionGraph* graph_;
  const StreamTable* streams_;
  Paged<Node> nodes_;
  std::vector<StreamState> stream_states_;
  std::vector<std::uint32_t> touched_;
  std::size_t done_ = 0;
  std::vector<std::pair<NodeId, Time>> ready_repetitions_;  // and since when
  bool has_waited_ = false;
  std::uint32_t synchronisations_ = 0;  // done
  Time synchronised_;                   // when the host went on behind the last of them
};

}  // namespace orrery::system
