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
#include "core/small_vector.h"
#include "core/units.h"
#include "system/execution/host_progress.h"
#include "system/plans/plan.h"
#include "workload/graph/execution_graph.h"

namespace orrery::system {

// Resource that a node occupies. Host: the CPU, one node at a time, the ready one with the smallest id. Compute: a
// stream of the device, in canonical order; nodes without a stream: the smallest ready id. Memory, remote: one node at
// a time, the smallest ready id. Collective: a communicator, one call at a time, the smallest ready id (see
// RankExecution::call), or any number of them. Send: a peer, the smallest ready id, the next starts when the last byte
// of the one before has left, or while that waits for its receive. Receive: posted when ready, any number at a time.
// No-op: nothing is occupied. A computation behind nodes that the host synchronises with is launched when all of them
// are done.
struct Stream {
  workload::NodeKind kind = workload::NodeKind::kNoOp;  // kMemoryLoad for stores too
  std::uint32_t slot = 0;                               // device stream, communicator slot or peer slot
  bool in_order = false;                                // nodes start in the order of `sequence`
  bool exclusive = false;                               // one at a time
};

// A node as execution sees it: all that is asked of it at every step, side by side.
struct ProgramStep {
  std::uint32_t stream = 0;
  std::uint32_t predecessors = 0;
  std::span<const NodeId> successors;
  workload::NodeKind kind = workload::NodeKind::kNoOp;
  bool is_repetition = false;
};

// The streams of a rank: which nodes of its graph run one after the other, and in which order; and what is to be known
// of each node. Computed once per form of graphs, shared by all ranks that have such a one.
class StreamTable {
 public:
  // The form of `graph` outlives it.
  StreamTable(const workload::ExecutionGraph& graph, QueueScope scope);

  const ProgramStep& step(NodeId node) const { return steps_[index_of(node)]; }
  std::span<const Stream> streams() const { return streams_; }
  // The nodes of an in-order stream in canonical order; empty for the others.
  std::span<const NodeId> sequence(std::uint32_t stream) const;
  // Streams of computations; and number of computations up to each of graph.synchronisations(), with that itself.
  std::span<const std::uint32_t> computing() const { return computing_; }
  std::span<const std::uint32_t> computations_up_to() const { return computations_up_to_; }

 private:
  std::vector<ProgramStep> steps_;  // by node
  std::vector<Stream> streams_;
  std::vector<std::uint32_t> offsets_;  // per stream, into sequence_
  std::vector<NodeId> sequence_;
  std::vector<std::uint32_t> computing_;
  std::vector<std::uint32_t> computations_up_to_;
};

class RankExecution {
 public:
  enum class State : std::uint8_t { kBlocked, kReady, kRunning, kDone };

  // Both outlive it.
  RankExecution(const workload::ExecutionGraph& graph, const StreamTable& streams);

  // A node that can start now, which counts as running from here on; nothing when none can. Within a stream nodes come
  // in the stream's order; streams do not compete.
  std::optional<NodeId> take(Time now);
  // The node that take() would return, if there is just one and nothing runs.
  std::optional<NodeId> only_next() const;
  // `node` was running and is done now: its stream is free, its successors have one thing less to wait for. Returns
  // when it was taken. `synchronised`: when the host went on, if the node is one that it waits for.
  Time complete(NodeId node, Time now) { return complete(node, now, now); }
  Time complete(NodeId node, Time now, Time synchronised);

  // The rank begins at `time`, and its host with it.
  void begin_at(Time time) { host_.begin_at(time); }
  // Wait of the computation `node`, taken at `now` and of `time`, for the host to launch its kernels: it ends that much
  // later. One whose time is another than its graph's has kernels that are as much longer or shorter.
  Duration host_wait(NodeId node, Duration time, Time now) const;
  // The running computation `node` is so long in waiting.
  void wait_for_host(NodeId node, Duration wait) { run_of(node).waits = wait; }
  // The time at which the host turns to the computation `node`, once what it synchronises with before is done.
  Time host_turns_to(NodeId node) const { return host_.turns_to(*graph_, node); }

  // A peer has entered the collective call `node`: it may run beside calls that still wait for members.
  void call(NodeId node);
  // All members of the running call `node` have come: until it is done, nothing joins it.
  void hold(NodeId node);
  // The running send `node` waits for its receive: until it moves the peer's next send may start.
  void await_receive(NodeId node);
  void moves(NodeId node);

  bool finished() const { return done_ == graph_->size(); }
  std::size_t done() const { return done_; }
  // Number of nodes that run.
  std::uint32_t running() const { return running_; }
  // True if the target of the node's stream (a communicator, a peer) has been noted as in use.
  bool is_in_use(NodeId node) const { return stream_states_[stream_of(node)].in_use; }
  void note_use(NodeId node) { stream_states_[stream_of(node)].in_use = true; }

  // True if the repetition taken last had to wait for its stream.
  bool has_waited() const { return has_waited_; }
  // Number of nodes on the stream of `node` that have run or are running; empty if a ready one waits for the stream, or
  // runs.
  std::optional<std::uint32_t> runs_if_free(NodeId node) const;
  bool is_wanted(NodeId node) const { return !stream_states_[stream_of(node)].ready.empty(); }

  // For reports. kReady: nothing to wait for but the stream.
  State state(NodeId node) const;
  // Start of a running node: the time when it was taken.
  Time taken(NodeId node) const { return run_of(node).taken; }
  // Time from which a running computation no longer waits for the host.
  Time moving(NodeId node) const { return run_of(node).taken + run_of(node).waits; }
  const ProgramStep& step(NodeId node) const { return streams_->step(node); }
  const workload::ExecutionGraph& graph() const { return *graph_; }

 private:
  struct StreamState {
    std::uint32_t runs = 0;  // that have started; in-order: place of the next in the sequence
    std::uint32_t running = 0;
    std::uint32_t held = 0;        // running calls whose members have all come
    std::uint32_t waiting = 0;     // running sends whose receive is not posted
    SmallVector<NodeId, 2> ready;  // not in-order: heap, smallest id first
    bool touched = false;
    bool in_use = false;
  };

  // A node that runs.
  struct Run {
    Time taken;
    Duration waits{};  // for the host
    bool is_held = false;
    bool is_waiting = false;
    std::uint32_t next_free = kNone;  // once it is done
  };

  // State that is kept of each node: how many of its predecessors are done; or, while it runs, kRunning and which of
  // runs_ it is; or kDone.
  static constexpr std::uint32_t kNone = UINT32_MAX;
  static constexpr std::uint32_t kDone = UINT32_MAX;
  static constexpr std::uint32_t kRunning = 1u << 31;

  std::uint32_t stream_of(NodeId node) const { return step(node).stream; }
  Run& run_of(NodeId node) { return runs_[*nodes_.find(index_of(node)) - kRunning]; }
  const Run& run_of(NodeId node) const { return runs_[*nodes_.find(index_of(node)) - kRunning]; }
  std::uint32_t begin_run(Time now);
  void end_run(const Run& run, StreamState& stream);
  void make_ready(NodeId node, Time now);
  void touch(std::uint32_t stream);
  std::optional<NodeId> choose(std::uint32_t stream) const;
  std::optional<NodeId> choose_called(std::uint32_t stream) const;
  void leave_ready(NodeId node, StreamState& stream);
  void note_repetition(NodeId node, Time now);

  const workload::ExecutionGraph* graph_;
  const StreamTable* streams_;
  std::vector<StreamState> stream_states_;
  Paged<std::uint32_t> nodes_;
  SmallVector<Run, 3> runs_;  // with those that are free
  std::uint32_t free_run_ = kNone;
  std::uint32_t running_ = 0;
  SmallVector<std::uint32_t, 4> touched_;  // streams
  SmallVector<NodeId, 2> called_;          // calls that peers have entered and this rank has not
  std::size_t done_ = 0;
  HostProgress host_;
  std::vector<std::pair<NodeId, Time>> ready_repetitions_;  // and since when
  bool has_waited_ = false;
};

}  // namespace orrery::system
