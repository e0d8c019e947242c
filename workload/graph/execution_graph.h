// SPDX-License-Identifier: MIT
// Execution graph of one rank: compute, memory, collective, send and receive nodes, and the dependencies among them.
//
// A graph holds only what ranks that behave alike have in common. Communicators, peers, tags and roots appear as small
// local numbers, which a RankBinding (workload/graph/job.h) turns into those of a rank; ids and names are NodeLabels
// (workload/graph/node_labels.h). So the thousand ranks of a job share a handful of graphs. A graph is immutable and
// stored as structure of arrays; a column in which every node has the default is not stored. Graphs that differ in
// amounts of work only (durations, FLOPs, bytes, times of the host) share all the rest, their form, and nodes that have
// equal amounts in all of them have one amount number, by which amounts are stored.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
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

// Other amounts for a node.
struct ChangedNode {
  NodeId node{};
  GraphNode amounts{};  // all but amounts as the node has it
};

// Nodes are numbered in ascending order of their ids in the trace, so the order of NodeIds is the trace's own order.
class ExecutionGraph {
 public:
  std::size_t size() const { return form_->kinds.size(); }
  std::size_t edge_count() const { return form_->successors.size(); }

  NodeKind kind(NodeId node) const { return form_->kinds[index_of(node)]; }
  // The measured time of the node, if it has one. A compute node may have both a duration and FLOPs or bytes: which one
  // counts is the system's choice.
  std::optional<Duration> duration(NodeId node) const {
    const Duration duration = value_of(amounts_->durations, node);
    return duration == Duration::zero() ? std::nullopt : std::optional(duration);
  }
  Flops flops(NodeId node) const { return value_of(amounts_->flops, node); }
  // kCompute, kMemory*: bytes of the tensors touched. kSend, kReceive: of the message. kCollective: of the rank's own
  // input buffer (all-gather: the shard; reduce-scatter: the whole input; all-to-all: everything it sends and keeps).
  Bytes bytes(NodeId node) const { return value_of(amounts_->bytes, node); }
  // Larger is more urgent; 0 where the trace says nothing.
  std::uint32_t priority(NodeId node) const {
    return form_->priorities.empty() ? 0 : form_->priorities[index_of(node)];
  }
  // The device stream of a kCompute, kMemory* or communication node, 1 .. stream_count()-1; 0 where the trace has none.
  std::uint32_t stream(NodeId node) const { return form_->streams.empty() ? 0 : form_->streams[index_of(node)]; }
  std::uint32_t stream_count() const { return form_->stream_count; }

  std::span<const NodeId> successors(NodeId node) const {
    const std::uint32_t begin = form_->successor_offsets[index_of(node)];
    return std::span(form_->successors).subspan(begin, form_->successor_offsets[index_of(node) + 1] - begin);
  }
  std::uint32_t predecessor_count(NodeId node) const { return form_->predecessor_counts[index_of(node)]; }
  // The canonical topological order: always the smallest NodeId that is ready.
  std::span<const NodeId> order() const { return form_->order; }

  // Collectives are numbered 0 .. collectives().size()-1 by ascending NodeId.
  std::span<const NodeId> collectives() const { return form_->collective_nodes; }
  std::uint32_t collective_index(NodeId node) const;  // of a kCollective node
  CollectiveKind collective_kind(NodeId node) const { return form_->collective_kinds[collective_index(node)]; }
  std::uint32_t communicator_slot(NodeId node) const { return form_->collective_slots[collective_index(node)]; }
  // k: the node is the rank's k-th call on its communicator, counted from 0 in canonical order, or by NodeId where that
  // is what the members agree on (workload/matching/matching.h). It meets the k-th call of the other members.
  std::uint32_t call_index(NodeId node) const { return form_->call_indices[collective_index(node)]; }
  // The calls on one communicator slot by call_index.
  std::span<const NodeId> calls(std::uint32_t slot) const;
  std::uint32_t communicator_slots() const { return static_cast<std::uint32_t>(form_->call_offsets.size() - 1); }

  // Sends and receives together are numbered 0 .. transfers().size()-1 by ascending NodeId.
  std::span<const NodeId> transfers() const { return form_->transfer_nodes; }
  std::uint32_t transfer_index(NodeId node) const;  // of a kSend or kReceive node
  std::uint32_t peer_slot(NodeId node) const { return form_->peer_slots[transfer_index(node)]; }
  std::uint32_t peer_slots() const { return form_->peer_slot_count; }

  std::span<const Stretch> stretches() const { return form_->stretches; }
  std::optional<Repetition> repetition(NodeId node) const {
    if (form_->repetitions.empty() || form_->repetitions[index_of(node)] == 0) return std::nullopt;
    const std::uint32_t coded = form_->repetitions[index_of(node)] - 1;
    return Repetition{coded / 2, coded % 2 != 0};
  }
  // Number of the node in the program with all repetitions written out; a repetition has the number of its first node.
  std::uint32_t number(NodeId node) const {
    return form_->numbers.empty() ? index_of(node) : form_->numbers[index_of(node)];
  }
  std::uint32_t written_out_size() const;

  // True if the host takes time to launch some nodes.
  bool has_host() const { return amounts_->host_course != nullptr; }
  HostWork host(NodeId node) const {
    if (!has_host()) return {};
    return {value_of(amounts_->host_launches, node), value_of(amounts_->host_spans, node),
            form_->is_synchronisation[index_of(node)]};
  }
  // Time that the host is busy before it turns to the node, since the last synchronisation before that or the start.
  Duration host_before(NodeId node) const { return amounts_->host_course->before[index_of(node)]; }
  // Time that the host is busy, since the synchronisation before this one or the start, until it is through with the
  // computations in front of this one; zero where there are none.
  Duration host_through(std::uint32_t synchronisation) const { return amounts_->host_course->through[synchronisation]; }
  // Time by which the host runs ahead when `done` synchronisations are done: at the start and behind what comes before
  // the first computation just so much that this one does not wait for it, later none.
  Duration host_ahead(std::uint32_t done) const {
    return done <= amounts_->initial_synchronisations ? amounts_->host_ahead : Duration::zero();
  }
  // Nodes that synchronise, repetitions of such stretches among them, ascending; and how many of them come before a
  // node in the program.
  std::span<const NodeId> synchronisations() const { return form_->synchronisations; }
  std::uint32_t synchronisations_before(NodeId node) const;

  // GraphNode::processor_bound.
  std::optional<std::uint32_t> processor_bound(NodeId node) const {
    const std::uint32_t coded = value_of(amounts_->processor_bounds, node);
    return coded == 0 ? std::nullopt : std::optional(coded - 1);
  }
  bool has_processor_bounds() const { return !amounts_->processor_bounds.empty(); }

  GraphNode node(NodeId node) const;

  // Identity of the form: the same for graphs that share it.
  const void* form() const { return form_.get(); }
  // True if the other graph has the same form, and its sends and receives have the same sizes.
  bool has_same_transfers(const ExecutionGraph& other) const;
  std::uint64_t form_hash() const { return form_hash_; }
  // Takes the form of another graph where it is equal, so that both share it. Returns true if they do.
  bool share_form(const ExecutionGraph& other);
  // Nodes of one amount number, below amount_numbers(), are of one kind and have the same amounts in this graph and in
  // those that were made of it by with_amounts().
  std::uint32_t amount_number(NodeId node) const {
    return numbering_->of.empty() ? index_of(node) : numbering_->of[index_of(node)];
  }
  bool has_numbers_of(const ExecutionGraph& other) const { return numbering_ == other.numbering_; }
  std::uint32_t amount_numbers() const { return numbering_->count; }
  NodeId first_node(std::uint32_t amount_number) const {
    return numbering_->first_nodes.empty() ? NodeId(amount_number) : numbering_->first_nodes[amount_number];
  }
  std::uint32_t nodes_of(std::uint32_t amount_number) const {
    return numbering_->uses.empty() ? 1 : numbering_->uses[amount_number];
  }
  // The graph with other amounts for nodes and for all that have their amount numbers. Which nodes have a duration,
  // and which the host takes time for, has to stay.
  ExecutionGraph with_amounts(std::span<const ChangedNode> changed) const;

  std::uint64_t content_hash() const { return hash_; }
  bool operator==(const ExecutionGraph& other) const;
  // Memory that the graph occupies, edges included.
  std::size_t memory_bytes() const;

 private:
  friend class GraphBuilder;
  ExecutionGraph() = default;

  struct Form {
    // The columns that the others follow from: the order, and what is derived from kinds and slots.
    auto content() const {
      return std::tie(kinds, priorities, streams, successor_offsets, successors, collective_kinds, collective_slots,
                      call_indices, peer_slots, repetitions, numbers, synchronisations);
    }

    std::vector<NodeKind> kinds;
    std::vector<std::uint32_t> priorities;  // empty: all zero
    std::vector<std::uint32_t> streams;     // empty: all zero
    std::uint32_t stream_count = 1;
    std::vector<std::uint32_t> ordinals;  // collective_index or transfer_index of communication nodes; empty: none

    std::vector<std::uint32_t> successor_offsets;  // size() + 1
    std::vector<NodeId> successors;                // ascending within a node
    std::vector<std::uint32_t> predecessor_counts;
    std::vector<NodeId> order;

    std::vector<NodeId> collective_nodes;
    std::vector<CollectiveKind> collective_kinds;
    std::vector<std::uint32_t> collective_slots;
    std::vector<std::uint32_t> call_indices;
    std::vector<std::uint32_t> call_offsets{0};  // per slot, into calls
    std::vector<NodeId> calls;

    std::vector<NodeId> transfer_nodes;
    std::vector<std::uint32_t> peer_slots;
    std::uint32_t peer_slot_count = 0;

    std::vector<Stretch> stretches;
    std::vector<std::uint32_t> repetitions;  // 0: none; else 1 + twice the stretch, and one more of a rest; empty: none
    std::vector<std::uint32_t> numbers;      // empty: those of the nodes

    std::vector<NodeId> synchronisations;
    std::vector<bool> is_synchronisation;  // by node, of those that are no repetitions; empty: the host takes no time
  };
  // Amount numbers. All columns are empty where every node has a number of its own, which is its NodeId.
  struct Numbering {
    std::vector<std::uint32_t> of;  // by node
    std::uint32_t count = 0;
    std::vector<std::uint32_t> uses;     // nodes by number
    std::vector<NodeId> first_nodes;     // by number
    std::vector<std::uint64_t> weights;  // by number: see content_hash_of()
  };
  // Consequences of the times of launches.
  struct HostCourse {
    std::vector<Duration> before;   // by node
    std::vector<Duration> through;  // by synchronisation
  };
  // Columns by amount number; one is empty if all are zero.
  struct Amounts {
    auto content() const { return std::tie(durations, flops, bytes, host_launches, host_spans, processor_bounds); }

    std::vector<Duration> durations;  // zero: not measured
    std::vector<Flops> flops;
    std::vector<Bytes> bytes;
    std::vector<Duration> host_launches;
    std::vector<Duration> host_spans;
    std::vector<std::uint32_t> processor_bounds;      // 0: not known; else 1 more than the share
    std::shared_ptr<const HostCourse> host_course{};  // null: the host takes no time
    Duration host_ahead{};
    std::uint32_t initial_synchronisations = 0;  // before the first computation
  };

  template <class Value>
  Value value_of(const std::vector<Value>& column, NodeId node) const {
    return column.empty() ? Value{} : column[amount_number(node)];
  }
  static void store_amounts(Amounts& amounts, std::uint32_t number, std::uint32_t numbers, const GraphNode& node);
  void derive_host(Amounts& amounts, const Amounts* alike) const;
  HostCourse host_course_of(const Amounts& amounts) const;
  // Change of the time that the host is busy since its last synchronisation, by what it launches.
  struct HostEffect {
    bool synchronises = false;
    Duration busy{};  // more; or since the last synchronisation, if there is one

    Duration after(Duration before) const { return synchronises ? busy : saturating_add(before, busy); }
    HostEffect then(const HostEffect& next) const;
  };
  HostEffect host_effect(const Amounts& amounts, NodeId node, std::span<const HostEffect> of_stretches) const;
  std::vector<HostEffect> host_effects_of_stretches(const Amounts& amounts) const;
  std::uint64_t content_hash_of(const Amounts& amounts) const;

  std::shared_ptr<const Form> form_ = std::make_shared<const Form>();
  std::shared_ptr<const Numbering> numbering_ = std::make_shared<const Numbering>();
  std::shared_ptr<const Amounts> amounts_ = std::make_shared<const Amounts>();
  std::uint64_t form_hash_ = 0;
  std::uint64_t hash_ = 0;
};

}  // namespace orrery::workload
