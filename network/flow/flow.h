// SPDX-License-Identifier: MIT
// The flow model: messages are fluids that share every link of their route, max-min fair (network/flow/solver.h), from
// first to last byte. Rates are solved again when messages come and go: all changes of an instant at once, and only
// where they make a difference. A message that shares nothing takes what it takes in the alpha-beta
// model, to the picosecond.
//
// Rates are whole bytes per second and what is left is counted in bytes * picoseconds / second, exactly
// (network/flow/ends.h); so results depend neither on the order of messages nor on how often rates are solved.
//
// A group of messages is many connections, of which each is as good as another's on the link where they meet: on every
// link its load is a flow of its own, with the share of so many messages as it has connections there. The flows of one
// group do not wait for one another; it ends with the last.
//
// When the bandwidth of a link changes, all flows leave their links and come back with what they still have to go:
// nothing is remembered of what they had before.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/engine.h"
#include "core/slab.h"
#include "network/fabric/fabric.h"
#include "network/flow/ends.h"
#include "network/flow/graph.h"
#include "network/flow/solver.h"
#include "network/flow/uncontended.h"
#include "network/network.h"
#include "network/path_table.h"

namespace orrery::network {

// When the bandwidth of a link that has flows changes next: the job does not wait for links that nobody uses.
class ChangeAlarm {
 public:
  // Calls `sink` with `payload` then.
  void set(Engine& engine, EventSink& sink, std::uint64_t payload, FlowGraph& graph);
  // It was called.
  void rang() { due_ = Time::max(); }

 private:
  Time due_ = Time::max();
  EventHandle event_;  // then
};

class FlowNetwork : public Network, private EventSink {
 public:
  // Both outlive the network.
  FlowNetwork(Engine& engine, const Fabric& fabric);

  Time start(const Message& message) override;
  Duration count_private(PathId path, Bytes bytes, std::uint64_t messages) override;
  bool count_groups(PathId path, std::uint64_t groups) override;
  std::optional<Duration> time_alone(PathId path, Bytes bytes) override;
  void split(std::span<const LinkSplit> links) override;
  void settle() override;
  PagedArray<LinkUsage> usage() const override;

 private:
  // Payloads: flows that share links end, the bandwidth of a link changes, or one of uncontended_ ends.
  static constexpr std::uint64_t kEnds = 0;
  static constexpr std::uint64_t kChange = 1;
  static constexpr std::uint64_t kUncontended = std::uint64_t{1} << 32;

  // Recipient of a flow's end.
  struct Owner {
    MessageRecipient* recipient = nullptr;
    std::uint32_t id = 0;
    PathId path{};
    std::uint32_t group = kNoIndex;  // in groups_, of a flow that is part of one
    std::uint32_t load = 0;          // then: of its path
  };
  struct Group {
    std::size_t flows = 0;  // that have not ended
  };
  // Work that is taken off its links while classes split.
  struct Moving {
    Int128 left;  // as Flow::end has it
    Owner owner;
    LinkLoad load{};  // of part of a group
  };

  void on_event(std::uint64_t payload) override;
  std::uint32_t create(const UncontendedFlow& message);
  void share(const UncontendedFlow& message);
  std::vector<Moving> left_of_group(const UncontendedFlow& message);
  std::uint32_t create_part(const Moving& part);
  void adopt(const UncontendedFlow& message);
  void change_links();
  std::vector<Moving> take_off();
  void put_back(const Moving& message);
  void put_back(std::span<const Moving> moving, std::span<const LinkSplit> links);
  void join(std::uint32_t flow);
  void share(std::uint32_t flow);
  void share_links(std::uint32_t flow);
  void remove(std::uint32_t flow);
  void end(std::uint32_t flow);

  FlowGraph graph_;
  FlowEnds ends_;
  FlowSolver solver_;
  UncontendedFlows uncontended_;
  std::vector<Owner> owners_;  // by flow
  Slab<Group> groups_;         // of which flows share links, or may
  ChangeAlarm change_;
  std::vector<UncontendedFlow> started_;  // in this instant, on no link yet
  std::vector<std::uint32_t> ending_;     // scratch of on_event()
  std::vector<Owner> ended_;              // scratch of on_event()
};

}  // namespace orrery::network
