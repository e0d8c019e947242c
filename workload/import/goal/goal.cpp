// SPDX-License-Identifier: MIT
#include "workload/import/goal/goal.h"

#include <algorithm>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/error.h"
#include "core/files/read_file.h"
#include "workload/chakra/file.h"
#include "workload/graph/rank_list.h"
#include "workload/import/goal/text.h"
#include "workload/import/job_assembler.h"

namespace orrery::workload {
namespace {

bool is_wildcard(const GoalOperation& operation) {
  return operation.kind == GoalKind::kReceive && (operation.peer < 0 || operation.tag < 0);
}

// The sends to one rank that nobody asks for by name.
struct Leftover {
  std::map<std::int64_t, std::deque<const GoalOperation*>> by_source;  // in program order
  std::map<std::int64_t, std::size_t> taken;                           // by source
};

// Number of receives by name from (source, tag), for each rank.
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

// Sends for receives from "any" rank are chosen before anything runs, so that results do not depend on timing. Gives
// every such receive the rank and tag of a send that no receive by name takes. A receive that finds none is an error.
// Blocks are in the order of their ranks, one for each. Returns how many there were.
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

constexpr std::int64_t kPicosecondsPerNanosecond = 1'000;
constexpr std::int64_t kLongestCalc = Duration::max().count() / kPicosecondsPerNanosecond;

// One block for each rank, in the order of the ranks.
void check_ranks(const std::string& file, GoalSchedule& schedule, Diagnostics& diagnostics) {
  if (schedule.ranks == 0)
    return diagnostics.error({file, 1, 0}, "no num_ranks", "a GOAL schedule begins with num_ranks <n>");
  std::ranges::stable_sort(schedule.blocks, {}, &GoalRank::rank);
  std::vector<std::uint32_t> found;
  for (const GoalRank& block : schedule.blocks) {
    if (block.rank >= schedule.ranks)
      return diagnostics.error({file, block.line, 0},
                               fmt::format("rank {} is out of range: num_ranks is {}", block.rank, schedule.ranks),
                               "ranks count from 0");
    if (!found.empty() && found.back() == block.rank)
      return diagnostics.error({file, block.line, 0}, fmt::format("rank {} is given twice", block.rank));
    found.push_back(static_cast<std::uint32_t>(block.rank));
  }
  if (static_cast<std::int64_t>(found.size()) == schedule.ranks) return;
  diagnostics.error({file, 0, 0},
                    fmt::format("num_ranks is {}, but {}", schedule.ranks,
                                found.empty() ? "no rank is given" : fmt::format("only {} given", rank_list(found))),
                    "is the file cut off? a rank that does nothing is given as rank <r> { }");
}

void check_operations(const std::string& file, const GoalSchedule& schedule, Diagnostics& diagnostics) {
  for (const GoalRank& block : schedule.blocks) {
    for (const GoalOperation& operation : block.operations) {
      const Location where{file, operation.line, 0};
      if (operation.kind == GoalKind::kCalc) {
        if (operation.amount > kLongestCalc)
          diagnostics.error(where, "a calc beyond the 106 days that can be simulated");
        continue;
      }
      if (operation.amount > kMostNodeBytes.count())
        diagnostics.error(where, fmt::format("a message beyond {} bytes", kMostNodeBytes.count()));
      if (operation.peer >= schedule.ranks)
        diagnostics.error(where,
                          fmt::format("rank {} is out of range: num_ranks is {}", operation.peer, schedule.ranks),
                          "ranks count from 0");
      if (operation.peer == block.rank)
        diagnostics.error(where, fmt::format("rank {} sends to itself, or receives from itself", block.rank),
                          "write a copy within a rank as calc");
      if (operation.kind == GoalKind::kSend && operation.tag < 0)
        diagnostics.error(where, "a send needs a tag from 0", "-1, any tag, is for receives");
    }
  }
}

class ScheduleImporter {
 public:
  ScheduleImporter(const std::string& file, const GoalRank& block) : file_(file), block_(block) {}

  RankAssembler import() {
    std::set<std::uint32_t> cpus;
    for (const GoalOperation& operation : block_.operations)
      if (operation.kind == GoalKind::kCalc) cpus.insert(operation.cpu);
    for (const GoalOperation& operation : block_.operations) add(operation, cpus);
    add_dependencies();
    if (const std::vector<NodeId> cycle = rank_.cycle(); !cycle.empty()) refuse(cycle);
    return std::move(rank_);
  }

 private:
  void add(const GoalOperation& operation, const std::set<std::uint32_t>& cpus) {
    GraphNode node;
    const std::string label(operation.label);
    if (operation.kind == GoalKind::kCalc) {
      if (operation.amount > 0) {
        node.kind = NodeKind::kCompute;
        node.duration = Duration(operation.amount * kPicosecondsPerNanosecond);
        if (cpus.size() > 1)
          node.stream = 1 + static_cast<std::uint32_t>(std::distance(cpus.begin(), cpus.find(operation.cpu)));
      }
      rank_.add(node, label.empty() ? "calc" : label);
      return;
    }
    node.kind = operation.kind == GoalKind::kSend ? NodeKind::kSend : NodeKind::kReceive;
    node.bytes = Bytes(operation.amount);
    rank_.add_transfer(node, label.empty() ? std::string(name_of(node.kind)) : label,
                       RankId{static_cast<std::uint32_t>(operation.peer)}, operation.tag);
  }

  void add_dependencies() {
    std::vector<std::optional<NodeId>> starts(block_.operations.size());
    for (const GoalDependency& dependency : block_.dependencies)
      if (dependency.at_start && !starts[dependency.before])
        starts[dependency.before] =
            rank_.add({}, fmt::format("start of {}", block_.operations[dependency.before].label));
    for (const GoalDependency& dependency : block_.dependencies) {
      const NodeId before = dependency.at_start ? *starts[dependency.before] : NodeId{dependency.before};
      rank_.depend(NodeId{dependency.after}, before);
      // A node that starts with the later one waits for the earlier one as well.
      if (const std::optional<NodeId> start = starts[dependency.after]) rank_.depend(*start, before);
    }
  }

  [[noreturn]] void refuse(const std::vector<NodeId>& cycle) const {
    constexpr std::size_t kShown = 8;
    std::string names;
    for (std::size_t i = 0; i < std::min(cycle.size(), kShown); ++i)
      names += (i == 0 ? "" : " -> ") + printable(rank_.name(cycle[i]), 40);
    names += cycle.size() > kShown ? " -> ..." : " -> " + printable(rank_.name(cycle[0]), 40);
    throw InputError({file_, block_.line, 0}, fmt::format("rank {} waits for itself: {}", block_.rank, names),
                     "each of these comes before the next");
  }

  const std::string& file_;
  const GoalRank& block_;
  RankAssembler rank_;
};

void warn(const std::string& file, const GoalSchedule& schedule, std::size_t wildcards, Diagnostics& diagnostics) {
  if (wildcards > 0)
    diagnostics.warning({file, 0, 0}, fmt::format("{} receives from any rank or with any tag", wildcards),
                        "each takes a send that no other receive asks for; see the manual");
  for (const GoalRank& block : schedule.blocks) {
    std::set<std::uint32_t> cpus;
    for (const GoalOperation& operation : block.operations)
      if (operation.kind == GoalKind::kCalc) cpus.insert(operation.cpu);
    if (cpus.size() < 2) continue;
    return diagnostics.warning({file, block.line, 0},
                               fmt::format("rank {} computes on {} cpus", block.rank, cpus.size()),
                               "each is a stream of its own, in program order");
  }
}

}  // namespace

Job import_goal(const std::string& file, Diagnostics& diagnostics) {
  std::string text = read_text(file);
  if (is_gzip(text)) text = inflate_gzip(file, text);
  return import_goal_text(file, text, diagnostics);
}

Job import_goal_text(const std::string& file, std::string_view text, Diagnostics& diagnostics) {
  if (text.substr(0, 4096).find('\0') != std::string_view::npos)
    throw InputError({file}, "not text: is this a binary schedule?", "give the text that txt2bin was given");
  GoalSchedule schedule = read_goal_text(file, text, diagnostics);
  diagnostics.throw_if_errors();
  check_ranks(file, schedule, diagnostics);
  diagnostics.throw_if_errors();
  check_operations(file, schedule, diagnostics);
  diagnostics.throw_if_errors();
  const std::size_t wildcards = settle_wildcards(file, schedule, diagnostics);
  diagnostics.throw_if_errors();
  warn(file, schedule, wildcards, diagnostics);

  JobAssembler job(static_cast<std::uint32_t>(schedule.ranks));
  for (GoalRank& block : schedule.blocks) {
    job.add_ranks(ScheduleImporter(file, block).import(), file);
    block = {};  // a schedule is large
  }
  return job.finish();
}

}  // namespace orrery::workload
