// SPDX-License-Identifier: MIT
// The shared bus between a rank's processor and its memory (`model-shared-bus`), a LogGP model.
#pragma once

#include <cstdint>
#include <vector>

#include "astra/events.h"
#include "astra/inputs.h"

namespace orrery::astra {

class Bus {
 public:
  Bus(const SharedBus& bus, Timers& timers, EventQueue& events, std::uint32_t rank)
      : bus_(bus), timers_(&timers), events_(&events), rank_(rank) {}

  // Takes a packet across.
  void carry(const Timer& packet) { waiting_.push_back(packet); }
  // A timer of its own; the packets that are across then.
  std::vector<Timer> fire(const Timer&) { return {}; }

 private:
  SharedBus bus_;
  Timers* timers_;
  EventQueue* events_;
  std::uint32_t rank_;
  std::vector<Timer> waiting_;
};

}  // namespace orrery::astra
