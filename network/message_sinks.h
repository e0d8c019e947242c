// Events that tell a listener about a message. Three sinks, so that the payload is the whole token and what is on its
// way needs no state.
#pragma once

#include <cstdint>

#include "core/engine.h"
#include "network/network.h"

namespace orrery {

struct ReleasedSink final : EventSink {
  explicit ReleasedSink(MessageListener& to) : listener(to) {}
  void on_event(std::uint64_t token) override { listener.on_released(token); }
  MessageListener& listener;
};

struct ArrivedSink final : EventSink {
  explicit ArrivedSink(MessageListener& to) : listener(to) {}
  void on_event(std::uint64_t token) override { listener.on_arrived(token); }
  MessageListener& listener;
};

struct ReleasedAndArrivedSink final : EventSink {
  explicit ReleasedAndArrivedSink(MessageListener& to) : listener(to) {}
  void on_event(std::uint64_t token) override {
    listener.on_released(token);
    listener.on_arrived(token);
  }
  MessageListener& listener;
};

}  // namespace orrery
