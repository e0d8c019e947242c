#include "workload/import/goal/wildcards.h"

#include <algorithm>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <utility>

#include <fmt/format.h>

namespace orrery {
namespace {

bool is_wildcard(const GoalOperation& operation) {
  return operation.kind == GoalKind::kReceive && (operation.peer < 0 || operation.tag < 0);
}

// The sends to one rank that nobody asks for by name.
struct Leftover {
  std::map<std::int64_t, std::deque<const GoalOperation*>> by_source;  // in program order
  std::map<std::int64_t, std::size_t> taken;                           // by source
};

// How many receives by name there are of (source, tag), for each rank.
using Named = std::map<std::pair<std::int64_t, std::int64_t>, std::size_t>;

std::vector<Named> receives_by_name(const GoalSchedule& schedule) {
  std::vector<Named> result(schedule.blocks.size());
  for (std::size_t rank = 0; rank < schedule.blocks.size(); ++rank)
    for (const GoalOperation& operation : schedule.blocks[rank].operations)
      if (operation.kind == GoalKind::kReceive && !is_wildcard(operation))
        ++result[rank][{operation.peer, operation.tag}];
  return result;
}

std::vector<Leftover> leftover_sends(const GoalSchedule& schedule) {
  std::vector<Named> named = receives_by_name(schedule);
  std::vector<Leftover> result(schedule.blocks.size());
  for (const GoalRank& block : schedule.blocks) {
    for (const GoalOperation& operation : block.operations) {
      if (operation.kind != GoalKind::kSend) continue;
      const auto to = static_cast<std::size_t>(operation.peer);
      const auto asked = named[to].find({block.rank, operation.tag});
      if (asked != named[to].end() && asked->second > 0)
        --asked->second;
      else
        result[to].by_source[block.rank].push_back(&operation);
    }
  }
  return result;
}

// The source of a send for `receive`, among those with the fewest taken the lowest; nothing when there is none. Only
// the first send of a source counts: messages do not overtake one another.
std::optional<std::int64_t> choose(const GoalOperation& receive, Leftover& leftover) {
  std::optional<std::int64_t> best;
  for (const auto& [source, sends] : leftover.by_source) {
    if (receive.peer >= 0 && receive.peer != source) continue;
    if (sends.front()->amount != receive.amount) continue;
    if (receive.tag >= 0 && sends.front()->tag != receive.tag) continue;
    if (!best || leftover.taken[source] < leftover.taken[*best]) best = source;
  }
  return best;
}

void take(std::int64_t source, GoalOperation& receive, Leftover& leftover) {
  const auto sends = leftover.by_source.find(source);
  receive.peer = source;
  receive.tag = sends->second.front()->tag;
  sends->second.pop_front();
  if (sends->second.empty()) leftover.by_source.erase(sends);
  ++leftover.taken[source];
}

}  // namespace

std::size_t settle_wildcards(const std::string& file, GoalSchedule& schedule, Diagnostics& diagnostics) {
  std::size_t count = 0;
  for (const GoalRank& block : schedule.blocks)
    count += static_cast<std::size_t>(std::ranges::count_if(block.operations, is_wildcard));
  if (count == 0) return 0;

  std::vector<Leftover> leftover = leftover_sends(schedule);
  for (std::size_t rank = 0; rank < schedule.blocks.size(); ++rank) {
    for (GoalOperation& operation : schedule.blocks[rank].operations) {
      if (!is_wildcard(operation)) continue;
      if (const auto source = choose(operation, leftover[rank])) {
        take(*source, operation, leftover[rank]);
        continue;
      }
      diagnostics.error({file, operation.line, 0},
                        fmt::format("no send is left for this receive of {} bytes from any rank", operation.amount),
                        "receives that name their rank and tag take their sends first");
      return count;
    }
  }
  return count;
}

}  // namespace orrery
