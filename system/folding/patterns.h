// What ties ranks together in the calls of a communicator: calls that ask for the same kind of collective, of whatever
// size, send the same messages to the same members. Communicators that are alike share the description.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <vector>

#include "core/ids.h"
#include "system/plans/plans.h"
#include "workload/matching/matching.h"

namespace orrery {

struct Pattern {
  const CollectivePlan* plan = nullptr;  // of one of the calls
  std::uint64_t key = 0;                 // equal for equal patterns of other communicators
};

struct PatternMessage {
  std::uint32_t number = 0;  // among those of the pattern
  std::uint32_t phase = 0;
  std::uint32_t from = 0;  // members
  std::uint32_t to = 0;
  std::uint32_t send = 0;  // of the sender's program; 0 in a uniform ring, for all
  std::uint32_t slot = 0;  // at the receiver; 0 in a uniform ring
  bool is_uniform_ring = false;
};
// All messages of a pattern, in a fixed order; those of a uniform ring's steps are one. For granularity `step`.
void for_each_message(const Pattern& pattern, const std::function<void(const PatternMessage&)>& visit);

struct PatternLine {
  std::uint32_t number = 0;
  std::uint32_t phase = 0;
  std::span<const std::uint32_t> members;  // in the order of the line
};
// Likewise all lines, for granularity `phase`.
void for_each_line(const Pattern& pattern, const std::function<void(const PatternLine&)>& visit);

class Patterns {
 public:
  // `matching` and `plans` outlive it.
  Patterns(const Matching& matching, CollectivePlans& plans, Granularity granularity);

  std::span<const Pattern> of(GroupId group) const { return tables_[table_of_[index_of(group)]].patterns; }
  // The pattern of a call, by its number among those.
  std::uint32_t of_call(GroupId group, std::uint32_t call) const;
  // What is asked for in all calls: equal only for communicators with the same calls.
  std::uint64_t calls_hash(GroupId group) const { return tables_[table_of_[index_of(group)]].calls_hash; }

 private:
  struct Table {
    std::vector<Pattern> patterns;
    std::map<std::uint64_t, std::uint32_t> by_key;
    std::uint64_t calls_hash = 0;
  };

  Table make_table(GroupId group, CollectivePlans& plans) const;
  std::uint64_t key_of(const CollectiveCall& call) const;

  const Matching& matching_;
  Granularity granularity_;
  std::vector<Table> tables_;
  std::vector<std::uint32_t> table_of_;  // by communicator
};

}  // namespace orrery
