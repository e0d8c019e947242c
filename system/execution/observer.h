// SPDX-License-Identifier: MIT
// Interface through which a simulation tells observers what happens.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "core/ids.h"
#include "core/units.h"

namespace orrery::system {

// One finished operation of a rank.
struct OperationRecord {
  NodeId node{};
  std::uint32_t number = 0;  // ExecutionGraph::number(); in a repetition `node` is that of the stretch
  Time start;                // when the rank issued it
  // collective: when the last member had come; receive: when the sender started; send: when its receive was posted, if
  // it waited for that; else `start`
  Time moving;
  Time end;
  Duration slowed{};  // computation: by which the rank's calls and sends beside it delayed the end; its last part
};

// Record of a program's stretch as it ran, counted from its first start.
struct StretchRecord {
  struct Part {
    std::uint32_t offset = 0;  // from the first node of the stretch
    Duration start{};
    Duration moving{};
    Duration end{};
    Duration slowed{};
  };
  std::vector<Part> parts;  // by end
  Duration tail{};          // when what comes after it goes on
  Duration end{};
  std::size_t until_tail = 0;    // parts that end by then
  bool begins_on_stream = true;  // its first nodes compute: they may have to wait for the stream
  std::vector<NodeId> calls;     // the stretch's first of each communicator
  // Time by which the host must be ahead of the stretch's beginning, so that nothing waits for it before the first
  // synchronisation; nothing if the host takes no time. And when it goes on behind the last one, if there is one.
  std::optional<Duration> host_lead{};
  std::optional<Duration> synchronised{};
};

// A stretch that was gone through once more.
struct RepetitionRecord {
  std::shared_ptr<const StretchRecord> record;
  NodeId first{};            // of the stretch
  std::uint32_t number = 0;  // of the repetition's first node: ExecutionGraph::number()
  Time begin;
  bool is_rest = false;  // the parts that end after its tail, else those that do not

  std::span<const StretchRecord::Part> parts() const {
    const std::span<const StretchRecord::Part> all = record->parts;
    return is_rest ? all.subspan(record->until_tail) : all.first(record->until_tail);
  }
  OperationRecord operation(const StretchRecord::Part& part) const {
    return {NodeId(index_of(first) + part.offset),
            number + part.offset,
            begin + part.start,
            begin + part.moving,
            begin + part.end,
            part.slowed};
  }
};

class SimulationObserver {
 public:
  // Tells the operations of each rank in order of `end`; those that end at one instant come in no particular order. It
  // may be told ahead of the simulated time, as soon as nothing can change it.
  virtual void finished(RankId rank, const OperationRecord& operation) = 0;
  // When it is over: its operations ended before.
  virtual void repeated(RankId rank, const RepetitionRecord& repetition) = 0;
  // All that `parent` was told to have finished so far, `rank` has as well; from here on it is told by itself.
  virtual void split(RankId rank, RankId parent) = 0;
  // All that was told so far counts no more: the simulation begins anew.
  virtual void begin_anew() = 0;

 protected:
  ~SimulationObserver() = default;
};

// Nodes done so far, of how many. Called now and then.
using SimulationProgress = std::function<void(std::uint64_t done, std::uint64_t total)>;

}  // namespace orrery::system
