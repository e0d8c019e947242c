// Events that tell a listener about a message. Three sinks, so that the payload is the whole token and what is on its
// way needs no state.
#pragma once

#include <cstdint>

#include "core/engine.h"
#include "network/network.h"

namespace orrery {

struct MessageSink : EventSink {
  explicit MessageSink(MessageListener& to) : listener(to) {}
  void add_parts(std::uint64_t token, std::vector<std::uint64_t>& parts) override {
    for (const MessagePart& part : listener.parts_of(token).subspan(1)) parts.push_back(part.token);
  }
  MessageListener& listener;

 protected:
  ~MessageSink() = default;
};

struct ReleasedSink final : MessageSink {
  using MessageSink::MessageSink;
  void on_event(std::uint64_t token) override { listener.on_released(token); }
};

struct ArrivedSink final : MessageSink {
  using MessageSink::MessageSink;
  void on_event(std::uint64_t token) override { listener.on_arrived(token); }
};

struct ReleasedAndArrivedSink final : MessageSink {
  using MessageSink::MessageSink;
  void on_event(std::uint64_t token) override {
    listener.on_released(token);
    listener.on_arrived(token);
  }
};

// The three, and the one rule by which messages end: without a latency both come in one event.
class MessageEvents {
 public:
  MessageEvents(Engine& engine, MessageListener& listener)
      : engine_(engine), released_(listener), arrived_(listener), both_(listener) {}

  // Released `transfer` from now, arrived `latency` later.
  void deliver(Duration transfer, Duration latency, std::uint64_t token) {
    if (latency == Duration::zero()) {
      engine_.after(transfer, both_, token);
    } else {
      engine_.after(transfer, released_, token);
      arrive(saturating_add(transfer, latency), token);
    }
  }
  // Arrived `delay` from now; the release is told, or predicted, by the caller.
  EventHandle arrive(Duration delay, std::uint64_t token) { return engine_.after(delay, arrived_, token); }

 private:
  Engine& engine_;
  ReleasedSink released_;
  ArrivedSink arrived_;
  ReleasedAndArrivedSink both_;
};

}  // namespace orrery
