// SPDX-License-Identifier: MIT
#include "workload/import/kineto/profiles.h"

#include <algorithm>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/files/json.h"
#include "core/files/read_file.h"
#include "workload/chakra/file.h"
#include "workload/graph/rank_list.h"
#include "workload/import/kineto/execution_trace.h"
#include "workload/import/kineto/link.h"
#include "workload/import/kineto/messages.h"

namespace orrery::workload {
namespace {

// Refuses texts that cannot be JSON at all, so that no advice about the profiler is given.
void refuse_other_formats(const std::string& file, std::string_view text) {
  constexpr std::size_t kTarMagic = 257;  // POSIX: "ustar" in the header of the first member
  if (text.size() > kTarMagic && text.substr(kTarMagic).starts_with("ustar"))
    throw InputError({file}, "is a tar archive, expected a profile", "unpack it with `tar xf`, and name what is in it");
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos || text[first] == '{' || text[first] == '[') return;
  if (is_json(text)) return;
  const std::string_view line = text.substr(first, text.find_first_of("\r\n", first) - first);
  throw InputError({file}, fmt::format("not JSON: it begins with '{}'", printable(line, 40)),
                   "expected a profile that torch.profiler exported with export_chrome_trace()");
}

std::string read_profile(const std::string& file) {
  std::string text = read_file(file);
  if (is_gzip(text)) text = inflate_gzip(file, text);
  drop_byte_order_mark(file, text);
  refuse_other_formats(file, text);
  refuse_unknown_schema(file, text);
  return text;
}

// Each operation may wait for one of every stream. PyTorch hands out 32 streams of each priority on a device, and each
// process group has its own.
void check_streams(const std::string& file, const KinetoTrace& trace) {
  constexpr std::size_t kMostStreams = 1024;
  std::set<std::pair<std::int64_t, std::int64_t>> streams;
  for (const KinetoOperation& operation : trace.operations) streams.emplace(operation.device, operation.stream);
  if (streams.size() <= kMostStreams) return;
  throw InputError({file},
                   fmt::format("operations on {} streams, at most {} are supported", streams.size(), kMostStreams),
                   "the stream of an operation is its args.stream, or else its tid");
}

KinetoTrace read_trace(const std::string& file, std::string_view text, KinetoDetail detail = KinetoDetail::kReplay) {
  KinetoTrace trace = read_kineto(file, text, detail);
  check_streams(file, trace);
  if (trace.operations.empty())
    throw InputError({file}, "no operation of a device among the events",
                     "record with ProfilerActivity.CUDA; kernels have cat \"kernel\", which a timeline of `orrery run` "
                     "has not: run its experiment again");
  return trace;
}

// "; not of ranks 2-7"; nothing about worlds that are too large to list.
std::string missing(const std::vector<std::uint32_t>& there, std::int64_t world) {
  constexpr std::int64_t kMostNamed = 4096;
  if (world > kMostNamed) return "";
  std::vector<std::uint32_t> gone;
  for (std::uint32_t rank = 0; rank < world; ++rank)
    if (!std::ranges::binary_search(there, rank)) gone.push_back(rank);
  return fmt::format("; not of {}", rank_list(gone));
}

constexpr std::int64_t kMostRanks = std::int64_t{1} << 24;

// A lone file may say nothing of its rank.
void add_trace(const std::string& file, KinetoTrace trace, bool is_alone, KinetoRanks& ranks) {
  if (is_alone && !trace.rank && !trace.world) trace.rank = 0, trace.world = 1;
  if (is_alone && trace.rank == 0 && !trace.world) trace.world = 1;
  if (!trace.rank || *trace.rank < 0 || *trace.rank >= UINT32_MAX)
    throw InputError({file}, "does not say which rank it is of",
                     "expected \"distributedInfo\": {\"rank\": ..., \"world_size\": ...}");
  if (trace.world && *trace.world < 1)
    throw InputError({file}, fmt::format("is of a world of {} ranks", *trace.world),
                     fmt::format("\"distributedInfo\": {{\"world_size\": ...}} has from 1 to {}", kMostRanks));
  const std::int64_t rank = *trace.rank;
  const auto [known, is_new] = ranks.try_emplace(rank, KinetoRank{file, std::move(trace)});
  if (!is_new)
    throw InputError({file}, fmt::format("is of rank {}, and so is {}", rank, printable(known->second.file)));
}

using ExecutionTraces = std::map<std::string, ExecutionTrace>;  // by file

// The profile that an execution trace belongs to: of the same process, or rank, or the only one there is.
KinetoRank& partner_of(const std::string& file, const ExecutionTrace& execution, std::size_t traces,
                       KinetoRanks& ranks) {
  std::vector<KinetoRank*> of_process;
  for (auto& [rank, one] : ranks)
    if (execution.process && one.trace.process == execution.process) of_process.push_back(&one);
  if (of_process.size() == 1) return *of_process.front();
  const auto of_rank = ranks.find(execution.rank().value_or(-1));
  if (ranks.size() > 1 && of_rank != ranks.end()) return of_rank->second;
  const bool is_other = execution.process && ranks.begin()->second.trace.process;
  if (ranks.size() == 1 && traces == 1 && !is_other) return ranks.begin()->second;
  throw InputError({file},
                   fmt::format("is an execution trace of process {}, of which there {}",
                               execution.process ? std::to_string(*execution.process) : "?",
                               of_process.empty() ? "is no profile" : "are several profiles"),
                   "give the profile of the same step and rank");
}

// Gives the communication of all profiles its notes. Throws InputError.
std::size_t link_all(const ExecutionTraces& traces, KinetoRanks& ranks, Diagnostics& diagnostics) {
  for (auto& [rank, one] : ranks) note_host_calls(one.trace);
  std::size_t linked = 0;
  for (const auto& [file, execution] : traces) {
    try {
      linked += link_execution_trace(file, execution, partner_of(file, execution, traces.size(), ranks).trace);
    } catch (const InputError& error) {
      for (const Problem& problem : error.problems()) diagnostics.error(problem.where, problem.message, problem.hint);
    }
  }
  diagnostics.throw_if_errors();
  for (auto& [rank, one] : ranks) note_kernels(one.trace);
  return linked;
}

// The most ranks of a group that the profile notes.
std::int64_t largest_group(const KinetoTrace& trace) {
  std::int64_t most = 0;
  for (const KinetoOperation& operation : trace.operations) {
    if (operation.message) most = std::max(most, operation.message->group_size);
    for (const KinetoMessage& message : operation.batch) most = std::max(most, message.group_size);
  }
  return most;
}

// Derives the number of ranks where no file says it: as many as the highest rank and the largest group need.
void derive_world(KinetoRanks& ranks, Diagnostics& diagnostics) {
  std::int64_t world = 1;
  for (const auto& [rank, one] : ranks) {
    if (one.trace.world) return;
    world = std::max({world, rank + 1, largest_group(one.trace)});
  }
  const KinetoRank& last = ranks.rbegin()->second;
  diagnostics.warning({last.file},
                      fmt::format("no profile says how many ranks there are: taken as {}, by the highest rank, {}, and "
                                  "the groups",
                                  world, ranks.rbegin()->first),
                      "\"distributedInfo\": {\"rank\": ..., \"world_size\": ...} says it");
  for (auto& [rank, one] : ranks) one.trace.world = world;
}

struct Interval {
  KinetoTime begin = 0;
  KinetoTime end = 0;
};

// The operations of a trace, from the first to the last, on the clock of the day.
Interval span_of(const KinetoTrace& trace) {
  Interval span{INT64_MAX, INT64_MIN};
  for (const KinetoOperation& operation : trace.operations) {
    span.begin = std::min(span.begin, operation.begin);
    span.end = std::max(span.end, operation.end);
  }
  return {span.begin + trace.base, span.end + trace.base};
}

// Total time of the collectives that all ranks call, each from the arrival of the last rank to the departure of the
// first. Nothing where one began on some rank after it had ended on another, which only clocks that differ can show,
// and where there is no collective of several ranks.
std::optional<KinetoTime> time_in_collectives(const KinetoRanks& ranks) {
  constexpr KinetoTime kTolerance = 50'000;  // of clocks, and of what the profiler rounds
  struct Call {
    Interval common;  // to all that make it
    std::size_t ranks = 0;
  };
  std::map<std::pair<std::string, std::size_t>, Call> calls;  // by group and number
  for (const auto& [rank, one] : ranks) {
    std::vector<const KinetoOperation*> collectives;
    for (const KinetoOperation& operation : one.trace.operations) {
      const auto kind = operation.message ? operation_kind(operation.message->collective) : std::nullopt;
      if (kind && kind->type == KinetoOperationKind::Type::kCollective) collectives.push_back(&operation);
    }
    std::ranges::stable_sort(collectives, {}, [](const KinetoOperation* operation) { return operation->begin; });
    std::map<std::string, std::size_t> numbers;
    for (const KinetoOperation* const operation : collectives) {
      const std::string group = operation->message->group + operation->message->ranks;
      Call& call = calls.try_emplace({group, numbers[group]++}, Call{{INT64_MIN, INT64_MAX}}).first->second;
      ++call.ranks;
      call.common = {std::max(call.common.begin, operation->begin + one.trace.base),
                     std::min(call.common.end, operation->end + one.trace.base)};
      if (call.common.begin > call.common.end + kTolerance) return std::nullopt;
    }
  }
  KinetoTime sum = 0;
  bool is_shared = false;
  for (const auto& [key, call] : calls) {
    is_shared = is_shared || call.ranks > 1;
    if (call.ranks == ranks.size()) sum += std::max<KinetoTime>(call.common.end - call.common.begin, 0);
  }
  return is_shared ? std::optional(sum) : std::nullopt;
}

}  // namespace

KinetoTrace read_lone_profile(const std::string& file, std::optional<std::string_view> text, KinetoDetail detail) {
  const std::string own = text ? std::string() : read_profile(file);
  KinetoTrace trace = read_trace(file, text ? *text : std::string_view(own), detail);
  note_host_calls(trace);
  note_kernels(trace);
  return trace;
}

KinetoRanks read_profiles(std::span<const std::string> files, std::optional<std::string_view> text,
                          Diagnostics& diagnostics, KinetoFacts& facts) {
  std::vector<std::pair<std::string, KinetoTrace>> profiles;
  ExecutionTraces traces;
  for (const std::string& file : files) {
    try {
      const std::string read = text ? std::string() : read_profile(file);
      const std::string_view content = text ? *text : std::string_view(read);
      if (is_execution_trace(content) && files.size() > 1)
        traces.emplace(file, read_execution_trace(file, content));
      else
        profiles.emplace_back(file, read_trace(file, content));
    } catch (const InputError& error) {
      for (const Problem& problem : error.problems()) diagnostics.error(problem.where, problem.message, problem.hint);
    }
  }
  diagnostics.throw_if_errors();
  if (profiles.empty())
    throw InputError({files.front()}, "is an execution trace, and so are the others: they have no times of the device",
                     "give the Kineto profiles of the same step, too");
  // Old profiles do not say their rank; the execution trace may.
  const bool is_pair = profiles.size() == 1 && traces.size() == 1;
  if (is_pair && !profiles.front().second.rank) profiles.front().second.rank = traces.begin()->second.rank();
  if (is_pair && !profiles.front().second.world) profiles.front().second.world = traces.begin()->second.world;
  KinetoRanks ranks;
  for (auto& [file, trace] : profiles) {
    try {
      add_trace(file, std::move(trace), profiles.size() == 1, ranks);
    } catch (const InputError& error) {
      for (const Problem& problem : error.problems()) diagnostics.error(problem.where, problem.message, problem.hint);
    }
  }
  diagnostics.throw_if_errors();
  facts.linked = link_all(traces, ranks, diagnostics);
  derive_world(ranks, diagnostics);
  return ranks;
}

void check_profiles(const KinetoRanks& ranks, Diagnostics& diagnostics) {
  std::int64_t world = 0;
  for (const auto& [rank, one] : ranks) world = std::max(world, one.trace.world.value_or(rank + 1));
  std::vector<std::uint32_t> there;
  for (const auto& [rank, one] : ranks) {
    there.push_back(static_cast<std::uint32_t>(rank));
    if (one.trace.world && *one.trace.world != world)
      diagnostics.error({one.file},
                        fmt::format("is of a world of {} ranks, another file of {}", *one.trace.world, world));
    if (rank >= world) diagnostics.error({one.file}, fmt::format("is of rank {} in a world of {}", rank, world));
  }
  if (static_cast<std::int64_t>(there.size()) != world)
    diagnostics.error(
        {ranks.begin()->second.file},
        fmt::format("the world is {} ranks, but there {} of {} only{}", world,
                    there.size() == 1 ? "is a profile" : "are profiles", rank_list(there), missing(there, world)),
        fmt::format("give the files of the others, or let {} stand for all: --symmetric, or symmetric: true of an "
                    "experiment",
                    there.size() == 1 ? "this one" : "these"));
  diagnostics.throw_if_errors();
}

std::uint32_t world_of_profiles(const KinetoRanks& ranks) {
  const auto& [rank, one] = *ranks.rbegin();
  std::int64_t world = 1;
  for (const auto& [number, other] : ranks) world = std::max(world, other.trace.world.value_or(1));
  if (world > kMostRanks || rank >= world)
    throw InputError({one.file}, fmt::format("is of rank {} in a world of {}", rank, world),
                     fmt::format("a world has from 1 to {} ranks", kMostRanks));
  return static_cast<std::uint32_t>(world);
}

std::map<std::int64_t, KinetoTime> starts_of(const KinetoRanks& ranks, KinetoFacts& facts, Diagnostics& diagnostics) {
  std::map<std::int64_t, KinetoTime> starts;
  Interval all{INT64_MAX, INT64_MIN};
  KinetoTime shortest = INT64_MAX, longest = -1;
  const KinetoTrace* longest_trace = nullptr;
  for (const auto& [rank, one] : ranks) {
    const Interval span = span_of(one.trace);
    all = {std::min(all.begin, span.begin), std::max(all.end, span.end)};
    starts[rank] = span.begin;
    shortest = std::min(shortest, span.end - span.begin);
    if (span.end - span.begin > longest) longest = span.end - span.begin, longest_trace = &one.trace;
  }
  facts.device = longest_trace->device;
  facts.profiles = static_cast<std::uint32_t>(ranks.size());
  const std::optional<KinetoTime> exchanging = ranks.size() > 1 ? time_in_collectives(ranks) : std::nullopt;
  facts.has_common_clock = exchanging.has_value();
  const auto duration = [](KinetoTime time) {
    return Duration(std::min(time, Duration::max().count() / kPicosecondsPerKinetoTick) * kPicosecondsPerKinetoTick);
  };
  facts.longest = duration(longest);
  facts.exchanging = duration(exchanging.value_or(0));
  facts.measured = duration(facts.has_common_clock ? all.end - all.begin : shortest);
  for (const KinetoOperation& operation : longest_trace->operations)
    (operation.is_communication ? facts.communicating : facts.computing) += duration(operation.end - operation.begin);
  for (auto& [rank, start] : starts) start = facts.has_common_clock ? start - all.begin : 0;
  if (ranks.size() > 1 && !facts.has_common_clock)
    diagnostics.warning({ranks.begin()->second.file},
                        "the clocks of the ranks do not agree: each begins with its first operation, all at once",
                        "profiles of one node, or of nodes with synchronised clocks, keep who began late");
  return starts;
}

}  // namespace orrery::workload
