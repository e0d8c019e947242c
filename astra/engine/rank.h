// SPDX-License-Identifier: MIT
// One rank: its nodes, which of them may go, and the chunks of its collectives. The policy of issue is ASTRA-sim's:
// whenever something is over, the nodes that wait for nothing are looked at in the order of their ids, and each whose
// slot is free goes. There is one slot for the host's work, one for computation, and one for all communication and
// memory access but receives, which need none.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <queue>
#include <vector>

#include "astra/collectives/algorithms.h"
#include "astra/collectives/planner.h"
#include "astra/engine/cast.h"
#include "astra/engine/events.h"
#include "astra/engine/messages.h"

namespace orrery::astra {

class Rank;
class Bus;

// Served by the simulation.
class Memory {
 public:
  virtual ~Memory() = default;
  // TimerKind::kMemoryServed of `node` on `rank` follows.
  virtual void access(std::uint32_t rank, std::uint32_t node, std::uint64_t bytes) = 0;
};

// Data that all ranks of a simulation share.
struct World {
  const Inputs& inputs;
  const Job& job;
  const Cast& cast;
  EventQueue& events;
  Timers& timers;
  Messages& messages;
  Memory& memory;
  CustomSchedules& custom;
  std::uint64_t event = 0;        // number of the one that runs
  bool depends_on_order = false;  // a folded run that is not exact
};

// A node that ran.
struct Operation {
  static constexpr Ticks kRunning = UINT64_MAX;
  std::uint32_t node = 0;
  Ticks start = 0;
  Ticks end = 0;
};

// A collective that was begun, to find out afterwards which ranks disagree.
struct Call {
  std::uint64_t group = 0;
  std::uint32_t node = 0;
};

class Rank {
 public:
  // `agent` is the number by which it is known in `world`.
  Rank(World& world, std::uint32_t agent);
  ~Rank();
  Rank(Rank&&) noexcept;

  void start();
  void fire(const Timer& timer);
  void complete(const Completion& completion);

  bool finished() const { return finished_; }
  Ticks finish_time() const { return finish_time_; }
  Ticks compute_time() const { return compute_time_; }  // of the device
  const std::vector<Operation>& operations() const { return operations_; }
  const std::vector<Call>& calls() const { return calls_; }
  // Nodes that run, by their starts and ids, and nodes that wait for nothing but were not issued.
  std::vector<std::uint32_t> running() const;
  std::vector<std::uint32_t> passed_over() const;
  const Program& program() const { return *program_; }
  std::uint32_t number() const { return number_; }

 private:
  enum Slot : std::uint8_t { kHost, kDevice, kCommunication, kNoSlot };
  class Stream;
  struct Heap : std::priority_queue<std::uint32_t, std::vector<std::uint32_t>, std::greater<>> {
    const std::vector<std::uint32_t>& nodes() const { return c; }
  };
  // The chunks of one queue: those that run, then those that wait.
  struct Queue {
    std::deque<std::uint32_t> streams{};
    std::uint32_t running = 0;
    Ticks joined_at = UINT64_MAX;
    std::uint64_t joined_event = 0;
    std::uint32_t cohort = 0;  // of those that joined last
    Order::Mark joined{};      // last, where links are shared
  };

  // Chunks that joined a queue in one instant. In which order they did may differ from rank to rank, if that was in
  // several events; it does not matter where they start in one instant, too.
  struct Cohort {
    bool several = false;
    Ticks started_at = UINT64_MAX;
  };
  // Nodes that are over in an instant, a bit each in the order in which they end.
  struct Ends {
    Ticks at = UINT64_MAX;
    std::uint64_t nodes = 0;
  };
  struct Taken {  // of a slot, the last time
    Ticks at = UINT64_MAX;
    std::uint32_t node = 0;
    bool again = false;           // in this instant
    bool is_uncontested = false;  // then: each time by a node that waited for the one before
  };

  static Slot slot_of(const Node& node);
  void issue_then_check();
  void issue(std::uint32_t node);
  void issue_collective(std::uint32_t node);
  void issue_message(std::uint32_t node);
  void done(std::uint32_t node);
  void free_children(std::uint32_t node);
  std::uint64_t awaited(std::uint32_t node) const;
  void take(Slot slot, std::uint32_t node);
  void note_order();
  void note_receive(std::uint32_t node);

  void stream_over(std::uint32_t stream);
  void next_phase(std::uint32_t stream);
  void note_join(Queue& queue, Stream& stream);
  void note_start(const Stream& stream);
  void leave(std::uint32_t queue, std::uint32_t stream);
  void fill(std::uint32_t queue);

  World* world_;
  std::uint32_t agent_;
  std::uint32_t number_;  // the rank
  const RankProgram* own_;
  const Program* program_;
  CollectivePlanner planner_;
  std::uint32_t running_chunks_;  // of a queue, at most
  std::vector<Queue> queues_;
  std::vector<std::unique_ptr<Stream>> streams_;
  std::vector<std::uint32_t> free_streams_;
  std::vector<Cohort> cohorts_;
  std::uint64_t world_streams_ = 0;
  std::vector<std::uint64_t> group_streams_;  // by slot
  std::unique_ptr<Bus> bus_;

  std::vector<std::uint32_t> waits_;        // of each node, for how many others
  std::vector<std::uint32_t> chunks_left_;  // of the collective that runs
  std::array<Heap, 4> ready_;
  std::array<bool, 3> busy_{};
  std::array<Taken, 3> taken_{};
  std::array<Ends, 3> freed_{};
  std::vector<std::uint32_t> next_ready_;  // freed while nodes are being issued
  bool issuing_ = false;
  std::uint32_t ongoing_ = 0;
  std::vector<Operation> operations_;
  std::vector<std::uint32_t> operation_of_;  // of each node
  std::vector<Ends> awaited_;                // of each node, what it waited for that ended last
  std::vector<std::uint32_t> posted_;        // receives of this instant
  Ticks posted_at_ = UINT64_MAX;
  std::vector<Call> calls_;
  Ticks compute_time_ = 0;
  Ticks finish_time_ = 0;
  bool finished_ = false;
  Ticks done_at_ = UINT64_MAX;
  std::uint32_t done_count_ = 0;  // nodes that are over in this instant
};

}  // namespace orrery::astra
