// SPDX-License-Identifier: MIT
// The ranks that act, one for each class: each starts what it can between the rounds of an instant, by itself, as a
// collective call or as a transfer, and goes on when that is done.
//
// A rank that computes and has nothing else under way runs ahead: until its computation ends nothing can happen to it,
// so that is booked at once, and so is the next computation, as long as there is just one thing to do and that is to
// compute. One event, when the last of them ends, stands for them all. What others ask of it meanwhile (that it come to
// a call) it takes note of, and decides on when its time has come.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "core/engine.h"
#include "core/ids.h"
#include "core/units.h"
#include "system/devices/operation_times.h"
#include "system/execution/contention.h"
#include "system/execution/observer.h"
#include "system/execution/ranks.h"
#include "system/execution/repetitions.h"
#include "system/folding/cast.h"
#include "workload/graph/job.h"

namespace orrery::system {

class Calls;
class Transfers;

class Agents final : private EventSink {
 public:
  // All outlive it; `calls` and `transfers` may be made after it.
  Agents(Engine& engine, Cast& cast, OperationTimes& times, Calls& calls, Transfers& transfers,
         SimulationObserver& observer, const CollectiveOptions& options);

  // Opens the first instant.
  void begin(const SimulationProgress& progress);
  // Starts what agents touched in this round can start. Call it in decide().
  void decide();
  // Starts that use a communicator or a pair of ranks for the first time, which may split classes: they wait until the
  // classes have been split.
  std::span<const Cast::FirstUse> first_uses() const { return first_uses_; }
  void split(const ClassSplit& split);
  void start_first_uses();
  // Starts calls that compete for a rank's queues, when there are no first uses. With first uses, such calls start
  // together with those that they compete with.
  void start_competing();
  // All that starts in this round has: computations beside which others' calls have begun or ended go on at another
  // speed.
  void adjust_speeds();
  // Nothing happens any more. Where every member waits in another call of a communicator, none has entered a call that
  // all of them could: then they join it. False where there is none, so that no order of the calls goes on from here.
  bool join_ready_calls();
  // A round in which nothing was delivered.
  void open_round() { engine_.after(Duration::zero(), *this, kNothing); }
  bool finished() const;
  // Before classes come apart, and at the end (Repetitions).
  void settle() { repetitions_.settle(); }
  void report_progress() const;

  // Events of an acting rank: a peer has entered its call `node`; all members have; the operation is done, with the
  // record for the observer.
  void call(RankId rank, NodeId node);
  void hold(RankId rank, NodeId node);
  // The call or send takes part of the rank's device, until it is done.
  void take_device(RankId rank, NodeId node, const collectives::DeviceShare& share);
  // Its send `node` waits for the receive to be posted; no longer.
  void await_receive(RankId rank, NodeId node);
  void moves(RankId rank, NodeId node) { agent(rank).execution.moves(node); }
  void complete(RankId rank, NodeId node, Time moving);

  // State of any rank.
  const RankExecution& execution(RankId rank) const { return agents_[cast_.agent_of(rank)].execution; }
  Time finish(RankId rank) const { return agents_[cast_.agent_of(rank)].finish; }
  Time last_step() const { return last_step_; }  // when an operation last started or ended

 private:
  // A repetition under way, which ends when it is due.
  struct Repeating {
    NodeId node{};
    EventHandle event{};
    Time due{};
  };
  struct Agent {
    RankId rank{};
    bool is_adjusted = false;  // computations may go on at another speed
    Time ahead_until = Time::min();
    std::span<const Duration> undisturbed;  // OperationTimes::undisturbed()
    RankExecution execution;
    Time finish{};
    DeviceUse device{};
    std::optional<Repeating> repetition{};
  };
  static constexpr std::uint64_t kNothing = UINT64_MAX;

  void on_event(std::uint64_t payload) override;
  void add_parts(std::uint64_t payload, std::vector<std::uint64_t>& parts) override;
  Agent& agent(RankId rank) { return agents_[cast_.agent_of(rank)]; }
  bool is_waiting_to_begin(RankId rank) const { return times_.start(rank) > engine_.now(); }
  void touch(std::uint32_t agent);
  void fetch(std::uint32_t agent) const;
  void issue(std::uint32_t agent);
  void start(std::uint32_t agent, NodeId node);
  void start_alone(std::uint32_t agent, NodeId node);
  bool may_run_ahead(const Agent& agent, NodeId node) const;
  void run_ahead(std::uint32_t agent, NodeId node);
  Duration time_alone(const Agent& agent, NodeId node, Time now);
  Duration time_of(Agent& agent, NodeId node, Time now);
  Duration with_host_wait(Agent& agent, NodeId node, Duration time, Time now);
  void compute(std::uint32_t agent, NodeId node, std::uint32_t processor_bound);
  void set_speed(Agent& agent, Computation& computation);
  void schedule(std::uint32_t agent, Computation& computation);
  void repeat(std::uint32_t agent, NodeId node);
  void schedule(std::uint32_t agent, Time end);
  void adjust_repetition(std::uint32_t agent);
  void adjust(std::uint32_t agent);
  Duration finish_computation(std::uint32_t agent, const Computation& computation);
  [[noreturn]] void refuse_time(std::uint32_t agent, NodeId node) const;
  void end(std::uint32_t agent, NodeId node);
  void end(std::uint32_t agent, NodeId node, Time moving, Time time, Duration slowed);
  void call_back(std::uint32_t agent);
  bool all_could_join(CallKey call) const;

  Engine& engine_;
  const workload::Job& job_;
  const CollectivePlans& plans_;
  std::span<const DeviceId> placement_;
  Cast& cast_;
  OperationTimes& times_;
  Calls& calls_;
  Transfers& transfers_;
  SimulationObserver& observer_;
  QueueScope scope_;
  bool contends_;  // calls take parts of devices from what is computed beside them
  Repetitions repetitions_;
  SimulationProgress progress_;
  std::vector<std::shared_ptr<const StreamTable>> streams_;  // by graph; one of all of a form
  std::vector<Agent> agents_;
  std::vector<std::uint32_t> touched_;
  std::vector<bool> is_touched_;  // by agent; of those that wait to begin, too: they are touched when they may
  std::vector<std::uint32_t> adjusted_;
  std::vector<Cast::FirstUse> first_uses_;  // in this round, of communicators and pairs of ranks
  std::vector<Cast::FirstUse> competing_;   // calls in this round, with QueueScope::kRank
  Time last_step_;
  std::uint64_t started_ = 0;               // operations
  std::optional<std::uint64_t> joined_at_;  // operations started and done when calls were last joined of necessity
  std::uint64_t nodes_done_ = 0;
  std::uint64_t nodes_total_ = 0;
};

}  // namespace orrery::system
