// SPDX-License-Identifier: MIT
#include "core/engine.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <compare>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "core/error.h"

using namespace orrery;

namespace {

// Records what is delivered; `decide` and `settle` run what the test gives them.
struct Recorder final : EventSink, InstantObserver {
  std::vector<std::uint64_t> delivered;
  std::vector<char> calls;
  std::function<void()> on_decide = [] {};
  std::function<void()> on_settle = [] {};
  std::uint64_t parts = 0;  // of payload p: p + 100, p + 200, ...

  void on_event(std::uint64_t payload) override {
    delivered.push_back(payload);
    calls.push_back('e');
  }
  void add_parts(std::uint64_t payload, std::vector<std::uint64_t>& added) override {
    for (std::uint64_t part = 1; part <= parts; ++part) added.push_back(payload + 100 * part);
  }
  void decide() override {
    calls.push_back('d');
    on_decide();
  }
  void settle() override {
    calls.push_back('s');
    on_settle();
  }
};

std::string text(const std::vector<char>& calls) { return {calls.begin(), calls.end()}; }

}  // namespace

TEST_CASE("events are delivered by time, then order, then sequence") {
  Engine engine;
  Recorder recorder;
  engine.at(Time(Duration(20)), recorder, 1);
  engine.at(Time(Duration(10)), recorder, 2, 5);
  engine.at(Time(Duration(10)), recorder, 3, 4);
  engine.at(Time(Duration(10)), recorder, 4, 5);
  CHECK(engine.run(recorder) == Time(Duration(20)));
  CHECK(recorder.delivered == std::vector<std::uint64_t>{3, 2, 4, 1});
}

TEST_CASE("an instant delivers all, decides once a round, settles when no round is left") {
  Engine engine;
  Recorder recorder;
  int rounds = 0;
  // The first decision makes something due now: a second round, before the one settling.
  recorder.on_decide = [&] {
    if (rounds++ == 0) engine.after(Duration::zero(), recorder, 9);
  };
  engine.at(Time{}, recorder, 1);
  engine.at(Time{}, recorder, 2);
  engine.run(recorder);
  CHECK(text(recorder.calls) == "eededs");
  CHECK(recorder.delivered == std::vector<std::uint64_t>{1, 2, 9});
}

TEST_CASE("what a delivery makes due now belongs to the next round") {
  struct Chain final : EventSink {
    Engine& engine;
    Recorder& recorder;
    Chain(Engine& e, Recorder& r) : engine(e), recorder(r) {}
    void on_event(std::uint64_t payload) override {
      recorder.on_event(payload);
      if (payload == 1) engine.after(Duration::zero(), *this, 7, 0);
    }
  };
  Engine engine;
  Recorder recorder;
  Chain chain(engine, recorder);
  engine.at(Time{}, chain, 1, 0);
  engine.at(Time{}, recorder, 2, 9);  // a later order, but this round: before 7
  engine.run(recorder);
  CHECK(recorder.delivered == std::vector<std::uint64_t>{1, 2, 7});
  CHECK(text(recorder.calls) == "eededs");
}

TEST_CASE("settling that makes something due now is settled again") {
  Engine engine;
  Recorder recorder;
  int settled = 0;
  recorder.on_settle = [&] {
    if (settled++ == 0) engine.after(Duration::zero(), recorder, 5);
  };
  engine.at(Time{}, recorder, 1);
  engine.run(recorder);
  CHECK(text(recorder.calls) == "edseds");
}

TEST_CASE("a cancelled event is not delivered, and its handle is harmless afterwards") {
  Engine engine;
  Recorder recorder;
  const EventHandle first = engine.at(Time(Duration(5)), recorder, 1);
  CHECK(engine.cancel(first));
  CHECK_FALSE(engine.cancel(first));
  const EventHandle second = engine.at(Time(Duration(5)), recorder, 2);
  CHECK_FALSE(engine.cancel(first));
  engine.run(recorder);
  CHECK(recorder.delivered == std::vector<std::uint64_t>{2});
  CHECK_FALSE(engine.cancel(second));
  CHECK_FALSE(engine.cancel(EventHandle{}));
  CHECK(engine.pending() == 0);
}

TEST_CASE("when pending events come apart, each part comes at the time and in the order of the whole") {
  Engine engine;
  Recorder whole, apart;
  apart.parts = 2;
  engine.at(Time(Duration(10)), whole, 1);
  engine.at(Time(Duration(20)), apart, 2, 5);
  engine.at(Time(Duration(20)), apart, 3, 4);
  engine.at(Time(Duration(30)), whole, 4);
  engine.cancel(engine.at(Time(Duration(30)), apart, 5));
  whole.on_decide = [&] {
    if (engine.now() > Time(Duration(10)) || apart.parts == 0) return;
    engine.after(Duration::zero(), apart, 6);  // of the next round, and so are its parts
    engine.split_pending();
    apart.parts = 0;
  };
  CHECK(engine.run(whole) == Time(Duration(30)));
  CHECK(whole.delivered == std::vector<std::uint64_t>{1, 4});
  CHECK(apart.delivered == std::vector<std::uint64_t>{6, 106, 206, 3, 103, 203, 2, 102, 202});
}

TEST_CASE("the end of simulated time is an error, not an overflow") {
  Engine engine;
  Recorder recorder;
  CHECK_THROWS_AS(engine.after(Duration::max(), recorder, 1), InputError);
}

TEST_CASE("ten thousand random events with cancellations come out by time, order and sequence") {
  // 997 times of which each comes back again and again: many events at once, and more times than the engine keeps open.
  struct Expected {
    Time time;
    std::uint32_t order;
    std::uint64_t payload;  // in the sequence of scheduling
    auto operator<=>(const Expected&) const = default;
  };
  std::mt19937_64 random(1);
  Engine engine;
  Recorder recorder;
  std::vector<Expected> expected;
  for (std::uint64_t i = 0; i < 10'000; ++i) {
    const Time time(Duration(static_cast<std::int64_t>(random() % 997)));
    const std::uint32_t order = random() % 8 == 0 ? static_cast<std::uint32_t>(random() % 3) : 0;
    const EventHandle handle = engine.at(time, recorder, i, order);
    if (random() % 3 == 0)
      CHECK(engine.cancel(handle));
    else
      expected.push_back({time, order, i});
  }
  std::ranges::sort(expected);
  CHECK(engine.pending() == expected.size());
  engine.run(recorder);
  std::vector<std::uint64_t> payloads;
  for (const Expected& event : expected) payloads.push_back(event.payload);
  CHECK(recorder.delivered == payloads);
  CHECK(engine.delivered() == expected.size());
}

TEST_CASE("an instant in which all is cancelled does not happen") {
  Engine engine;
  Recorder recorder;
  engine.at(Time(Duration(5)), recorder, 1);
  const EventHandle first = engine.at(Time(Duration(9)), recorder, 2);
  const EventHandle second = engine.at(Time(Duration(9)), recorder, 3);
  engine.cancel(first);
  engine.cancel(second);
  CHECK(engine.run(recorder) == Time(Duration(5)));
  CHECK(text(recorder.calls) == "eds");
}

TEST_CASE("a delivery cancels an event of its own round") {
  struct Canceller final : EventSink {
    Engine& engine;
    EventHandle victim;
    explicit Canceller(Engine& e) : engine(e) {}
    void on_event(std::uint64_t) override { CHECK(engine.cancel(victim)); }
  };
  Engine engine;
  Recorder recorder;
  Canceller canceller(engine);
  engine.at(Time{}, canceller, 0);
  canceller.victim = engine.at(Time{}, recorder, 1);
  engine.at(Time{}, recorder, 2);
  engine.run(recorder);
  CHECK(recorder.delivered == std::vector<std::uint64_t>{2});
}
