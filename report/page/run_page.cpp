// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/files/json.h"
#include "report/page/page.h"
#include "report/parts.h"
#include "report/passes/passes.h"
#include "report/passes/schedule_drawing.h"

namespace orrery::report {
namespace {

using Json = nlohmann::ordered_json;

// Limits that keep a page below 3 MB, a quarter of which is d3.
constexpr std::size_t kMostRanks = 48;       // in the timeline
constexpr std::size_t kMostSlices = 50'000;  // some 20 bytes each
constexpr std::size_t kMostNames = 8'000;    // of operations
constexpr std::size_t kMostName = 60;        // characters
constexpr std::size_t kMostStages = 64;      // whose passes are drawn, of a job
constexpr std::size_t kMostPasses = 20'000;  // of all of these, some 30 bytes each
constexpr std::size_t kMostPipelines = 8;    // of several jobs, which share them
constexpr std::size_t kMostRows = 200;       // of any table
constexpr std::size_t kMostExperiment = 300'000;
constexpr std::size_t kMemoryRanks = 8;
constexpr std::int64_t kMemoryPoints = 500;  // of each of these
constexpr std::int64_t kMostTicks = 1'000'000'000;
constexpr std::int64_t kMostExactTicks =
    9'000'000'000'000'000;  // less than 2^53, up to which a browser's numbers are exact

// The first `most` of a list under `key`; how many there were stands beside it.
void cut(Json& document, const std::string& key, std::size_t most) {
  if (!document.contains(key) || document[key].size() <= most) return;
  Json& list = document[key];
  const std::size_t all = list.size();
  list.erase(list.begin() + static_cast<std::ptrdiff_t>(most), list.end());
  document[key + "_of"] = all;
}

Json document_of(const TimelineSource& source, const CriticalPath& path) {
  Json document = to_json(source.result, true);
  add_critical_path(path, source.result, document);
  for (const char* list : {"breakdown", "critical_ranks", "warnings", "shared_links", "jobs", "links"})
    cut(document, list, kMostRows);
  for (const char* list : {"breakdown", "jobs"})
    if (document.contains(list))
      for (Json& row : document[list]) row["members"] = printable(row["members"].get<std::string>(), 2 * kMostName);
  document["simulation"].erase("splits");
  if (document.contains("provenance")) cut(document["provenance"], "inputs", kMostRows);
  if (dump_json(document["experiment"]).size() > kMostExperiment) document["experiment"] = nullptr;
  return document;
}

// The i-th of `wanted` places that are spread evenly over `all`.
std::size_t evenly(std::size_t i, std::size_t wanted, std::size_t all) {
  return wanted < 2 ? 0 : i * (all - 1) / (wanted - 1);
}

// Evenly chosen: of a pipeline every so many stages.
std::vector<ChosenRank> shown_ranks(const Result& result, std::size_t most) {
  const std::vector<ChosenRank> all = chosen_ranks({}, result.class_of_rank);
  if (all.size() <= most) return all;
  std::vector<ChosenRank> shown;
  for (std::size_t i = 0; i < most; ++i) shown.push_back(all[evenly(i, most, all.size())]);
  return shown;
}

// Names by number; what has none here goes by that of its track.
class Names {
 public:
  int number_of(std::string name) {
    const auto known = numbers_.find(name);
    if (known != numbers_.end()) return known->second;
    if (list_.size() == kMostNames) return -1;
    const int number = static_cast<int>(list_.size());
    list_.push_back(name);
    numbers_.emplace(std::move(name), number);
    return number;
  }
  const Json& list() const { return list_; }

 private:
  std::map<std::string, int> numbers_;
  Json list_ = Json::array();
};

// [gap since the last, length, name, how many more operations, of the length: waiting, or, of several operations, the
// gaps between them] for each, one after the other.
Json slices_json(const Track& track, const workload::NodeLabels& labels, std::int64_t tick, Names& names) {
  Json numbers = Json::array();
  std::int64_t last = 0;
  const auto ticks = [tick](Time time) { return (time.time_since_epoch().count() + tick / 2) / tick; };
  for (const Slice& slice : track.slices) {
    const std::int64_t start = ticks(slice.start), end = ticks(slice.end);
    const bool waits = slice.operations == 1 && slice.moving > slice.start && slice.moving <= slice.end;
    numbers.push_back(start - last);
    numbers.push_back(end - start);
    numbers.push_back(names.number_of(printable(labels.name(slice.node), kMostName)));
    numbers.push_back(slice.operations - 1);
    const std::int64_t gaps = (slice.length() - slice.busy).count() / tick;
    numbers.push_back(waits ? ticks(slice.moving) - start : gaps);
    last = end;
  }
  return numbers;
}

std::int64_t tick_of(const Result& result, std::int64_t most) {
  std::int64_t tick = 1;
  while (result.finish.time_since_epoch().count() / tick > most) tick *= 10;
  return tick;
}

Json timeline_json(const TimelineSource& source) {
  const Timelines timelines = collect_timelines(source, shown_ranks(source.result, kMostRanks), kMostSlices);
  const std::int64_t tick = tick_of(source.result, kMostTicks);
  Names names;
  Json ranks = Json::array();
  for (const RankTimeline& rank : timelines.ranks) {
    Json tracks = Json::array();
    for (const Track& track : rank.tracks)
      tracks.push_back({{"name", printable(track.name, kMostName)},
                        {"slices", slices_json(track, source.job.labels_of(rank.chosen.rank), tick, names)}});
    ranks.push_back({{"rank", index_of(rank.chosen.rank)},
                     {"class", source.result.class_of_rank[index_of(rank.chosen.rank)]},
                     {"stands_for", rank.chosen.stands_for},
                     {"tracks", std::move(tracks)}});
  }
  return {{"tick_s", seconds(Duration(tick))},
          {"end_s", seconds(source.result.finish.time_since_epoch())},
          {"merged_s", seconds(timelines.merged)},
          {"classes", source.result.classes.size()},
          {"names", names.list()},
          {"ranks", std::move(ranks)}};
}

// [start since that of the last, length, kind, micro-batch, chunk, iteration, 1 if it has half of the row] for each,
// one after the other; times to the picosecond where a browser's numbers hold that.
Json spans_json(const RankPasses& rank, std::int64_t tick, std::size_t most) {
  Json numbers = Json::array();
  Time last;
  const std::vector<Lane> lanes = lanes_of(rank);
  for (std::size_t i = 0; i < std::min(most, rank.spans.size()); ++i) {
    const PassSpan& span = rank.spans[i];
    for (const std::int64_t number : {(span.start - last).count() / tick, span.length().count() / tick})
      numbers.push_back(number);
    for (const std::uint32_t number : {static_cast<std::uint32_t>(span.pass.kind), span.micro_batch, span.pass.chunk,
                                       span.iteration, std::uint32_t{lanes[i] != Lane::kWhole}})
      numbers.push_back(number);
    last = span.start;
  }
  return numbers;
}

Json intervals_json(std::span<const std::pair<Time, Time>> intervals, std::int64_t tick) {
  Json list = Json::array();
  for (const auto& [start, end] : intervals)
    list.push_back({start.time_since_epoch().count() / tick, end.time_since_epoch().count() / tick});
  return list;
}

// The bubbles among the first `most` passes of a rank: those of all of its time where it has no more.
Json bubbles_json(const RankPasses& rank, const Passes& passes, std::int64_t tick, std::size_t most) {
  std::vector<std::pair<Time, Time>> bubbles = bubbles_of(rank, passes.windows);
  if (most < rank.spans.size()) {
    const Time last = rank.spans[most - 1].start;
    std::erase_if(bubbles, [&](const auto& bubble) { return last < bubble.second; });
  }
  return intervals_json(bubbles, tick);
}

Json passes_json(const Passes& passes, const Result& result, std::size_t most_passes) {
  const std::int64_t tick = tick_of(result, kMostExactTicks);
  const std::size_t shown = std::min(kMostStages, passes.ranks.size());
  const std::size_t most = most_passes / shown;
  Json ranks = Json::array();
  std::size_t longest = 0;
  for (std::size_t i = 0; i < shown; ++i) {
    const RankPasses& rank = passes.ranks[evenly(i, shown, passes.ranks.size())];
    longest = std::max(longest, rank.spans.size());
    ranks.push_back({{"rank", index_of(rank.chosen.rank)},
                     {"stage", rank.stage},
                     {"busy", rank.busy.count() / tick},
                     {"bubble", rank.bubble.count() / tick},
                     {"spans", spans_json(rank, tick, most)},
                     {"gaps", bubbles_json(rank, passes, tick, most)}});
  }
  return {{"schedule", passes.schedule},
          {"stages", passes.stages},
          {"virtual_stages", passes.virtual_stages},
          {"micro_batches", passes.micro_batches},
          {"tick_s", seconds(Duration(tick))},
          {"windows", intervals_json(passes.windows, tick)},
          {"window", passes.window.count() / tick},
          {"bubble_share", passes.bubble_share()},
          {"first", longest > most ? most : 0},  // how many passes of a rank are here, where not all are
          {"ranks", std::move(ranks)}};
}

// Passes of each job that has a pipeline of several stages.
Json pipelines_json(const TimelineSource& source) {
  std::vector<std::pair<std::string, Passes>> pipelines;
  const std::size_t jobs = source.training ? std::min(kMostPipelines, source.training->pipelines.size()) : 0;
  for (std::size_t job = 0; job < jobs; ++job)
    if (std::optional<Passes> passes = collect_passes(source, job); passes && passes->stages > 1)
      pipelines.emplace_back(job < source.result.jobs.size() ? source.result.jobs[job].name : "", *std::move(passes));
  Json list = Json::array();
  for (const auto& [job, passes] : pipelines) {
    list.push_back(passes_json(passes, source.result, kMostPasses / pipelines.size()));
    list.back()["job"] = printable(job, kMostName);
  }
  return list;
}

// The most that was held in each such part of the time.
Json memory_points(const TimelineSource& source, RankId rank) {
  const std::int64_t whole = std::max<std::int64_t>(1, source.result.finish.time_since_epoch().count());
  std::vector<std::int64_t> most(kMemoryPoints, 0);
  std::int64_t held = 0, at = 0;
  for (const MemoryLevel& level : memory_levels(source, rank)) {
    const auto share =
        static_cast<long double>(level.time.time_since_epoch().count()) / static_cast<long double>(whole);
    const std::int64_t part = std::min(kMemoryPoints - 1, static_cast<std::int64_t>(share * kMemoryPoints));
    for (; at < part; ++at) most[static_cast<std::size_t>(at)] = std::max(most[static_cast<std::size_t>(at)], held);
    most[static_cast<std::size_t>(part)] = std::max({most[static_cast<std::size_t>(part)], held, level.bytes});
    held = level.bytes;
  }
  for (; at < kMemoryPoints; ++at)
    most[static_cast<std::size_t>(at)] = std::max(most[static_cast<std::size_t>(at)], held);
  return most;
}

Json memory_json(const TimelineSource& source) {
  std::vector<ChosenRank> ranks = shown_ranks(source.result, kMemoryRanks);
  if (source.result.training &&
      std::ranges::find(ranks, source.result.training->fullest, &ChosenRank::rank) == ranks.end())
    ranks.front().rank = source.result.training->fullest;
  Json list = Json::array();
  for (const ChosenRank& chosen : ranks)
    list.push_back({{"rank", index_of(chosen.rank)}, {"bytes", memory_points(source, chosen.rank)}});
  return list;
}

}  // namespace

Json run_page(const TimelineSource& source, const CriticalPath& path) {
  Json page = {{"kind", "run"}, {"document", document_of(source, path)}};
  Json parts = Json::array();
  for (const Part& part : mean_parts(source.result))
    parts.push_back({{"name", printable(part.name, kMostName)}, {"seconds", part.seconds}});
  page["parts"] = std::move(parts);
  Json bandwidths = Json::object();
  for (const LinkClassUse& use : source.result.links) bandwidths[printable(use.name, SIZE_MAX)] = use.bandwidth.count();
  page["bandwidths"] = std::move(bandwidths);
  page["pipelines"] = pipelines_json(source);
  page["timeline"] = timeline_json(source);
  if (source.training) page["memory"] = memory_json(source);
  return page;
}

}  // namespace orrery::report
