// SPDX-License-Identifier: MIT
// Patterns of calls, which tie ranks together: calls for the same kind of collective, of any size, send the same
// messages to the same members. Communicators that are alike share the description.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "collectives/schedule.h"
#include "core/ids.h"
#include "network/fabric/fabric.h"
#include "system/plans/plans.h"
#include "workload/graph/job.h"
#include "workload/matching/matching.h"

namespace orrery::system {

// Kinds of messages in a rank's program of a schedule: messages of one kind differ only in their other ends (sends that
// start together, receives that are only waited for together).
class ProgramKinds {
 public:
  ProgramKinds(const collectives::Schedule& schedule, std::uint32_t rank);

  // Index of the first send, or receive, of the same kind as one by its index, or slot. In a uniform ring
  // (Schedule::is_uniform_ring) all are of kind 0: what holds for one step holds for all.
  std::uint32_t of_send(std::uint32_t index) const { return sends_.empty() ? 0 : sends_[index]; }
  std::uint32_t of_receive(std::uint32_t slot) const { return receives_.empty() ? 0 : receives_[slot]; }
  // Hash of the dependencies; equal for ranks whose programs are alike.
  std::uint64_t hash() const { return hash_; }
  bool operator==(const ProgramKinds&) const = default;

 private:
  std::vector<std::uint32_t> sends_;
  std::vector<std::uint32_t> receives_;
  std::uint64_t hash_ = 0;
};

// ProgramKinds of all ranks, by schedule.
class KindsOfRanks {
 public:
  // Kinds by rank. `is_complete`: the schedule is that of a complete exchange.
  using Ranks = std::vector<std::shared_ptr<const ProgramKinds>>;
  const Ranks& of(const collectives::Schedule& schedule, bool is_complete);

 private:
  std::map<const collectives::Schedule*, Ranks> kinds_;
};

struct Pattern {
  const CollectivePlan* plan = nullptr;  // of one of the calls
  std::uint64_t key = 0;                 // equal for equal patterns of other communicators
  std::vector<bool> is_complete;         // by phase: Schedule::is_complete_exchange(); at granularity `step`
};

// The way out of each of some devices, and the way into each: every route from one to another is the way out of the one
// and the way into the other.
struct Ways {
  std::vector<std::vector<LinkId>> out;
  std::vector<std::vector<LinkId>> in;
};
// Nothing if the routes are not of that kind. Looks at all of them, unless the devices share their switches.
std::optional<Ways> find_ways(std::span<const DeviceId> devices, const network::Fabric& fabric);

struct PatternMessage {
  std::uint32_t number = 0;  // among those of the pattern
  std::uint32_t phase = 0;
  std::uint32_t from = 0;  // members
  std::uint32_t to = 0;
  std::uint32_t send = 0;  // of the sender's program; 0 in a uniform ring, for all
  std::uint32_t slot = 0;  // at the receiver; 0 in a uniform ring
  bool is_uniform_ring = false;
};
// All messages of a pattern but for those of phases that are `left_out`, in a fixed order; those of a uniform ring's
// steps are one. For granularity `step`.
void for_each_message(const Pattern& pattern, const std::vector<bool>& left_out,
                      const std::function<void(const PatternMessage&)>& visit);
inline void for_each_message(const Pattern& pattern, const std::function<void(const PatternMessage&)>& visit) {
  for_each_message(pattern, {}, visit);
}

struct PatternLine {
  std::uint32_t number = 0;
  std::uint32_t phase = 0;
  std::span<const std::uint32_t> members;  // in the order of the line
};
// Visits all lines, for granularity `phase` and complete exchanges.
void for_each_line(const Pattern& pattern, const std::function<void(const PatternLine&)>& visit);

class Patterns {
 public:
  // `matching` and `plans` outlive it.
  Patterns(const workload::Matching& matching, CollectivePlans& plans, Granularity granularity);

  std::span<const Pattern> of(GroupId group) const { return tables_[table_of_[index_of(group)]].patterns; }
  // The pattern of a call, by its number among those.
  std::uint32_t of_call(GroupId group, std::uint32_t call) const;
  // Hash of all requested collectives; equal only for communicators with the same calls.
  std::uint64_t calls_hash(GroupId group) const { return tables_[table_of_[index_of(group)]].calls_hash; }

 private:
  struct Table {
    std::vector<Pattern> patterns;
    std::map<std::uint64_t, std::uint32_t> by_key;
    std::uint64_t calls_hash = 0;
  };

  Table make_table(GroupId group, CollectivePlans& plans) const;
  std::uint64_t key_of(const workload::CollectiveCall& call) const;

  const workload::Matching& matching_;
  Granularity granularity_;
  std::vector<Table> tables_;
  std::vector<std::uint32_t> table_of_;  // by communicator
};

// Calls that have all their links to themselves whenever their messages are sent, since no other communicator and no
// transfer ever crosses these links. Settled for the whole job, in use or not.
class PrivateCalls {
 public:
  // kRing: uniform rings in phases that do not wait for one another; each link is crossed by one message of the ring
  // and, in other calls, by messages of the same sender only. (Of two members that share a link, one may be in a call
  // while the other is still in the one before.) kLockstep: in lockstep (Schedule::is_lockstep), as long as the members
  // are together, too; of one step, each link is crossed by one message.
  enum class Kind : std::uint8_t { kNone, kRing, kLockstep };

  // At granularity `phase` there are none. Keeps no reference to what it is made from.
  PrivateCalls(const workload::Job& job, const network::Fabric& fabric, std::span<const DeviceId> placement,
               const CollectivePlans& plans, const Patterns& patterns, Granularity granularity);

  Kind of(GroupId group, std::uint32_t pattern) const {
    return kinds_.empty() ? Kind::kNone : kinds_[index_of(group)][pattern];
  }

 private:
  std::vector<std::vector<Kind>> kinds_;  // by communicator, by pattern; empty: none are private
};

}  // namespace orrery::system
