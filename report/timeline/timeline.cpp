// SPDX-License-Identifier: MIT
#include "report/timeline/timeline.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <iterator>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/compile.h>
#include <fmt/format.h>

#include "core/files/trace_events.h"
#include "report/operations/operation_facts.h"
#include "workload/matching/matching.h"

namespace orrery::report {
namespace {

constexpr std::size_t kMostSlices = 70'000;

std::string trace_time(Time time) { return orrery::trace_time(time.time_since_epoch()); }
std::string trace_time(Duration time) { return orrery::trace_time(time); }

// Chrome's colours of passes, by kind: blue, green, orange. Perfetto chooses its own, by the letters of the name.
constexpr std::array<std::string_view, 3> kPassColours = {"rail_response", "rail_load", "rail_idle"};

// "F3 and 2 more".
std::string with_more(std::string name, std::uint32_t count) {
  return count == 1 ? name : fmt::format("{} and {} more", name, count - 1);
}

// Position of the bubbles among the threads of a rank, behind those of the passes; none if it has no bubbles.
std::optional<std::size_t> place_of_bubbles(const RankTimeline& rank) {
  if (rank.bubbles.empty()) return std::nullopt;
  std::size_t behind = 0;
  for (std::size_t i = 0; i < rank.tracks.size(); ++i)
    if (!rank.tracks[i].passes.empty()) behind = i + 1;
  return behind;
}

// Threads are numbered from 1.
std::uint64_t thread_of(const RankTimeline& rank, std::size_t track) {
  const std::optional<std::size_t> bubbles = place_of_bubbles(rank);
  return track + 1 + (bubbles && track >= *bubbles ? 1 : 0);
}

// Events of the ranks.
class EventWriter {
 public:
  EventWriter(const TimelineSource& source, const std::function<void(std::string_view)>& write)
      : source_(source), events_(write) {}

  void end() { events_.end(); }

  void add(const RankTimeline& rank) {
    const auto pid = index_of(rank.chosen.rank);
    events_.process(pid, rank.chosen.stands_for > 1
                             ? fmt::format("rank {} (like {} more)", pid, rank.chosen.stands_for - 1)
                             : fmt::format("rank {}", pid));
    const RankFacts facts(source_, rank.chosen);
    for (std::size_t i = 0; i < rank.tracks.size(); ++i) {
      const std::uint64_t thread = thread_of(rank, i);
      events_.thread(pid, thread, rank.tracks[i].name);
      auto pass = rank.tracks[i].passes.begin();
      for (const Slice& slice : rank.tracks[i].slices) {
        for (; pass != rank.tracks[i].passes.end() && pass->start <= slice.start; ++pass) add(rank, thread, *pass);
        add(facts, pid, thread, slice);
      }
      for (; pass != rank.tracks[i].passes.end(); ++pass) add(rank, thread, *pass);
    }
    if (const std::optional<std::size_t> place = place_of_bubbles(rank)) add_bubbles(rank, *place + 1);
  }

  // `flow`: of the message, which is drawn from the send's slice to the receive's.
  void add_flow(std::size_t flow, bool begins, RankId rank, std::uint64_t thread, Time time) {
    events_.arrow(flow, begins, {index_of(rank), thread, trace_time(time)}, "message");
  }
  void add_memory(RankId rank, Time time, std::int64_t bytes) {
    events_.counter({index_of(rank), 0, trace_time(time)}, "memory, GiB",
                    fmt::format(R"("GiB":{:.3f})", static_cast<double>(bytes) / (1 << 30)));
  }
  void add_links(const RankLinkRates& rank, const LinkRate& rate) {
    std::string values;
    for (std::size_t i = 0; i < rank.classes.size(); ++i)
      values += fmt::format(FMT_COMPILE("{}{}:{:.4f}"), i == 0 ? "" : ",", json_string(rank.classes[i]),
                            rate.by_class[i] / 1e9);
    events_.counter({index_of(rank.rank), 0, trace_time(rate.time)}, "links, GB/s", values);
  }

 private:
  void add(const RankTimeline& rank, std::uint64_t thread, const PassSlice& pass) {
    const workload::PassKind kind = pass.first.pass.kind;
    events_.slice({index_of(rank.chosen.rank), thread, trace_time(pass.start)},
                  trace_time(enclosing_length(pass.start, pass.end)), with_more(name_of(pass.first), pass.passes),
                  fmt::format(R"({},"start_ps":{},"end_ps":{})", json_arguments(pass.first, rank.stage),
                              pass.start.time_since_epoch().count(), pass.end.time_since_epoch().count()),
                  kPassColours[static_cast<std::size_t>(kind)]);
  }

  void add(const RankFacts& facts, std::uint64_t pid, std::uint64_t thread, const Slice& slice) {
    const std::string start = trace_time(slice.start);
    const OperationFacts own = facts.of({slice.node, slice.number, slice.start, slice.moving, slice.end, {}});
    const std::string arguments =
        slice.operations == 1 ? json_arguments(own) : fmt::format(R"("operations":{})", slice.operations);
    events_.slice({pid, thread, start}, trace_time(slice.length()), with_more(std::string(own.name), slice.operations),
                  arguments);
    if (slice.operations == 1 && slice.moving > slice.start && slice.moving <= slice.end)
      events_.slice({pid, thread, start}, trace_time(slice.moving - slice.start), "waiting");
  }

  // `idle_ps` is exact, also where bubbles are put together.
  void add_bubbles(const RankTimeline& rank, std::uint64_t thread) {
    const auto pid = index_of(rank.chosen.rank);
    events_.thread(pid, thread, "bubble");
    for (const Bubble& bubble : rank.bubbles)
      events_.slice({pid, thread, trace_time(bubble.start)}, trace_time(bubble.length()),
                    with_more("bubble", bubble.bubbles), fmt::format(R"("idle_ps":{})", bubble.idle.count()), "grey");
  }

  const TimelineSource& source_;
  TraceEvents events_;
};

// Positions of slices in the output, for operations that stand by themselves.
using Places = std::map<std::pair<RankId, NodeId>, std::pair<std::uint64_t, Slice>>;

Places transfers_of(const TimelineSource& source, std::span<const RankTimeline> ranks) {
  Places places;
  for (const RankTimeline& rank : ranks)
    for (std::size_t i = 0; i < rank.tracks.size(); ++i)
      for (const Slice& slice : rank.tracks[i].slices)
        if (slice.operations == 1 && workload::is_transfer(source.job.graph(rank.chosen.rank).kind(slice.node)))
          places.emplace(std::pair(rank.chosen.rank, slice.node), std::pair(thread_of(rank, i), slice));
  return places;
}

// From every send to its receive, where both are shown.
void add_flows(const TimelineSource& source, std::span<const RankTimeline> ranks, EventWriter& writer) {
  const Places places = transfers_of(source, ranks);
  if (places.empty()) return;
  const workload::Matching matching = workload::match(source.job);
  std::size_t flow = 0;
  for (const auto& [send, place] : places) {
    const workload::ExecutionGraph& graph = source.job.graph(send.first);
    if (graph.kind(send.second) != workload::NodeKind::kSend) continue;
    const workload::TransferEnd end = matching.end(send.first, graph.transfer_index(send.second));
    const auto receive = places.find({end.rank, end.node});
    if (receive == places.end()) continue;
    writer.add_flow(++flow, true, send.first, place.first, place.second.start);
    writer.add_flow(flow, false, end.rank, receive->second.first, receive->second.second.end);
  }
}

void add_memory(const TimelineSource& source, std::span<const RankTimeline> ranks, Duration merged,
                EventWriter& writer) {
  for (const RankTimeline& rank : ranks) {
    const std::vector<MemoryLevel> levels = memory_levels(source, rank.chosen.rank);
    writer.add_memory(rank.chosen.rank, levels.front().time, levels.front().bytes);
    std::optional<Time> last;
    for (const MemoryLevel& level : std::span(levels).subspan(1)) {
      if (last && level.time - *last < merged) continue;
      writer.add_memory(rank.chosen.rank, level.time, level.bytes);
      last = level.time;
    }
  }
}

}  // namespace

TimelineSize write_timeline(const TimelineSource& source, std::span<const ChosenRank> ranks,
                            std::span<const RankLinkRates> links, const std::function<void(std::string_view)>& write) {
  const Timelines timelines =
      collect_timelines(source, ranks.first(std::min(ranks.size(), kMostTimelineRanks)), kMostSlices);
  EventWriter writer(source, write);
  for (const RankTimeline& rank : timelines.ranks) writer.add(rank);
  add_flows(source, timelines.ranks, writer);
  if (source.training) add_memory(source, timelines.ranks, timelines.merged, writer);
  for (const RankLinkRates& rank : links)
    for (const LinkRate& rate : rank.rates) writer.add_links(rank, rate);
  writer.end();
  return {timelines.slices, timelines.merged};
}

}  // namespace orrery::report
