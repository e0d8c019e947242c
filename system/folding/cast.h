// SPDX-License-Identifier: MIT
// Cast of a simulation: every rank acts for itself, or one acts for all that behave alike (system/folding/folding.h).
// Execution asks the cast and need not know which: without folding everybody is alone in its class, which is computed
// when asked, without tables. Terms: an agent is a rank that acts for its class. A home is the communicator whose calls
// are simulated for all that are like it. A seat is one of its members that acts, and the holder of a seat is that
// member's rank.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/ids.h"
#include "core/small_vector.h"
#include "core/units.h"
#include "network/fabric/fabric.h"
#include "network/network.h"
#include "system/folding/folding.h"
#include "system/plans/plan.h"
#include "system/plans/plans.h"
#include "workload/graph/job.h"
#include "workload/matching/matching.h"

namespace orrery::system {

// Folding of ranks that behave alike, so that they are simulated once.
enum class FoldMode : std::uint8_t { kAuto, kOff };

// An instant at which classes of ranks came apart: how many there were from then on, and what was first used: one of
// the communicators or pairs of ranks, and how many more.
struct FoldingStep {
  // The first rank of a class that is new, and the first of the class that it was part of.
  struct Apart {
    RankId rank{};
    RankId from{};
  };
  Time time;
  std::uint32_t rank_classes_before = 0;
  std::uint32_t rank_classes = 0;
  std::string first_used;
  std::vector<Apart> came_apart;  // the first 16
};

// One call of a home communicator.
struct CallKey {
  GroupId group{};
  std::uint32_t index = 0;  // k-th call

  auto operator<=>(const CallKey&) const = default;
};

// Message that one send of a seat starts in a phase.
struct Outgoing {
  std::uint32_t receiver = 0;  // seat
  network::PathId path{};
  std::uint64_t count = 1;           // messages that it stands for; 0: an earlier send of the seat starts it
  const MessageClass* of = nullptr;  // of jobs that are folded
};

// Acting members of those calls of a home communicator that share a plan. A seat is a member that acts.
class CallCast {
 public:
  // Both outlive it. `devices` by member.
  CallCast(const CollectivePlan& plan, std::span<const DeviceId> devices) : plan_(plan), devices_(devices) {}
  virtual ~CallCast() = default;

  const CollectivePlan& plan() const { return plan_; }
  std::span<const DeviceId> devices() const { return devices_; }
  virtual std::uint32_t seats() const = 0;
  virtual std::uint32_t member(std::uint32_t seat) const = 0;
  std::uint32_t position(std::uint32_t seat) const { return plan_.layout->position_of[member(seat)]; }
  // Message of send `send` of the seat's program, to `to` on its line. At granularity `step`.
  virtual Outgoing outgoing(std::uint32_t phase, std::uint32_t seat, std::uint32_t send, std::uint32_t to) const = 0;
  // The seat's line. At granularity `phase`.
  virtual const LineClass& line(std::uint32_t phase, std::uint32_t seat) = 0;
  // All that the seat starts in a phase, where classes have come apart. At granularity `step`.
  virtual std::vector<const MessageClass*> messages(std::uint32_t phase, std::uint32_t seat) const = 0;
  // Calls of one chunk on links of their own (PrivateCalls), of which no other call of the communicator can be under
  // way: what they take follows from when its members enter. What is no ring is so as long as there is one seat.
  virtual bool is_fast_forwarded() const = 0;

 private:
  const CollectivePlan& plan_;
  std::span<const DeviceId> devices_;
};

// Input of the cast. All outlive the cast.
struct CastInput {
  const workload::Job& job;
  const workload::Matching& matching;
  const network::Fabric& fabric;
  std::span<const DeviceId> placement;  // by rank
  CollectivePlans& plans;
  network::Network& network;
};

struct CastOptions {
  FoldMode fold = FoldMode::kOff;
  bool fast_forward = true;  // folded calls whose ends follow from their entries are not simulated step by step
};

// Initial differences of ranks, beside their graphs.
struct RankColours {
  std::vector<std::uint64_t> colours;  // by rank
  std::string what;                    // " and what disturbs them"
};

class Cast {
 public:
  virtual ~Cast() = default;
  const CastInput& input() const { return input_; }

  // Agents are the classes of ranks; the first rank of a class acts.
  virtual std::uint32_t agents() const = 0;
  virtual std::uint32_t agent_of(RankId rank) const = 0;
  virtual RankId first_rank(std::uint32_t agent) const = 0;
  RankId acting(RankId rank) const { return first_rank(agent_of(rank)); }

  // The communicator whose calls are those of `group` and all like it.
  virtual GroupId home_of(GroupId group) const = 0;
  // Place of an acting rank in the communicator of one of its slots: the communicator's home, and the rank's seat
  // there.
  struct Membership {
    GroupId home{};
    std::uint32_t seat = 0;
  };
  virtual Membership membership(RankId rank, std::uint32_t communicator_slot) const = 0;
  // Stays where it is.
  CallCast& call(CallKey call);
  // Rank that holds a seat of a call.
  RankId holder(CallKey key, std::uint32_t seat) {
    return input_.job.communicators[index_of(key.group)].members[call(key).member(seat)];
  }

  // True if the members of a home communicator act as one, and so far only its calls have crossed their links.
  virtual bool is_alone(GroupId home) const = 0;

  // Number of messages that this send of an acting rank starts; 0 if an earlier send already started the shared one.
  virtual std::uint64_t started_by(RankId from, NodeId send) const = 0;
  // Path of a send that starts a message, all sends of the rank in that message, and its receiver.
  virtual network::PathId path(RankId from, NodeId send) const = 0;
  using Sends = SmallVector<NodeId, 2>;
  virtual Sends sends_with(RankId from, NodeId send) const = 0;
  using Ends = SmallVector<workload::TransferEnd, 1>;
  virtual Ends ends_of(RankId from, NodeId send) const = 0;

  // True if the node's communicator or pair of ranks has been used before. A first use may tell apart who was alike.
  virtual bool is_in_use(RankId rank, NodeId node) const = 0;
  struct FirstUse {
    RankId rank{};
    NodeId node{};
  };
  // Brings into use what acting ranks, and all for whom they act, are about to use; returns what came apart, which
  // stays until the next time. Between two rounds.
  const ClassSplit& bring_into_use(std::span<const FirstUse> uses, Time now);
  const ClassSplit& latest_split() const { return split_; }
  // The sends that start what the message of a send has come apart into by the latest split, itself first.
  virtual std::vector<FirstUse> parts_of(RankId from, NodeId send) const = 0;

  virtual bool is_folded() const = 0;
  // "16 classes of 1024 ranks: ...", so far, or why the job was not folded.
  virtual std::string text() const = 0;
  // Whenever classes came apart, in order.
  std::span<const FoldingStep> steps() const { return steps_; }
  // The link that is simulated for `link`, and how many classes there are of links that messages cross.
  virtual LinkId acting(LinkId link) const = 0;
  // The links from `link` on, so many, are used as those from `first` on are, in order.
  virtual LinkBlock block_of(LinkId link) const = 0;
  virtual std::uint32_t link_classes() const = 0;

 protected:
  explicit Cast(const CastInput& input);

  const CastInput input_;

 private:
  virtual std::unique_ptr<CallCast> make_call(CallKey call, const CollectivePlan& plan) = 0;
  virtual std::uint32_t use(FirstUse use) = 0;
  virtual ClassSplit refine() = 0;

  ClassSplit split_;
  std::vector<FoldingStep> steps_;
  // Casts of the calls that were made, by communicator and CollectivePlans::plan_number().
  std::unordered_map<GroupId, std::vector<std::unique_ptr<CallCast>>> casts_;
};

// Folds unless `options.fold` is off, the network tells all messages apart, or there is too much to compare. Throws
// InputError when the job is not folded and there are too many messages to simulate one by one.
std::unique_ptr<Cast> make_cast(const CastInput& input, const CastOptions& options, Granularity granularity,
                                const RankColours& own);

// The two of them.
std::unique_ptr<Cast> every_rank(const CastInput& input, std::string why);
std::unique_ptr<Cast> folded_cast(const CastInput& input, bool fast_forward, Granularity granularity,
                                  const RankColours& own);

}  // namespace orrery::system
