// SPDX-License-Identifier: MIT
// Writes a rank's program node by node, in the order in which the rank's own framework would launch it. What follows
// waits for what is before it, unless it is put beside.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "workload/graph/builder.h"
#include "workload/training/program/stage_program.h"

namespace orrery::workload {

// The computation `node` with this cost; a node of no time is a kNoOp.
GraphNode with_cost(const Cost& cost, GraphNode node);

class ProgramWriter {
 public:
  using Nodes = std::vector<NodeId>;

  ProgramWriter() = default;
  // The host takes time to launch what is communicated, too.
  explicit ProgramWriter(const HostSpec& host) : host_(host) {}

  // Nodes that the next node in line waits for.
  const Nodes& tail() const { return tail_; }
  void set_tail(Nodes nodes) { tail_ = std::move(nodes); }
  // The next node in line waits for this one too.
  void join(NodeId node) { tail_.push_back(node); }
  // Number of nodes so far, which is the next one's NodeId; and with all repetitions written out.
  std::uint32_t size() const { return count_; }
  std::uint32_t written_out_size() const { return written_out_size_; }

  // Marks the start of the next iteration; nodes before the first mark belong to none.
  void begin_iteration();

  // Place in the job of the nodes that are written, which the program's marks tell. The iteration is
  // begin_iteration()'s.
  struct Place {
    std::optional<Pass> pass{};  // none: of no pass
    std::int64_t layer = -1;     // number of the transformer layer; -1: of none
    PassRole role = PassRole::kInLine;
  };
  const Place& place() const { return place_; }
  // Nodes are written in `place` while it lives.
  class Within {
   public:
    Within(ProgramWriter& writer, const Place& place) : writer_(writer), outer_(writer.place_) {
      writer_.move_to(place);
    }
    // Marks the same pass and layer, with another part in it.
    Within(ProgramWriter& writer, PassRole role) : Within(writer, {writer.place_.pass, writer.place_.layer, role}) {}
    ~Within() { writer_.move_to(outer_); }
    Within(const Within&) = delete;
    Within& operator=(const Within&) = delete;

   private:
    ProgramWriter& writer_;
    const Place outer_;
  };

  // In line: waits for the tail, and is the tail from then on. Work of no time and no size is written too.
  NodeId compute(std::string_view name, const Cost& cost);
  NodeId collective(std::string_view name, GroupFamily family, CollectiveKind kind, Bytes bytes);
  // Work of the host itself. One that synchronises launches nothing that comes behind the node before that is done.
  NodeId host(std::string_view name, Duration time, bool synchronises);
  // Beside: waits for `after`, and the tail stays as it is.
  NodeId compute_beside(std::string_view name, const Cost& cost, const Nodes& after);
  NodeId collective_beside(std::string_view name, GroupFamily family, CollectiveKind kind, Bytes bytes,
                           const Nodes& after);
  NodeId send_beside(std::string_view name, Peer peer, Bytes bytes, std::int64_t tag, const Nodes& after);
  NodeId receive_beside(std::string_view name, Peer peer, Bytes bytes, std::int64_t tag, const Nodes& after);

  // On the host, and between remote memory and the device.
  NodeId host_beside(std::string_view name, Duration time, const Nodes& after);
  // Between the device and its host's memory, by the copy engine of that direction.
  NodeId copy_beside(std::string_view name, NodeKind kind, Bytes bytes, Duration time, const Nodes& after);
  NodeId load_beside(std::string_view name, Bytes bytes, const Nodes& after);
  NodeId store_beside(std::string_view name, Bytes bytes, const Nodes& after);

  // All nodes from `first` on as a stretch, with the tail as its tail.
  std::uint32_t stretch_from(std::uint32_t first);
  // In line: the stretch once more, until its tail is done. And beside: from there until all of it is.
  NodeId repeat(std::uint32_t stretch);
  NodeId rest_beside(std::uint32_t stretch, NodeId repetition);

  // Number of a name, by which nodes get it faster.
  using Name = std::uint32_t;
  Name name(std::string_view text);
  std::string_view text(Name name) const { return texts_[name]; }
  // The next node that is written has an amount number of its own (GraphBuilder::add_apart).
  void next_apart() { is_apart_ = true; }
  // Beside: the node once more, under this name.
  NodeId again_beside(NodeId node, Name name, const Nodes& after);
  // The next node in line waits for this one alone.
  void go_on_behind(NodeId node) { tail_.assign(1, node); }

  void updates(const WeightUpdate& update) { updates_.push_back(update); }

  StageProgram take() &&;

 private:
  NodeId write(std::string_view name, const GraphNode& node, const Nodes& after);
  NodeId append(NodeId node, Name name, const Nodes& after);
  void move_to(const Place& place) {
    place_ = place;
    is_marked_ = false;
  }
  void mark();
  std::uint32_t slot_of(GroupFamily family);
  std::uint32_t slot_of(Peer peer);
  GraphNode transfer(NodeKind kind, Peer peer, Bytes bytes, std::int64_t tag);
  HostWork launch_of_communication(bool is_within_layers) const;
  HostWork launch_of(GroupFamily family) const;
  HostWork launch_of(Peer peer) const;

  HostSpec host_;
  GraphBuilder graph_;
  std::uint32_t count_ = 0;
  std::uint32_t written_out_size_ = 0;
  std::vector<std::uint32_t> stretch_sizes_;
  Nodes tail_;
  struct TextHash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
  };
  std::unordered_map<std::string, Name, TextHash, std::equal_to<>> known_names_;
  std::vector<std::string_view> texts_;  // by name
  std::vector<Name> names_;              // by node
  std::vector<GroupFamily> communicators_;
  std::vector<Peer> peers_;
  std::vector<std::int64_t> tags_;
  std::vector<NodeId> iteration_starts_;
  std::vector<WeightUpdate> updates_;
  std::uint32_t initial_ = 0;  // nodes before the first iteration
  bool has_begun_ = false;     // it has
  std::uint32_t iteration_ = 0;
  Place place_;
  bool is_marked_ = false;  // marks_ tell the place
  bool is_apart_ = false;   // the next node
  ProgramMarks marks_;
};

}  // namespace orrery::workload
