// SPDX-License-Identifier: MIT
#include "report/timeline/tracks.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "report/memory_changes.h"

namespace orrery::report {
namespace {

using system::OperationRecord;

constexpr Duration kFirstMerged = Duration(100'000);  // 100 ns

// The slices of one rank.
class RankTracks {
 public:
  RankTracks(const TimelineSource& source, RankId rank) : source_(source), rank_(rank), graph_(source.job.graph(rank)) {
    std::vector<OperationRecord> operations = source.log.of(source.acting[index_of(rank)]);
    std::ranges::stable_sort(operations, {}, &OperationRecord::start);
    for (const OperationRecord& operation : operations)
      if (operation.end > operation.start) add(operation);
    for (auto& [name, lanes] : lanes_)
      for (std::size_t i = 0; i < lanes.size(); ++i)
        tracks_.push_back({i == 0 ? name : fmt::format("{} {}", name, i + 1), std::move(lanes[i])});
  }

  std::vector<Track> take() && { return std::move(tracks_); }

 private:
  // On the first track of its kind that is free.
  void add(const OperationRecord& operation) {
    std::vector<std::vector<Slice>>& lanes = lanes_[track_of(operation.node)];
    auto lane = std::ranges::find_if(
        lanes, [&](const std::vector<Slice>& slices) { return slices.back().end <= operation.start; });
    if (lane == lanes.end()) lane = lanes.insert(lanes.end(), std::vector<Slice>{});
    lane->push_back({operation.start, operation.moving, operation.end, operation.node});
  }

  std::string track_of(NodeId node) const {
    switch (graph_.kind(node)) {
      case workload::NodeKind::kHostCompute:
        return "host";
      case workload::NodeKind::kMemoryLoad:
      case workload::NodeKind::kMemoryStore:
        return "memory";
      case workload::NodeKind::kCopyToHost:
        return "copies to host";
      case workload::NodeKind::kCopyToDevice:
        return "copies to device";
      case workload::NodeKind::kCollective: {
        const std::string& name = source_.job.communicators[index_of(source_.job.communicator(rank_, node))].name;
        const auto family = source_.result.group_family.find(name);
        return family == source_.result.group_family.end() ? name : family->second;
      }
      case workload::NodeKind::kSend:
      case workload::NodeKind::kReceive:
        return fmt::format("{} {}", source_.job.peer_family(rank_, node),
                           graph_.kind(node) == workload::NodeKind::kSend ? "send" : "receive");
      default:
        return graph_.stream(node) == 0 ? "compute" : fmt::format("compute, stream {}", graph_.stream(node));
    }
  }

  const TimelineSource& source_;
  RankId rank_;
  const workload::ExecutionGraph& graph_;
  std::map<std::string, std::vector<std::vector<Slice>>> lanes_;  // by kind of track
  std::vector<Track> tracks_;
};

// Neighbours that are shorter than `merged`, and closer, become one that is not longer.
std::vector<Slice> merge(std::span<const Slice> slices, Duration merged) {
  std::vector<Slice> result;
  for (const Slice& slice : slices) {
    const bool joins = !result.empty() && slice.length() < merged && result.back().length() < merged &&
                       slice.end - result.back().start <= merged;
    if (!joins) {
      result.push_back(slice);
      continue;
    }
    Slice& last = result.back();
    last.end = slice.end;
    last.moving = last.start;
    last.operations += slice.operations;
  }
  return result;
}

std::size_t count(std::span<const RankTimeline> ranks) {
  std::size_t slices = 0;
  for (const RankTimeline& rank : ranks)
    for (const Track& track : rank.tracks) slices += track.slices.size();
  return slices;
}

}  // namespace

Timelines collect_timelines(const TimelineSource& source, std::span<const ChosenRank> ranks, std::size_t most_slices) {
  Timelines timelines;
  for (const ChosenRank& chosen : ranks) timelines.ranks.push_back({chosen, RankTracks(source, chosen.rank).take()});
  while (count(timelines.ranks) > most_slices && timelines.merged < source.result.finish.time_since_epoch()) {
    timelines.merged = timelines.merged == Duration::zero() ? kFirstMerged : 2 * timelines.merged;
    for (RankTimeline& rank : timelines.ranks)
      for (Track& track : rank.tracks) track.slices = merge(track.slices, timelines.merged);
  }
  timelines.slices = count(timelines.ranks);
  return timelines;
}

std::vector<MemoryLevel> memory_levels(const TimelineSource& source, RankId rank) {
  const workload::ProgramMemory& program = source.training->memory[source.job.ranks[index_of(rank)].graph];
  std::int64_t now = program.need.standing().count();
  std::vector<MemoryLevel> levels = {{Time{}, now}};
  for (const auto& [time, bytes] :
       memory_changes(program, source.log.of(source.acting[index_of(rank)]), source.job.graph(rank).written_out_size()))
    levels.push_back({time, now += bytes});
  return levels;
}

}  // namespace orrery::report
