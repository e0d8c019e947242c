// SPDX-License-Identifier: MIT
#include "report/timeline/timeline.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/compile.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "workload/matching/matching.h"

namespace orrery::report {
namespace {

constexpr std::size_t kMostSlices = 70'000;

std::string json_string(std::string_view text) {
  return nlohmann::json(printable(text, 200)).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

// Microseconds, exact to the picosecond.
std::string microseconds(Duration time) {
  return fmt::format(FMT_COMPILE("{}.{:06}"), time.count() / 1'000'000, time.count() % 1'000'000);
}
std::string microseconds(Time time) { return microseconds(time.time_since_epoch()); }

// Events as lines of the file, the first of which has no comma before it.
class EventWriter {
 public:
  EventWriter(const TimelineSource& source, const std::function<void(std::string_view)>& write)
      : source_(source), write_(write) {}

  void begin() {
    text_ =
        fmt::format("{{\"displayTimeUnit\": \"ms\", \"otherData\": {{\"program\": \"orrery\"}}, \"traceEvents\": [");
  }
  void end() {
    text_ += "\n]}\n";
    write_(text_);
  }

  void add(const RankTimeline& rank) {
    const auto pid = index_of(rank.chosen.rank);
    const std::string name = rank.chosen.stands_for > 1
                                 ? fmt::format("rank {} (like {} more)", pid, rank.chosen.stands_for - 1)
                                 : fmt::format("rank {}", pid);
    event(R"("ph":"M","pid":{},"name":"process_name","args":{{"name":{}}})", pid, json_string(name));
    event(R"("ph":"M","pid":{},"name":"process_sort_index","args":{{"sort_index":{}}})", pid, pid);
    names_.clear();
    for (std::size_t i = 0; i < rank.tracks.size(); ++i) {
      event(R"("ph":"M","pid":{},"tid":{},"name":"thread_name","args":{{"name":{}}})", pid, i + 1,
            json_string(rank.tracks[i].name));
      for (const Slice& slice : rank.tracks[i].slices) add(rank.chosen.rank, i + 1, slice);
    }
    write_(std::exchange(text_, {}));
  }

  // `flow`: of the message, which is drawn from the send's slice to the receive's.
  void add_flow(std::size_t flow, bool begins, RankId rank, std::size_t track, Time time) {
    event(R"("ph":"{}","bp":"e","id":{},"pid":{},"tid":{},"ts":{},"name":"message","cat":"message")",
          begins ? 's' : 'f', flow, index_of(rank), track, microseconds(time));
  }
  void add_memory(RankId rank, Time time, std::int64_t bytes) {
    event(R"("ph":"C","pid":{},"name":"memory, GiB","ts":{},"args":{{"GiB":{:.3f}}})", index_of(rank),
          microseconds(time), static_cast<double>(bytes) / (1 << 30));
  }
  void add_links(const RankLinkRates& rank, const LinkRate& rate) {
    std::string values;
    for (std::size_t i = 0; i < rank.classes.size(); ++i)
      values += fmt::format(FMT_COMPILE("{}{}:{:.4f}"), i == 0 ? "" : ",", json_string(rank.classes[i]),
                            rate.by_class[i] / 1e9);
    event(R"("ph":"C","pid":{},"name":"links, GB/s","ts":{},"args":{{{}}})", index_of(rank.rank),
          microseconds(rate.time), values);
  }

 private:
  void add(RankId rank, std::size_t track, const Slice& slice) {
    const std::string place =
        fmt::format(FMT_COMPILE(R"("pid":{},"tid":{},"ts":{})"), index_of(rank), track, microseconds(slice.start));
    std::string name = name_of(rank, slice.node);
    if (slice.operations > 1) name.insert(name.size() - 1, fmt::format(" and {} more", slice.operations - 1));
    event(R"("ph":"X",{},"dur":{},"name":{})", place, microseconds(slice.length()), name);
    if (slice.operations == 1 && slice.moving > slice.start && slice.moving <= slice.end)
      event(R"("ph":"X",{},"dur":{},"name":"waiting")", place, microseconds(slice.moving - slice.start));
  }

  const std::string& name_of(RankId rank, NodeId node) {
    const auto [known, is_new] = names_.try_emplace(node);
    if (is_new) known->second = json_string(source_.job.labels_of(rank).name(node));
    return known->second;
  }

  template <class... Parts>
  void event(fmt::format_string<Parts...> format, Parts&&... parts) {
    text_ += is_first_ ? "\n{" : ",\n{";
    is_first_ = false;
    fmt::format_to(std::back_inserter(text_), format, std::forward<Parts>(parts)...);
    text_ += '}';
  }

  const TimelineSource& source_;
  const std::function<void(std::string_view)>& write_;
  std::string text_;
  bool is_first_ = true;
  std::map<NodeId, std::string> names_;  // of the rank's program
};

// Positions of slices in the output, for operations that stand by themselves.
using Places = std::map<std::pair<RankId, NodeId>, std::pair<std::size_t, Slice>>;

Places transfers_of(const TimelineSource& source, std::span<const RankTimeline> ranks) {
  Places places;
  for (const RankTimeline& rank : ranks)
    for (std::size_t i = 0; i < rank.tracks.size(); ++i)
      for (const Slice& slice : rank.tracks[i].slices)
        if (slice.operations == 1 && workload::is_transfer(source.job.graph(rank.chosen.rank).kind(slice.node)))
          places.emplace(std::pair(rank.chosen.rank, slice.node), std::pair(i + 1, slice));
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
  writer.begin();
  for (const RankTimeline& rank : timelines.ranks) writer.add(rank);
  add_flows(source, timelines.ranks, writer);
  if (source.training) add_memory(source, timelines.ranks, timelines.merged, writer);
  for (const RankLinkRates& rank : links)
    for (const LinkRate& rate : rank.rates) writer.add_links(rank, rate);
  writer.end();
  return {timelines.slices, timelines.merged};
}

}  // namespace orrery::report
