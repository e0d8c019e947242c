// SPDX-License-Identifier: MIT
// Runs collective calls: the table of those under way (call_table.h), the queues in which their chunks take turns,
// and how members go through a phase (chunk_queues.h).
//
// A call that may be fast-forwarded is not simulated message by message: when the last member has entered, the same
// recurrence that the messages would go through gives the end of each.
#pragma once

#include <cstdint>
#include <memory>

#include "core/engine.h"
#include "core/ids.h"
#include "network/network.h"
#include "system/execution/call_table.h"
#include "system/execution/chunk_queues.h"
#include "system/folding/cast.h"
#include "system/plans/plan.h"

namespace orrery::system {

class Calls {
 public:
  // All outlive it.
  Calls(Engine& engine, Cast& cast, Agents& agents, const CollectiveOptions& options);

  // An acting rank comes to its call `node`.
  void enter(RankId rank, NodeId node);
  // All members of a call may join it.
  void announce(CallKey call) { table_.announce(call); }
  // Members that were touched decide; done members are reported. Call it in decide().
  void advance() { queues_.advance(); }
  // All that enter in this round have. Call it in decide().
  void close_round() { table_.close_round(); }
  // Calls to which the last member came in the round before are held. Call it first in decide(), and in settle().
  bool hold_assembled() { return table_.hold_assembled(); }
  // Accounts for a call that is repeated so many times: messages, and what links carry. No event comes of it. False if
  // that cannot be told from its plan, which may_count() mostly says before.
  bool count(CallKey key, std::uint64_t times);
  bool may_count(CallKey key);
  // Called when nothing happens any more; returns false if it cannot help (ChunkQueues).
  bool relieve() { return queues_.relieve(); }
  // Communicators have come apart, or are described anew.
  void split(const ClassSplit& split) {
    table_.split(split, *runner_);
    queues_.split();
  }
  // Messages that were sent, of all members.
  std::uint64_t messages() const { return runner_->messages() + fast_forwarded_; }
  // Messages of calls whose times followed from a recurrence, or that were counted for a repetition.
  std::uint64_t fast_forwarded() const { return fast_forwarded_; }

 private:
  void fast_forward(std::uint32_t call);
  // Accounts for a phase of a call that all members enter as one, so many times; how long it takes.
  Duration count_together(const CallCast& cast, std::uint32_t phase, std::uint64_t times);

  const Engine& engine_;
  network::Network& network_;
  Cast& cast_;
  const Granularity granularity_;
  const QueueScope queue_scope_;
  CallTable table_;
  std::unique_ptr<Runner> runner_;
  ChunkQueues queues_;
  std::uint64_t fast_forwarded_ = 0;  // messages, of those that are repeated too
};

}  // namespace orrery::system
