// SPDX-License-Identifier: MIT
// The shared bus between a rank's processor and its memory adapter (`model-shared-bus`): a LogGP model, whose
// processor's end has a second such bus to the memory. A packet is read from the memory before it goes out, and one
// that comes in is written there, processed or sent back over the same bus.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <functional>

#include "astra/engine/events.h"
#include "astra/input/inputs.h"

namespace orrery::astra {

class Bus {
 public:
  // `arrived` is called with a packet that is across.
  Bus(const SharedBus& bus, Timers& timers, EventQueue& events, std::uint32_t rank,
      std::function<void(const Timer&)> arrived);

  // From the processor to the adapter, or to the processor; where it may be processed, and sent back.
  void carry(const Timer& packet, bool to_adapter, bool processed, bool sends_back);
  // A timer of the bus's own.
  void fire(const Timer& timer);

 private:
  enum EndName : std::uint8_t { kProcessor, kAdapter, kProcessor2, kMemory2, kEnds };
  // Action when a request is across: the packet has arrived; or, on the second bus, the processor's end handles it in
  // this way.
  enum class Then : std::uint8_t { kArrived, kRetire, kProcess, kSend };
  enum class State : std::uint8_t { kFree, kSending, kReceiving };
  enum class EndEvent : std::uint8_t { kSent, kReceived, kProcessed, kNone };

  struct Request {
    Timer packet{};
    bool processed = false;
    bool sends_back = false;
    Then then = Then::kArrived;
    bool outer_processed = false;  // of the packet on the first bus
    bool outer_sends_back = false;
  };
  struct End {
    State state = State::kFree;
    State before = State::kFree;
    Ticks last = 0;
    int reads = 0;  // one after another
    bool processes = false;
    std::deque<Request> sends{};
    std::deque<Request> receives{};
    std::deque<Request> processing{};
  };

  static EndName partner_of(EndName end);
  double byte_gap(EndName end) const;
  void request(EndName end, const Request& request);
  // The second bus: from the processor to the memory, or the way back.
  void to_memory(const Request& request, Then then, bool sends_back);
  void from_memory(const Request& request, Then then);
  void handle(EndName end, EndEvent event);
  void received(EndName end);
  void processed(EndName end);
  void over(const Request& request);
  void go_on(EndName end, Request request);
  void process_next(EndName end);
  void send_if_free(EndName end);
  void send_next(EndName end);
  void set(EndName end, EndEvent event, double delay);

  SharedBus bus_;
  Timers* timers_;
  EventQueue* events_;
  std::uint32_t rank_;
  std::function<void(const Timer&)> arrived_;
  std::array<End, kEnds> ends_{};
};

}  // namespace orrery::astra
