// SPDX-License-Identifier: MIT
// Runs a job by the programs of its ranks rather than by time: each rank that acts goes on along its program, ahead of
// the clock, until it needs what another has not given yet; who gives it has it go on. The result does not depend on
// the order. Ranks that work together are run next to one another, so that what they know stays in the cache.
//
// Messages and calls are taken to have their links to themselves, which is looked into afterwards (LinkBookings): those
// that met on a link are known then, and the job runs again with these by the network.
//
// The engine's clock is left to these, and to what cannot be known ahead: of what is computed while a call or a send of
// the rank may begin or end beside it, the end.
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
#include "system/tape/link_bookings.h"
#include "system/tape/open_operations.h"
#include "system/tape/program.h"

namespace orrery::system {

class Tape final : private EventSink, private network::MessageRecipient, private InstantObserver {
 public:
  // Sends and calls that have to go by the network, beside those that are found not to have their links to themselves
  // before they run.
  struct ByNetwork {
    std::vector<LinkBookings::Message> messages;  // ascending
    bool all = false;
  };

  // All outlive it. Nothing has run on the engine. `observer` is told as it runs, whether that was exact or not.
  Tape(Engine& engine, Cast& cast, OperationTimes& times, const CollectiveOptions& options, const ByNetwork& by_network,
       SimulationObserver& observer);
  ~Tape();

  // Reason why the job needs the engine alone; empty if it ran.
  std::string_view run(const SimulationProgress& progress);
  // True if it did not run exactly, whatever run() returned: messages met on their links. They are added to
  // `by_network`, or all are if there are too many.
  bool add_conflicts(ByNetwork& by_network) const;
  // False as long as nothing has changed in what it was made from.
  bool has_begun() const { return has_begun_; }
  // Tells the rest, and counts what the links have carried.
  void settle_up();

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

  // A call or send that takes part of the rank's device.
  struct Use {
    NodeId node{};
    collectives::DeviceShare share;
    Time start;
    Time moving = kUnknown;
    Time end = kUnknown;
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
    std::uint32_t user = 0;      // of links
    std::uint32_t receiver = 0;  // agent
    std::uint64_t count = 0;
    bool is_same_node = false;
    Duration latency{};
    std::optional<PointToPoint> costs{};  // of the last message
    std::optional<Duration> transfer{};   // likewise, where it has its links to itself
    Bytes bytes{0};                       // likewise
    std::uint64_t ahead = 0;              // messages of that size that were run ahead
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
    Computation ended{};     // as it ends by what is known so far
    Time end{};              // likewise
    bool is_listed = false;  // in open_
    Time due = kUnknown;     // time of the event, if there is one
    EventHandle event{};
  };
  // A stretch of an agent's program, as in Repetitions.
  struct Stretch {
    std::vector<OperationRecord> first_run;
    std::shared_ptr<StretchCourses> courses;  // of the first run, once all of it is there
    Time begin;
    Time host;
    std::vector<OutsideUse> outside;                               // of the latest repetition
    const std::shared_ptr<const StretchRecord>* record = nullptr;  // beside that
    std::uint64_t repetitions = 0;
  };
  struct Agent {
    RankId rank{};
    const TapeProgram* program = nullptr;
    // Operations under way; a receive's `moving` is when its send started, and its `end` when the message was there, as
    // far as known.
    OpenOperations operations;
    std::vector<Time> synchronised;  // when the host went on behind each synchronisation
    std::vector<Peer> peers;
    std::vector<std::uint32_t> homes;  // by communicator slot
    std::vector<Use> uses;
    std::size_t next_taker = 0;  // the first that has not started
    std::optional<Computing> computing{};
    std::vector<Stretch> stretches;
    std::vector<RepetitionRecord> repeated;  // in order; to be told
    std::vector<bool> by_network;            // by transfer, of sends; empty: none
    std::uint32_t done = 0;
    Time finish;
  };
  // Calls of one communicator that are planned alike.
  struct CallKind {
    const CallCast* cast = nullptr;
    network::PathId path{};
    std::uint32_t user = 0;              // of links
    std::uint64_t count = 0;             // messages
    bool is_empty = false;               // nothing is sent
    bool is_private = false;             // its links carry nothing else
    std::optional<Duration> transfer{};  // where it has its links to itself
    Duration latency{}, least{};
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
    std::vector<bool> by_network;  // by index, as far as it goes

    bool is_by_network(std::uint32_t call) const { return call < by_network.size() && by_network[call]; }
  };
  struct Message {
    std::uint32_t agent = 0;
    NodeId node{};
    std::uint32_t receiver = 0;
    NodeId receive{};
    PointToPoint costs;
    std::optional<Duration> alone{};  // time that its links carry it; if it is run ahead
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
  void check_plans();
  void bring_into_use();
  void set_up_agent(std::uint32_t number);
  void set_up_peers(Agent& agent);
  void find_meetings();
  void find_likely_meetings(std::uint32_t number);
  void take_by_network();
  void set_by_network(std::uint32_t number, NodeId send);
  void set_by_network(Home& home, std::uint32_t index);
  std::uint32_t kind_of(Home& home, CallKey key);
  CallKind make_kind(CallKey key);

  void run_ahead();
  void start(std::uint32_t number, NodeId node);
  void run_alone(std::uint32_t number, NodeId node);
  void finish(std::uint32_t number, NodeId node, Time moving, Time end);
  void note_started(Agent& agent, NodeId node) { agent.operations.waits(node) = OpenOperations::kStarted; }
  void note_synchronised(Agent& agent, NodeId node);
  void note_first_run(Agent& agent, NodeId node);
  void tell_ended(Agent& agent);
  Time host_turns_to(const Agent& agent, NodeId node) const;
  bool has_many_conflicts() const;
  Duration host_wait(const Agent& agent, NodeId node, Duration time, Time now) const;

  void compute(std::uint32_t number, NodeId node, std::uint32_t processor_bound);
  void go_on_computing(std::uint32_t number);
  void wait_for_open();
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
  void add_use(std::uint32_t number, NodeId node, const collectives::DeviceShare& share, Time now);
  void note_use(std::uint32_t number, NodeId node, Time moving, Time end);

  void enter(std::uint32_t number, NodeId node);
  void begin_call(std::uint32_t home);
  void end_call(std::uint32_t home, Time end);

  void send_what_can(std::uint32_t number, std::uint32_t slot);
  bool is_free(std::uint32_t number, std::uint32_t slot, Time& time);
  void send(std::uint32_t number, std::uint32_t slot, NodeId node, Time now);
  void move(const Message& message, Time moving, Time posted);
  void carry(const Message& message, Time begin);
  void arrive(const Message& message, Time arrival);
  void count_ahead(Peer& peer);
  void post(std::uint32_t number, NodeId node);
  SendUnderWay& send_under_way(const Message& message);

  Engine& engine_;
  const workload::Job& job_;
  Cast& cast_;
  OperationTimes& times_;
  const CollectiveOptions& options_;
  const ByNetwork& by_network_;
  SimulationObserver& observer_;
  OperationPages pages_;
  bool contends_;
  std::vector<TapeProgram> programs_;  // by graph
  std::vector<Agent> agents_;
  std::vector<Home> homes_;  // by communicator
  LinkBookings bookings_;
  Slab<Message> messages_;
  std::vector<ReadyNode> ready_;
  std::vector<std::uint32_t> open_;  // agents; what they compute may still be disturbed, unless it has ended since
  std::vector<Entrant> leaving_;     // scratch of end_call()
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
