// SPDX-License-Identifier: MIT
// Timeline of the ranks as data for pictures: slices on tracks. Slices of a track never overlap: operations of a kind
// that do are on tracks of their own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "report/operation_log.h"
#include "report/rank_choice.h"
#include "report/result.h"
#include "workload/graph/job.h"
#include "workload/training/program/generate_job.h"

namespace orrery::report {

// Source of a timeline. All outlive it.
struct TimelineSource {
  const workload::Job& job;
  const std::optional<workload::TrainingFacts>& training;
  const OperationLog& log;
  std::span<const RankId> acting;  // by rank: whose operations the log has for it
  const Result& result;
};

// One operation, or several that follow one another on a track.
struct Slice {
  Time start;
  Time moving;
  Time end;
  NodeId node{};
  std::uint32_t operations = 1;

  Duration length() const { return end - start; }
};

struct Track {
  std::string name;
  std::vector<Slice> slices;  // by start, none overlaps the next
};

struct RankTimeline {
  ChosenRank chosen;
  std::vector<Track> tracks;
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
