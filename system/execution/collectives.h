// SPDX-License-Identifier: MIT
// Runs collective calls: every member works through its chunks and phases, and in each phase through its program of
// sends.
//
// A member decides from its own state only: a send starts when what it needs has arrived and its channel is free, a
// phase starts when the chunk's phase before is through on this member, and a dimension takes up to `active_chunks`
// chunks at a time. A chunk that waits for a dimension is taken in early when a peer's message for it has come:
// otherwise two members that picked different chunks first would wait for each other for ever.
//
// A call that may be fast-forwarded is not simulated message by message: when the last member has entered, the same
// recurrence that the messages would go through gives the end of each.
//
// At granularity `phase` a member's part in a phase is to come to it: when the last of its line has, the line's
// messages go as one, and the phase ends for all when that has arrived. The first to come calls the others.
//
// When the classes of a folded job come apart, between two rounds and with nothing left to decide, every part of a call
// goes on from where the whole was (collective_split.cpp).
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <span>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "core/engine.h"
#include "core/ids.h"
#include "core/slab.h"
#include "core/units.h"
#include "network/fabric/fabric.h"
#include "network/network.h"
#include "system/execution/slot_set.h"
#include "system/folding/folding.h"
#include "system/plans/plan.h"

namespace orrery::system {

// What the members of a call work through, and how they are folded.
struct CallSetting {
  const CollectivePlan* plan = nullptr;
  std::span<const DeviceId> devices;  // by member
  // If the job is folded: the members of the communicator that act, and the messages they exchange.
  const Home* home = nullptr;
  const PatternTables* tables = nullptr;
  // Uniform rings of one chunk on links of their own (PrivateRings), of which no other call of the
  // communicator can be under way: what they take follows from when its members enter.
  bool fast_forward = false;
};

// One call of a communicator, of which several may be under way (of different communicators).
struct CallKey {
  GroupId group{};
  std::uint32_t index = 0;  // k-th call

  bool operator==(const CallKey&) const = default;
};

class CollectiveListener {
 public:
  // In the round after the first member entered.
  virtual void on_call_opened(CallKey call) = 0;
  // In the round after the last did: of each seat, with the node that it entered with.
  virtual void on_call_assembled(CallKey call, std::uint32_t seat, NodeId node) = 0;
  // The seat is through with its `node`. `all_entered` is when the last had come, or the seat's own entry if it got
  // through before that.
  virtual void on_collective_done(CallKey call, std::uint32_t seat, NodeId node, Time all_entered) = 0;

 protected:
  ~CollectiveListener() = default;
};

class CollectiveExecution final : private EventSink, private network::MessageRecipient {
 public:
  CollectiveExecution(Engine& engine, const network::Fabric& fabric, network::Network& network,
                      CollectiveListener& listener, const CollectiveOptions& options)
      : engine_(engine), fabric_(fabric), network_(network), listener_(listener), options_(options) {}

  // Who holds `seat` enters `call`, which is `node` of its graph. Every member has a seat of its own unless the job is
  // folded. All give the same setting, which outlives the call.
  void enter(CallKey call, std::uint32_t seat, NodeId node, const CallSetting& setting);

  // Members that were touched decide; done members are reported. Call it in decide().
  void advance();
  // Nothing happens any more: chunks under way wait for members that hold their place with others. Every queue lets its
  // first chunk go beside those. False where none waits.
  bool relieve();
  // Messages that were sent, of all members.
  std::uint64_t messages() const { return messages_sent_; }
  // Communicators have come apart, or are described anew. The parts of messages are known until end_split().
  void split(const ClassSplit& split, const std::function<CallSetting(CallKey)>& setting_of);
  void end_split();

 private:
  // kPassed: over, and the member took no part in it.
  enum class Status : std::uint8_t { kAhead, kWaiting, kActive, kDone, kPassed };

  static constexpr std::uint32_t kNone = UINT32_MAX;

  // What of a Step decides when and what a member sends.
  struct NextSend {
    std::uint32_t index = 0;
    std::uint32_t to = kNone;  // on the line; kNone until it was worked out
    std::uint32_t slot = 0;
    std::uint32_t after_send = kNone;
    collectives::SlotRange needs;
    Bytes bytes{0};
  };
  // The receiver of the last send, nearly always that of the next as well.
  struct Peer {
    std::uint32_t on_line = kNone;
    std::uint32_t state = 0;
    network::PathId path{};
    // What the message stands for; and of that, so that it is at hand:
    const MessageClass* folded = nullptr;
    std::uint64_t count = 1;
    bool is_uniform_ring = false;
  };
  // A release that the network predicted. Where something waits for nothing else, it is made an event.
  struct Predicted {
    std::uint32_t send = kNone;
    std::uint32_t message = 0;
    Time time;
  };
  // A member's program of a phase, while that is active. As there are many, each begins a cache line.
  struct alignas(64) Running {
    SlotSet released;
    std::uint32_t sends = 0;
    std::uint32_t receives = 0;
    std::uint32_t on_line = 0;  // the place of who runs it
    NextSend next;
    Peer peer;
    Predicted predicted;  // the latest, if nobody was told
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
  // The chunks of a member at one axis in one direction (Phase::queue).
  struct ChunkQueue {
    std::uint32_t active = 0;
    bool touched = false;
    std::set<Place> waiting;
    std::vector<std::uint32_t> called;  // waiting states for which a peer's message has come
  };
  struct Seat {
    Time entered;
    NodeId node{};  // of who entered
    bool in = false;
    bool done = false;
    bool reported = false;
    std::uint32_t phases_done = 0;         // of all chunks
    std::vector<ChunkQueue> chunk_queues;  // by queue
  };
  struct Call {
    CallKey key;
    CallSetting setting;
    std::uint32_t entered = 0;
    std::uint32_t done = 0;
    Time all_entered;
    std::vector<Seat> seats;
    std::vector<PhaseState> states;  // [seat][chunk][phase]
  };
  static constexpr std::uint32_t kWholeLine = UINT32_MAX;
  struct alignas(64) Message {
    std::uint32_t call = 0;
    std::uint32_t from_state = 0;
    std::uint32_t to_state = 0;
    std::uint32_t index = 0;  // send of the sender's program; kWholeLine for all messages of the line
    std::uint32_t slot = 0;   // receive of the receiver's program
    bool is_class = false;    // the sends and slots of `folded` instead
    const MessageClass* folded = nullptr;
    EventHandle release;  // that was predicted and is waited for
    Time not_before{};    // of a whole line: it does not end earlier, however fast the links (Aggregate::least)
  };
  // The seats of a line and what they send, at granularity `phase`.
  struct LineView {
    std::span<const std::uint32_t> seats;
    network::PathId path{};
    std::uint64_t count = 1;  // lines that it stands for
  };
  struct Touched {
    std::uint32_t call;
    std::uint32_t state;
  };
  struct TouchedQueue {
    std::uint32_t call;
    std::uint32_t seat;
    std::uint32_t queue;
  };
  struct StateKey {
    std::uint32_t seat;
    std::uint32_t chunk;
    std::uint32_t phase;
  };

  // What is said of a call or member in the round after, and of a message when it is released as predicted, or when a
  // line is through that its links were faster than.
  enum class News : std::uint8_t { kOpened, kAssembled, kSeatDone, kReleased, kHeld };
  void tell_next_round(News news, std::uint32_t call, std::uint32_t seat = 0);
  static constexpr std::uint32_t kMostCalls = 1u << 29;  // under way at once; what is left of the payload
  static constexpr int kNewsShift = 61;
  static std::uint64_t payload_of(News news, std::uint32_t call, std::uint32_t number) {
    return std::uint64_t{static_cast<std::uint8_t>(news)} << kNewsShift | std::uint64_t{call} << 32 | number;
  }
  void on_event(std::uint64_t payload) override;
  void on_released(std::uint32_t message) override;
  void on_arrived(std::uint32_t message) override;
  void on_release_predicted(std::uint32_t message, Time release) override;
  void on_delayed(std::uint32_t message) override;
  std::span<const network::MessagePart> parts_of(std::uint32_t message) override;
  network::MessagePlace place_of(std::uint32_t message) const override;  // of a job that is not folded
  void add_parts(std::uint64_t payload, std::vector<std::uint64_t>& parts) override;

  std::uint32_t open(CallKey key, const CallSetting& setting);
  std::uint32_t take_call();
  void fast_forward(std::uint32_t call);
  std::vector<Duration> ring_ends(const Call& call, std::uint32_t phase);
  void touch(std::uint32_t call, std::uint32_t state);
  void touch_queue(std::uint32_t call, std::uint32_t seat, std::uint32_t queue);
  void advance_state(std::uint32_t call, std::uint32_t state);
  bool start_sends(std::uint32_t call, std::uint32_t state);
  std::uint32_t start_program(const Call& call, std::uint32_t state);
  void work_out_next(const Call& call, std::uint32_t state, Running& running) const;
  void find_folded_peer(const Call& call, std::uint32_t state, Running& running);
  void find_peer(const Call& call, std::uint32_t state, Running& running);
  void send(std::uint32_t call, std::uint32_t state, Running& running);
  void book_predicted(Running& running) const;
  void await_predicted(Running& running);
  bool waits_for_predicted(const PhaseState& phase, const Running& running) const;
  bool is_through(std::uint32_t call, std::uint32_t state);
  void join_line(std::uint32_t call, std::uint32_t state);
  void call_line(const Touched& first);
  void start_line(std::uint32_t call, StateKey key);
  LineView line_of(const Call& call, StateKey key);
  const LineClass& own_line(const Call& call, StateKey key);
  void on_line_arrived(std::uint32_t call, std::uint32_t state);
  void begin_phase(std::uint32_t call, StateKey key);
  void end_phase(std::uint32_t call, StateKey key);
  static bool may_begin(const Call& call, StateKey key);
  void fill(const TouchedQueue& touched);
  void activate(std::uint32_t call, std::uint32_t state, ChunkQueue& chunk_queue);
  bool has_been_called(const Call& call, StateKey key);
  Place place_of(const Call& call, std::uint32_t state) const;
  void finish_seat(std::uint32_t call, std::uint32_t seat);
  void report_done(std::uint32_t call, std::uint32_t seat);

  // A call that was part of another, and of which seat there each seat was.
  struct CallPart {
    std::uint32_t call;
    std::span<const std::uint32_t> parent_seat;
  };
  void split_call(std::uint32_t call, const std::vector<const ClassSplit::Home*>& parts,
                  const std::function<CallSetting(CallKey)>& setting_of);
  Call part_of(const Call& whole, CallKey key, const CallSetting& setting, std::span<const std::uint32_t> parent_seat);
  void part_program(const Call& whole, Call& part, std::uint32_t state, std::span<const std::uint32_t> parent_seat);
  void part_progress(const Call& whole, Call& part, std::span<const std::uint32_t> parent_seat);
  void count_gathered(Call& call);
  void add_message_parts(std::uint32_t message, const Message& whole, std::uint32_t call, StateKey key,
                         std::vector<network::MessagePart>& parts);
  void add_line_part(std::uint32_t message, const Message& whole, std::uint32_t call, StateKey key,
                     std::vector<network::MessagePart>& parts);
  std::uint32_t put_part(std::uint32_t message, const Message& part, bool is_first);
  network::MessagePart part_of_message(std::uint32_t message);

  StateKey key_of(const Call& call, std::uint32_t state) const;
  static std::uint32_t state_of(const Call& call, StateKey key);
  static const PlannedPhase& planned(const Call& call, StateKey key) { return call.setting.plan->phases[key.phase]; }
  static std::uint32_t position_of(const Call& call, std::uint32_t seat);
  static std::uint32_t line_position(const Call& call, StateKey key);

  Engine& engine_;
  const network::Fabric& fabric_;
  network::Network& network_;
  CollectiveListener& listener_;
  const CollectiveOptions& options_;
  std::vector<Call> calls_;
  std::vector<std::uint32_t> free_calls_;
  std::vector<std::vector<std::uint32_t>> open_calls_;  // by group: slots in calls_
  Slab<Message> messages_;
  Slab<Running> running_;
  std::vector<Touched> touched_;
  std::vector<TouchedQueue> touched_queues_;
  std::vector<Touched> new_lines_;  // whose first member has come
  // By communicator, plan, phase and the line's first member.
  std::map<std::tuple<GroupId, const CollectivePlan*, std::uint32_t, std::uint32_t>, LineClass> lines_;
  std::uint64_t messages_sent_ = 0;
  std::unordered_map<std::uint32_t, std::vector<CallPart>> call_parts_;         // since split()
  std::unordered_map<std::uint32_t, std::vector<network::MessagePart>> parts_;  // of messages asked for so far
};

}  // namespace orrery::system
