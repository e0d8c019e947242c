// SPDX-License-Identifier: MIT
// ASTRA-sim's collective algorithms, one phase of one chunk on one rank: what it sends and receives, in which order,
// and what each step costs at the endpoint. A packet is held for the endpoint delay before every send and after every
// receive; where it is reduced, for three passes through the memory as well.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "astra/collectives/layout.h"
#include "astra/input/inputs.h"
#include "astra/input/program.h"

namespace orrery::astra {

// Another rank, and by which number one knows a message from it where ranks are folded: the number of places that the
// message goes ahead, modulo the ring.
struct Peer {
  std::uint32_t rank = 0;
  std::uint32_t channel = 0;
};

// A packet at the endpoint: before a send, or after a receive.
struct Hold {
  std::uint64_t bytes = 0;
  bool reduces = false;
  bool is_local = false;    // of a communicator group: the endpoint delay is fixed
  bool to_network = false;  // the rest is for the shared bus: where to,
  bool sends_back = false;  // and whether it goes back to the network
};

// Interface of a stream that its algorithm may use.
class Stage {
 public:
  virtual ~Stage() = default;
  // PhaseEvent::kHeld follows.
  virtual void hold(const Hold& hold) = 0;
  virtual void send(const Peer& to, std::uint64_t bytes) = 0;
  virtual void receive(const Peer& from, std::uint64_t bytes) = 0;  // PhaseEvent::kReceived follows
  // Sends and receives of custom schedules, whose nodes have tags of their own and complete one by one.
  virtual void send_node(const Peer& to, const Node& node, std::uint32_t index) = 0;
  virtual void receive_node(const Peer& from, const Node& node, std::uint32_t index) = 0;
  virtual void compute_node(Ticks duration, std::uint32_t index) = 0;
  // Notes that the next step depends on which of two events of the same instant is first.
  virtual void depends_on_order() = 0;
  // The algorithm is over, and gone when this returns.
  virtual void finish() = 0;
  virtual Ticks now() const = 0;
};

enum class PhaseEvent : std::uint8_t { kStart, kHeld, kReceived, kNodeDone };

class PhaseAlgorithm {
 public:
  virtual ~PhaseAlgorithm() = default;
  virtual void run(PhaseEvent event, std::uint32_t node) = 0;
};

// A phase that is to be run.
struct Phase {
  CommKind comm = CommKind::kAllReduce;
  AlgorithmKind algorithm = AlgorithmKind::kRing;
  std::uint32_t window = 0;
  Ring ring{};
  bool clockwise = true;
  bool local = false;         // of a communicator group: the endpoint delay is fixed
  bool root_is_last = false;  // of doubleBinaryTree
  std::uint64_t bytes = 0;
  std::uint32_t queue = 0;
  std::shared_ptr<const Program> custom{};  // if not null, the schedule in place of an algorithm
  std::shared_ptr<const std::vector<std::uint32_t>> custom_peers{};
};

// Bytes that a phase leaves of this many.
std::uint64_t bytes_after(CommKind comm, AlgorithmKind algorithm, std::uint64_t bytes, std::uint32_t size);

std::unique_ptr<PhaseAlgorithm> make_algorithm(const Phase& phase, Stage& stage);

}  // namespace orrery::astra
