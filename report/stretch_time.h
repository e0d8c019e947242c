// SPDX-License-Identifier: MIT
// Uses of a rank's time by a stretch that it goes through once more, if nothing else is under way: for the account of
// its time, which is the same each time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/units.h"
#include "system/execution/observer.h"
#include "workload/graph/execution_graph.h"

namespace orrery::report {

class StretchTime {
 public:
  // State of the rank for a while. Times count from when the stretch began.
  struct Step {
    Duration from{};
    bool device = false;       // it computes
    bool slowed = false;       // a computation would be done, had no call slowed it
    bool calls = false;        // a collective moves
    std::uint32_t first = 0;   // `calls`: offset of the first of them in the program
    std::uint32_t slot = 0;    // its communicator's
    Duration computed{};       // before this step
    Duration slowed_before{};  // of it, `slowed` alone
    Duration idle_before{};
  };
  // Time in a part of the stretch: `exposed` by slots().
  struct Sums {
    Duration compute{}, slowed{}, idle{};
  };

  StretchTime(const workload::ExecutionGraph& graph, const system::RepetitionRecord& stretch);

  // True if a computation waits for the host in it, or the host for an operation.
  bool concerns_host() const { return concerns_host_; }
  // False of a rest behind a tail that holds all operations.
  bool has_parts() const { return first_start_ < Duration::max(); }
  // First start of all operations, if there are any; of those that take time the first start and the last end.
  Duration first_start() const { return first_start_; }
  Duration begin() const { return steps_.front().from; }
  Duration end() const { return steps_.back().from; }
  bool takes_time() const { return !steps_.empty(); }
  // Steps that follow one another; the last one, in which nothing is under way, begins at end().
  std::span<const Step> steps() const { return steps_; }
  std::size_t step_at(Duration time) const;
  Sums sums_between(Duration from, Duration to) const;
  // Communicators whose calls are exposed in it, and for how long.
  std::span<const std::uint32_t> slots() const { return slots_; }
  Duration exposed_between(Duration from, Duration to, std::size_t place) const;

 private:
  Sums sums_before(Duration time) const;
  Duration exposed_before(Duration time, std::size_t place) const;

  bool concerns_host_ = false;
  Duration first_start_{};
  std::vector<Step> steps_;
  std::vector<std::uint32_t> slots_;
  std::vector<Duration> exposed_;  // by step, by place in slots_: before it
};

}  // namespace orrery::report
