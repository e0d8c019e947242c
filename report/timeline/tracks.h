// SPDX-License-Identifier: MIT
// Timeline of the ranks as data for pictures: slices on tracks. Slices of a track never overlap: operations of a kind
// that do are on tracks of their own. The kernels of a pass of a micro-batch are on one track, within the pass.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "report/passes/passes.h"
#include "report/rank_choice.h"
#include "report/timeline_source.h"

namespace orrery::report {

// One operation, or several that follow one another on a track.
struct Slice {
  Time start;
  Time moving;
  Time end;
  NodeId node{};
  std::uint32_t number = 0;  // OperationRecord::number
  std::uint32_t operations = 1;
  std::uint32_t place = 0;  // among the track's passes: 2 i before the pass i, 2 i + 1 in it
  Duration busy{};          // time of its operations: its length without the gaps between them

  Duration length() const { return end - start; }
};

// One pass, or several that follow one another on a track.
struct PassSlice {
  PassSpan first;
  Time start;
  Time end;
  std::uint32_t passes = 1;

  Duration length() const { return end - start; }
};

// One stretch of time in which a rank of a pipeline is in no pass, or several.
struct Bubble {
  Time start;
  Time end;
  Duration idle{};  // of the time until the end
  std::uint32_t bubbles = 1;

  Duration length() const { return end - start; }
};

struct Track {
  std::string name;
  std::vector<Slice> slices;      // by start, none overlaps the next
  std::vector<PassSlice> passes;  // likewise; every slice lies in one of them or outside of all
};

struct RankTimeline {
  ChosenRank chosen;
  std::vector<Track> tracks;
  std::optional<std::uint32_t> stage{};  // place in its pipeline
  std::vector<Bubble> bubbles{};         // by start
};

struct Timelines {
  std::vector<RankTimeline> ranks;
  Duration merged{};  // what is shorter may have been put together with its neighbours; zero: nothing was
  std::size_t slices = 0;
};

Timelines collect_timelines(const TimelineSource& source, std::span<const ChosenRank> ranks, std::size_t most_slices);

// Memory that a rank of a training job holds from a time on.
struct MemoryLevel {
  Time time;
  std::int64_t bytes = 0;
};
std::vector<MemoryLevel> memory_levels(const TimelineSource& source, RankId rank);

}  // namespace orrery::report
