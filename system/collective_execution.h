// Runs collective calls: every member works through its chunks and phases, and in each phase through its program of
// sends.
//
// A member decides from its own state only: a send starts when what it needs has arrived and its channel is free, a
// phase starts when the chunk's phase before is through on this member, and a dimension takes up to `active_chunks`
// chunks at a time. A chunk that waits for a dimension is taken in early when a peer's message for it has come:
// otherwise two members that picked different chunks first would wait for each other for ever.
//
// At granularity `phase` a member's part in a phase is to come to it: when the last of its line has, the line's
// messages go as one, and the phase ends for all when that has arrived. The first to come calls the others.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <tuple>
#include <vector>

#include "core/engine.h"
#include "core/ids.h"
#include "core/slab.h"
#include "core/units.h"
#include "network/fabric.h"
#include "network/network.h"
#include "system/collective_plan.h"
#include "system/line_traffic.h"
#include "system/slot_set.h"

namespace orrery {

// One call of a communicator, of which several may be under way (of different communicators).
struct CallKey {
  GroupId group{};
  std::uint32_t index = 0;  // k-th call

  bool operator==(const CallKey&) const = default;
};

class CollectiveListener {
 public:
  // In the round after the first member entered, and in the one after the last did.
  virtual void on_call_opened(CallKey call) = 0;
  virtual void on_call_assembled(CallKey call) = 0;
  // The member is through. `all_entered` is when the last member had come, or the member's own entry if it got through
  // before that.
  virtual void on_collective_done(CallKey call, std::uint32_t member, Time all_entered) = 0;

 protected:
  ~CollectiveListener() = default;
};

class CollectiveExecution final : private EventSink {
 public:
  CollectiveExecution(Engine& engine, const Fabric& fabric, Network& network, CollectiveListener& listener,
                      const CollectiveOptions& options)
      : engine_(engine), fabric_(fabric), network_(network), listener_(listener), options_(options) {}

  // `member` enters `call`. All members give the same `plan`, which outlives the call, and `devices` by member.
  void enter(CallKey call, std::uint32_t member, const CollectivePlan& plan, std::span<const DeviceId> devices);

  void on_released(std::uint32_t message);
  void on_arrived(std::uint32_t message);
  // Members that were touched decide; done members are reported. Call it in decide().
  void advance();
  std::uint64_t messages() const { return messages_sent_; }
  // Who has entered a call that is under way; empty when none is.
  std::vector<bool> entered(CallKey call) const;

 private:
  enum class Status : std::uint8_t { kAhead, kWaiting, kActive, kDone };

  static constexpr std::uint32_t kNone = UINT32_MAX;

  // What of a Step decides when and what a member sends.
  struct NextSend {
    std::uint32_t index = 0;
    std::uint32_t to = kNone;  // on the line; kNone until it was worked out
    std::uint32_t slot = 0;
    std::uint32_t after_send = kNone;
    SlotRange needs;
    Bytes bytes{0};
  };
  // The receiver of the last send, nearly always that of the next as well.
  struct Peer {
    std::uint32_t on_line = kNone;
    std::uint32_t state = 0;
    PathId path{};
  };
  // A release that the network foretold. Where something waits for nothing else, it is made an event.
  struct Foretold {
    std::uint32_t send = kNone;
    std::uint32_t message = 0;
    Time time;
  };
  // A member's program of a phase, while that is active.
  struct Running {
    SlotSet released;
    std::uint32_t sends = 0;
    std::uint32_t receives = 0;
    std::uint32_t on_line = 0;  // the member's place
    NextSend next;
    Peer peer;
    Foretold foretold;  // the latest, if nobody was told
  };
  // One phase of one chunk on one member. There are many, so they are kept small.
  struct PhaseState {
    SlotSet arrived;
    Time waiting_since;
    std::uint32_t running = kNone;  // in running_
    Status status = Status::kAhead;
    bool touched = false;
    bool through = false;        // at granularity `phase`: the line's messages have arrived
    std::uint32_t gathered = 0;  // and on the line's first member: how many have come
  };
  // Where a waiting chunk stands: the time it came (negated for LIFO), chunk, phase, and its state.
  using Place = std::tuple<std::int64_t, std::uint32_t, std::uint32_t, std::uint32_t>;
  // The chunks of a member at one dimension.
  struct Lineup {
    std::uint32_t active = 0;
    bool touched = false;
    std::set<Place> waiting;
    std::vector<std::uint32_t> called;  // waiting states for which a peer's message has come
  };
  struct Member {
    Time entered;
    bool in = false;
    bool done = false;
    std::uint32_t chunks_done = 0;
    std::vector<Lineup> lineups;  // by dimension
  };
  struct Call {
    CallKey key;
    const CollectivePlan* plan = nullptr;
    std::span<const DeviceId> devices;
    std::uint32_t entered = 0;
    std::uint32_t done = 0;
    Time all_entered;
    std::vector<Member> members;
    std::vector<PhaseState> states;  // [member][chunk][phase]
  };
  static constexpr std::uint32_t kWholeLine = UINT32_MAX;
  struct Message {
    std::uint32_t call = 0;
    std::uint32_t from_state = 0;
    std::uint32_t to_state = 0;
    std::uint32_t index = 0;  // send of the sender's program; kWholeLine for all messages of the line
    std::uint32_t slot = 0;   // receive of the receiver's program
  };
  struct Touched {
    std::uint32_t call;
    std::uint32_t state;
  };
  struct TouchedLineup {
    std::uint32_t call;
    std::uint32_t member;
    std::uint32_t dimension;
  };
  struct StateKey {
    std::uint32_t member;
    std::uint32_t chunk;
    std::uint32_t phase;
  };

  // What is said of a call or member in the round after, and of a message when it is released as foretold.
  enum class News : std::uint8_t { kOpened, kAssembled, kMemberDone, kReleased };
  void tell_next_round(News news, std::uint32_t call, std::uint32_t member = 0);
  void on_event(std::uint64_t payload) override;

  std::uint32_t open(CallKey key, const CollectivePlan& plan, std::span<const DeviceId> devices);
  void touch(std::uint32_t call, std::uint32_t state);
  void touch_lineup(std::uint32_t call, std::uint32_t member, std::uint32_t dimension);
  void advance_state(std::uint32_t call, std::uint32_t state);
  bool start_sends(std::uint32_t call, std::uint32_t state);
  std::uint32_t start_program(const Call& call, std::uint32_t state);
  void work_out_next(const Call& call, std::uint32_t state, Running& running) const;
  void find_peer(const Call& call, std::uint32_t state, Running& running);
  void send(std::uint32_t call, std::uint32_t state, Running& running);
  void book_foretold(Running& running) const;
  void await_foretold(Running& running);
  bool is_through(std::uint32_t call, std::uint32_t state);
  void join_line(std::uint32_t call, std::uint32_t state);
  void call_line(const Touched& first);
  void start_line(std::uint32_t call, StateKey key);
  const LineTraffic& traffic_of(const Call& call, StateKey key);
  void on_line_arrived(std::uint32_t call, std::uint32_t state);
  void enqueue_next_phase(std::uint32_t call, StateKey key);
  void fill(const TouchedLineup& touched);
  void activate(std::uint32_t call, std::uint32_t state, Lineup& lineup);
  Place place_of(const Call& call, std::uint32_t state) const;
  void finish_member(std::uint32_t call, std::uint32_t member);
  void report_done(std::uint32_t call, std::uint32_t member);

  StateKey key_of(const Call& call, std::uint32_t state) const;
  static std::uint32_t state_of(const Call& call, StateKey key);
  // The state of the member at `coordinate` of the line that the state is in.
  static std::uint32_t state_in_line(const Call& call, StateKey key, std::uint32_t coordinate);
  static std::uint32_t line_position(const Call& call, StateKey key);

  Engine& engine_;
  const Fabric& fabric_;
  Network& network_;
  CollectiveListener& listener_;
  const CollectiveOptions& options_;
  std::vector<Call> calls_;
  std::vector<std::uint32_t> free_calls_;
  std::vector<std::vector<std::uint32_t>> open_calls_;  // by group: slots in calls_
  Slab<Message> messages_;
  Slab<Running> running_;
  std::vector<Touched> touched_;
  std::vector<TouchedLineup> touched_lineups_;
  std::vector<Touched> new_lines_;  // whose first member has come
  // By communicator, plan, phase and the line's first member.
  std::map<std::tuple<GroupId, const CollectivePlan*, std::uint32_t, std::uint32_t>, LineTraffic> traffic_;
  std::uint64_t messages_sent_ = 0;
};

}  // namespace orrery
