// SPDX-License-Identifier: MIT
// Runs a job by the programs of its ranks rather than by time: each rank that acts goes on along its program, ahead of
// the clock, until it needs what another has not given yet; who gives it has it go on. The result does not depend on
// the order. Ranks that work together are run next to one another, so that what they know stays in the cache.
//
// The engine's clock is left to what cannot be known ahead: messages on links that others use as well, and, of what is
// computed while a call or a send of the rank may begin or end beside it, the end.
//
// All communicators and pairs of ranks are in use from the start, so no classes come apart on the way.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "core/engine.h"
#include "core/ids.h"
#include "core/slab.h"
#include "core/units.h"
#include "network/network.h"
#include "system/devices/operation_times.h"
#include "system/execution/contention.h"
#include "system/execution/observer.h"
#include "system/execution/stretch_courses.h"
#include "system/folding/cast.h"
#include "system/plans/plan.h"
#include "system/tape/program.h"

namespace orrery::system {

class Tape final : private EventSink, private network::MessageRecipient, private InstantObserver {
 public:
  // All outlive it. Nothing has run on the engine.
  Tape(Engine& engine, Cast& cast, OperationTimes& times, const CollectiveOptions& options);
  ~Tape();

  // Reason why the job needs the engine alone; empty if it ran. Nobody is told until tell().
  std::string_view run(const SimulationProgress& progress);
  // False as long as nothing has changed in what it was made from.
  bool has_begun() const { return has_begun_; }
  // Tells all operations, rank after rank, and counts what the links have carried.
  void tell(SimulationObserver& observer);

  Time finish(RankId rank) const { return agents_[cast_.agent_of(rank)].finish; }
  std::uint64_t messages() const { return messages_sent_; }
  // Operations that were run ahead of the clock, and those that were not, are as many as the ranks that act have.
  std::uint64_t nodes() const { return nodes_done_; }

 private:
  struct Refused {
    std::string_view why;
  };
  static constexpr std::uint32_t kNone = UINT32_MAX;
  static constexpr Time kUnknown = Time::max();

  struct Operation {
    Time start;  // so far, the latest end that it waited for
    Time moving;
    Time end;
    Duration slowed{};
  };
  // A call or send that takes part of the rank's device.
  struct Use {
    NodeId node{};
    collectives::DeviceShare share;
    Time start;
    Time moving = kUnknown;
    Time end = kUnknown;
  };
  struct Inbox {
    Time sent;
    Time posted = kUnknown;
    Time arrived = kUnknown;
    std::uint32_t awaiting = kNone;  // message that begins when the receive is posted
  };
  struct SendUnderWay {
    NodeId node{};
    Time start;
    Time posted = kUnknown;  // its receive; where it waits for that
    Time moving = kUnknown;
    Time end = kUnknown;
    Time taken_for_waiting = kUnknown;  // the latest time
  };
  // Sends of an agent to one peer.
  struct Peer {
    network::PathId path{};
    std::uint32_t receiver = 0;  // agent
    std::uint64_t count = 0;
    bool is_same_node = false;
    Duration latency{};
    std::optional<PointToPoint> costs{};  // of the last message
    Bytes bytes{0};                       // likewise
    std::size_t next = 0;                 // of the program's sends to the peer
    Time latest;                          // start of one
    Time asked = kUnknown;                // when it is looked again what is free
    std::vector<SendUnderWay> under_way;
  };
  // A computation under way that calls and sends of the rank may slow, or a repetition of a stretch.
  struct Computing {
    NodeId node{};
    Time start;
    bool is_repetition = false;
    Computation begun{};
    Computation ended{};  // as it ends by what is known so far
    Time end{};           // likewise
    Time due = kUnknown;
    EventHandle event{};
  };
  // A stretch of an agent's program, as in Repetitions.
  struct Stretch {
    std::shared_ptr<StretchCourses> courses;
    Time begin;
    Time host;
    std::vector<OutsideUse> outside;  // of the latest repetition
    std::uint64_t repetitions = 0;
  };
  struct Agent {
    RankId rank{};
    const TapeProgram* program = nullptr;
    std::vector<Operation> operations;  // by node
    std::vector<std::uint32_t> waits;   // by node; kStarted from its start on
    std::vector<Inbox> inboxes;         // by transfer
    std::vector<Peer> peers;
    std::vector<std::uint32_t> homes;  // by communicator slot
    std::vector<Use> uses;
    std::size_t next_taker = 0;  // the first that has not started
    std::optional<Computing> computing{};
    std::vector<Stretch> stretches;
    std::vector<RepetitionRecord> repeated;  // in order
    std::uint32_t done = 0;
    Time finish;
  };
  static constexpr std::uint32_t kStarted = UINT32_MAX;

  // Calls of one communicator that are planned alike.
  struct CallKind {
    const CallCast* cast = nullptr;
    network::PathId path{};
    std::uint64_t count = 0;  // messages
    bool is_empty = false;    // nothing is sent
    bool is_private = false;  // its links carry nothing else
    Duration transfer{}, latency{}, least{};
    collectives::DeviceShare takes{};
    std::uint64_t calls = 0;  // that were run ahead
  };
  struct Entrant {
    std::uint32_t agent;
    NodeId node;
  };
  // A home communicator and its call that members come to.
  struct Home {
    std::vector<CallKind> kinds;  // by CollectivePlans::plan_number()
    std::uint32_t index = 0;
    std::uint32_t kind = 0;
    Time latest;
    Time not_before;
    std::vector<Entrant> entrants;
  };
  struct Message {
    std::uint32_t agent = 0;
    NodeId node{};
    std::uint32_t receiver = 0;
    std::uint32_t transfer = 0;  // of the receiver
    NodeId receive{};
    PointToPoint costs;
  };
  struct ReadyNode {
    std::uint32_t agent;
    NodeId node;
  };

  // MessageRecipient, EventSink, InstantObserver
  void on_released(std::uint32_t id) override;
  void on_arrived(std::uint32_t id) override;
  void on_event(std::uint64_t payload) override;
  void decide() override { run_ahead(); }
  void settle() override { cast_.input().network.settle(); }

  void set_up();
  void refuse_large_jobs();
  void check_plans();
  void bring_into_use();
  void set_up_agent(std::uint32_t number);
  void set_up_peers(Agent& agent);
  void find_private_calls();
  std::uint32_t kind_of(Home& home, CallKey key);
  CallKind make_kind(CallKey key);

  void run_ahead();
  void start(std::uint32_t number, NodeId node);
  void run_alone(std::uint32_t number, NodeId node);
  void finish(std::uint32_t number, NodeId node, Time moving, Time end);
  void note_started(Agent& agent, NodeId node) { agent.waits[index_of(node)] = kStarted; }
  Time host_turns_to(const Agent& agent, NodeId node) const;
  Duration host_wait(const Agent& agent, NodeId node, Duration time, Time now) const;

  void compute(std::uint32_t number, NodeId node, std::uint32_t processor_bound);
  void go_on_computing(std::uint32_t number);
  collectives::DeviceShare take_changes(const Agent& agent, const Computing& computing);
  bool is_one_round(const Agent& agent, std::size_t first, std::size_t last) const;
  void change_speed(const Agent& agent, Computing& computing, collectives::DeviceShare taken);
  void repeat(std::uint32_t number, NodeId node);
  void open(Agent& agent, std::uint32_t stretch);
  void change_course(Agent& agent, Computing& computing, collectives::DeviceShare taken);
  void end_repetition(std::uint32_t number);
  void count_repetitions(const Agent& agent);
  bool may_be_disturbed(Agent& agent, const Computing& computing) const;
  void end_computation(std::uint32_t number);
  void take_device(std::uint32_t number, NodeId node, const collectives::DeviceShare& share, Time now);
  void note_use(std::uint32_t number, NodeId node, Time moving, Time end);

  void enter(std::uint32_t number, NodeId node);
  void begin_call(std::uint32_t home);
  void end_call(std::uint32_t home, Time end);

  void send_what_can(std::uint32_t number, std::uint32_t slot);
  bool is_free(std::uint32_t number, std::uint32_t slot, Time& time);
  void send(std::uint32_t number, std::uint32_t slot, NodeId node, Time now);
  void move(std::uint32_t message, Time moving, Time posted);
  void post(std::uint32_t number, NodeId node);
  SendUnderWay& send_under_way(const Message& message);

  Engine& engine_;
  const workload::Job& job_;
  Cast& cast_;
  OperationTimes& times_;
  const CollectiveOptions& options_;
  bool contends_;
  std::vector<TapeProgram> programs_;  // by graph
  std::vector<Agent> agents_;
  std::vector<Home> homes_;  // by communicator
  Slab<Message> messages_;
  std::vector<ReadyNode> ready_;
  std::vector<Entrant> leaving_;  // scratch of end_call()
  // A call or send begins, moves or ends.
  struct Change {
    Time time;
    std::uint8_t round = 0;  // 1: in a round behind those of its instant in which others begin and end
    bool begins = false;
    NodeId node{};
    collectives::DeviceShare share;

    friend bool operator<(const Change& a, const Change& b) {
      return a.time != b.time ? a.time < b.time : a.round < b.round;
    }
  };
  std::vector<Change> changes_;  // scratch of take_changes()
  std::uint64_t messages_sent_ = 0;
  std::uint64_t nodes_done_ = 0, nodes_total_ = 0;
  SimulationProgress progress_;
  bool has_begun_ = false;
};

}  // namespace orrery::system
