// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cstdint>

#include "bench/bench.h"
#include "core/engine.h"

namespace orrery::bench {
namespace {

// The hold model: every event delivered schedules one more, until `left` are done.
class Hold final : public EventSink, public InstantObserver {
 public:
  Hold(Engine& engine, std::uint64_t events) : engine_(engine), left_(events) {}
  void on_event(std::uint64_t payload) override {
    if (left_ == 0) return;
    --left_;
    state_ = state_ * 6364136223846793005u + 1442695040888963407u;  // Knuth's MMIX generator
    engine_.after(Duration(static_cast<std::int64_t>(state_ >> 44)), *this, payload);
  }
  void decide() override {}
  void settle() override {}

 private:
  Engine& engine_;
  std::uint64_t left_;
  std::uint64_t state_ = 1;
};

}  // namespace

double heap_rate() {
  constexpr std::uint64_t kEvents = 4'000'000;
  constexpr std::uint64_t kPending = 4096;
  const double seconds = best_seconds(3, [] {
    Engine engine;
    Hold hold(engine, kEvents);
    for (std::uint64_t i = 0; i < kPending; ++i) engine.after(Duration(static_cast<std::int64_t>(i)), hold, i);
    engine.run(hold);
  });
  return static_cast<double>(kEvents) / seconds;
}

}  // namespace orrery::bench
