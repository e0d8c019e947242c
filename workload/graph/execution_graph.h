// SPDX-License-Identifier: MIT
// Execution graph of one rank: compute, memory, collective, send and receive nodes, and the dependencies among them.
//
// A graph holds only what ranks that behave alike have in common. Communicators, peers, tags and roots appear as small
// local numbers, which a RankBinding (workload/graph/job.h) turns into those of a rank; ids and names are NodeLabels
// (workload/graph/node_labels.h). So the thousand ranks of a job share a handful of graphs. A graph is immutable and
// stored as structure of arrays; a column in which every node has the default is not stored.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <tuple>
#include <vector>

#include "core/collective_kind.h"
#include "core/ids.h"
#include "core/units.h"

namespace orrery::workload {

enum class NodeKind : std::uint8_t {
  kNoOp,         // takes no time: only orders what is around it
  kHostCompute,  // on the host CPU
  kCompute,      // on the device
  kMemoryLoad,   // from remote memory to the device
  kMemoryStore,  // from the device to remote memory
  kCollective,
  kSend,
  kReceive,
  kCopyToHost,    // from the device to its host's memory, by a copy engine; always timed
  kCopyToDevice,  // back, by another
};

inline constexpr std::size_t kNodeKindCount = 10;

// "free", "host compute", "compute", "memory load", ...
std::string_view name_of(NodeKind kind);

// True for what runs on, or is launched from, one of the device's streams.
bool is_on_device(NodeKind kind);

inline constexpr bool is_transfer(NodeKind kind) { return kind == NodeKind::kSend || kind == NodeKind::kReceive; }
inline constexpr bool is_host_copy(NodeKind kind) {
  return kind == NodeKind::kCopyToHost || kind == NodeKind::kCopyToDevice;
}
inline constexpr bool is_communication(NodeKind kind) { return kind == NodeKind::kCollective || is_transfer(kind); }

// Largest size of a message or of a node's tensors: 1 EiB, so that products with a few ranks fit 64 bits. Whoever reads
// sizes from outside refuses more.
inline constexpr Bytes kMostNodeBytes{std::int64_t{1} << 60};

// A stretch of a program that it goes through again: nodes that follow one another in number, have only themselves to
// wait for, but for the first of them, which wait for what the stretch waits for, and call collectives at most. In it
// runs what its nodes ran, at the same distances in time; so it need not be written out.
struct Stretch {
  NodeId first{};
  std::uint32_t count = 0;
  std::vector<NodeId> tail;  // the nodes that what comes after it waits for

  bool holds(NodeId node) const { return index_of(node) - index_of(first) < count; }
  bool operator==(const Stretch&) const = default;
};

// A kCompute node that stands for a stretch, gone through once more: until its tail is done, or from then on until all
// of it is.
struct Repetition {
  std::uint32_t stretch = 0;
  bool is_rest = false;

  bool operator==(const Repetition&) const = default;
};

// Work of the rank's host for a node. The host launches kernels one after the other, in the order of the nodes, and
// runs ahead of the device, which cannot start what has not been launched.
struct HostWork {
  Duration launches{};  // time that the host is busy with the node
  Duration span{};      // kCompute: from when it turns to the node to the node's end, if nothing else holds that up
  bool synchronises = false;  // kCompute, kCollective, kHostCompute: the host goes on when the node is done

  bool operator==(const HostWork&) const = default;
};

// A share of 1, of GraphNode::processor_bound.
inline constexpr std::uint32_t kWholeShare = 1U << 16;

// One node by value: what a GraphBuilder takes.
struct GraphNode {
  NodeKind kind = NodeKind::kNoOp;
  std::optional<Duration> duration{};  // as measured; never zero
  Flops flops{};                       // of a compute node; 0 = unknown
  Bytes bytes{};                       // compute and memory: of the tensors touched; else of the message (see bytes())
  CollectiveKind collective = CollectiveKind::kAllReduce;
  std::uint32_t slot = 0;  // kCollective: local communicator; kSend, kReceive: local peer
  std::uint32_t stream = 0;
  std::uint32_t priority = 0;
  std::optional<Repetition> repetition{};
  HostWork host{};  // none: it was launched in time, as in traces; a repetition has that of its stretch
  // kCompute: share of `duration` that its kernels need multiprocessors for, in kWholeShare; for the rest they need
  // memory bandwidth. None: not known, as in traces.
  std::optional<std::uint32_t> processor_bound{};

  bool operator==(const GraphNode&) const = default;
};

// Nodes are numbered in ascending order of their ids in the trace, so the order of NodeIds is the trace's own order.
class ExecutionGraph {
 public:
  std::size_t size() const { return kinds_.size(); }
  std::size_t edge_count() const { return successors_.size(); }

  NodeKind kind(NodeId node) const { return kinds_[index_of(node)]; }
  // The measured time of the node, if it has one. A compute node may have both a duration and FLOPs or bytes: which one
  // counts is the system's choice.
  std::optional<Duration> duration(NodeId node) const;
  Flops flops(NodeId node) const { return flops_.empty() ? Flops() : flops_[index_of(node)]; }
  // kCompute, kMemory*: bytes of the tensors touched. kSend, kReceive: of the message. kCollective: of the rank's own
  // input buffer (all-gather: the shard; reduce-scatter: the whole input; all-to-all: everything it sends and keeps).
  Bytes bytes(NodeId node) const { return bytes_[index_of(node)]; }
  // Larger is more urgent; 0 where the trace says nothing.
  std::uint32_t priority(NodeId node) const { return priorities_.empty() ? 0 : priorities_[index_of(node)]; }
  // The device stream of a kCompute, kMemory* or communication node, 1 .. stream_count()-1; 0 where the trace has none.
  std::uint32_t stream(NodeId node) const { return streams_.empty() ? 0 : streams_[index_of(node)]; }
  std::uint32_t stream_count() const { return stream_count_; }

  std::span<const NodeId> successors(NodeId node) const;
  std::uint32_t predecessor_count(NodeId node) const { return predecessor_counts_[index_of(node)]; }
  // The canonical topological order: always the smallest NodeId that is ready.
  std::span<const NodeId> order() const { return order_; }

  // Collectives are numbered 0 .. collectives().size()-1 by ascending NodeId.
  std::span<const NodeId> collectives() const { return collective_nodes_; }
  std::uint32_t collective_index(NodeId node) const;  // of a kCollective node
  CollectiveKind collective_kind(NodeId node) const { return collective_kinds_[collective_index(node)]; }
  std::uint32_t communicator_slot(NodeId node) const { return collective_slots_[collective_index(node)]; }
  // k: the node is the rank's k-th call on its communicator, counted from 0 in canonical order, or by NodeId where that
  // is what the members agree on (workload/matching/matching.h). It meets the k-th call of the other members.
  std::uint32_t call_index(NodeId node) const { return call_indices_[collective_index(node)]; }
  // The calls on one communicator slot by call_index.
  std::span<const NodeId> calls(std::uint32_t slot) const;
  std::uint32_t communicator_slots() const { return static_cast<std::uint32_t>(call_offsets_.size() - 1); }

  // Sends and receives together are numbered 0 .. transfers().size()-1 by ascending NodeId.
  std::span<const NodeId> transfers() const { return transfer_nodes_; }
  std::uint32_t transfer_index(NodeId node) const;  // of a kSend or kReceive node
  std::uint32_t peer_slot(NodeId node) const { return peer_slots_[transfer_index(node)]; }
  std::uint32_t peer_slots() const { return peer_slot_count_; }

  std::span<const Stretch> stretches() const { return stretches_; }
  std::optional<Repetition> repetition(NodeId node) const;
  // Number of the node in the program with all repetitions written out; a repetition has the number of its first node.
  std::uint32_t number(NodeId node) const { return numbers_.empty() ? index_of(node) : numbers_[index_of(node)]; }
  std::uint32_t written_out_size() const;

  // True if the host takes time to launch some nodes.
  bool has_host() const { return !host_before_.empty(); }
  HostWork host(NodeId node) const;
  // Time that the host is busy before it turns to the node, since the last synchronisation before that or the start.
  Duration host_before(NodeId node) const { return host_before_[index_of(node)]; }
  // Time by which the host runs ahead when `done` synchronisations are done: at the start and behind what comes before
  // the first computation just so much that this one does not wait for it, later none.
  Duration host_ahead(std::uint32_t done) const {
    return done <= initial_synchronisations_ ? host_ahead_ : Duration::zero();
  }
  // Nodes that synchronise, repetitions of such stretches among them, ascending.
  std::span<const NodeId> synchronisations() const { return synchronisations_; }

  // GraphNode::processor_bound.
  std::optional<std::uint32_t> processor_bound(NodeId node) const {
    if (processor_bounds_.empty() || processor_bounds_[index_of(node)] == 0) return std::nullopt;
    return processor_bounds_[index_of(node)] - 1;
  }
  bool has_processor_bounds() const { return !processor_bounds_.empty(); }

  GraphNode node(NodeId node) const;

  std::uint64_t content_hash() const { return hash_; }
  bool operator==(const ExecutionGraph& other) const;
  // Memory that the graph occupies, edges included.
  std::size_t memory_bytes() const;

 private:
  friend class GraphBuilder;
  ExecutionGraph() = default;

  // The columns that the others follow from: the order, and what is derived from kinds and slots.
  auto content() const {
    return std::tie(kinds_, durations_, flops_, bytes_, priorities_, streams_, successor_offsets_, successors_,
                    collective_kinds_, collective_slots_, call_indices_, peer_slots_, repetitions_, numbers_,
                    host_launches_, host_spans_, synchronisations_, processor_bounds_);
  }

  std::vector<NodeKind> kinds_;
  std::vector<Duration> durations_;  // zero: not measured; empty: none is
  std::vector<Flops> flops_;         // empty: all zero
  std::vector<Bytes> bytes_;
  std::vector<std::uint32_t> priorities_;  // empty: all zero
  std::vector<std::uint32_t> streams_;     // empty: all zero
  std::uint32_t stream_count_ = 1;
  std::vector<std::uint32_t> ordinals_;  // collective_index or transfer_index of communication nodes; empty: none

  std::vector<std::uint32_t> successor_offsets_;  // size() + 1
  std::vector<NodeId> successors_;                // ascending within a node
  std::vector<std::uint32_t> predecessor_counts_;
  std::vector<NodeId> order_;

  std::vector<NodeId> collective_nodes_;
  std::vector<CollectiveKind> collective_kinds_;
  std::vector<std::uint32_t> collective_slots_;
  std::vector<std::uint32_t> call_indices_;
  std::vector<std::uint32_t> call_offsets_{0};  // per slot, into calls_
  std::vector<NodeId> calls_;

  std::vector<NodeId> transfer_nodes_;
  std::vector<std::uint32_t> peer_slots_;
  std::uint32_t peer_slot_count_ = 0;

  std::vector<Stretch> stretches_;
  std::vector<std::uint32_t> repetitions_;  // 0: none; else 1 + twice the stretch, and one more of a rest; empty: none
  std::vector<std::uint32_t> numbers_;      // empty: those of the nodes

  std::vector<Duration> host_launches_;  // empty: all zero
  std::vector<Duration> host_spans_;     // likewise
  std::vector<NodeId> synchronisations_;
  std::vector<Duration> host_before_;  // empty: the host takes no time
  Duration host_ahead_{};
  std::uint32_t initial_synchronisations_ = 0;   // before the first computation
  std::vector<std::uint32_t> processor_bounds_;  // 0: not known; else 1 more than the share; empty: none is known

  std::uint64_t hash_ = 0;
};

}  // namespace orrery::workload
