// SPDX-License-Identifier: MIT
#include "workload/import/kineto/world.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "workload/chakra/file.h"
#include "workload/graph/rank_list.h"
#include "workload/import/kineto/events.h"

namespace orrery::workload {
namespace {

bool is_batch(const KinetoOperation& operation) {
  if (!operation.is_communication) return false;
  if (operation.message) return operation.message->collective == "coalesced";
  return operation.name.find("SendRecv") != std::string::npos;
}

// External ids of calls with a kernel of their own; nothing when one has none.
std::optional<std::set<std::int64_t>> single_calls(const KinetoTrace& trace) {
  std::set<std::int64_t> result;
  for (const KinetoOperation& operation : trace.operations) {
    if (!operation.message || (operation.message->collective != "send" && operation.message->collective != "recv"))
      continue;
    if (operation.external < 0) return std::nullopt;
    result.insert(operation.external);
  }
  return result;
}

// Batches by the time of the call that launched them.
std::vector<std::pair<KinetoTime, KinetoOperation*>> launched_batches(KinetoTrace& trace) {
  std::unordered_map<std::int64_t, KinetoTime> launches;
  for (const KinetoLaunch& launch : trace.launches) launches.emplace(launch.correlation, launch.begin);
  std::vector<std::pair<KinetoTime, KinetoOperation*>> result;
  for (KinetoOperation& operation : trace.operations) {
    if (!is_batch(operation)) continue;
    if (const auto launch = launches.find(operation.correlation); launch != launches.end())
      result.emplace_back(launch->second, &operation);
  }
  std::ranges::stable_sort(result, {}, &std::pair<KinetoTime, KinetoOperation*>::first);
  return result;
}

// Sends and receives that c10d runs together, as batch_isend_irecv does, are one kernel, which has no notes of its own:
// they are on the calls of the host. Gives every kernel of NCCL that exchanges messages and has no notes, or
// "coalesced" ones, the sends and receives that the host had called since the batch before. Calls that have a kernel of
// their own, by their external id, are not among them; where kernels of single messages have no such id, nothing can be
// told, and nothing is given.
void give_batches(KinetoTrace& trace) {
  if (std::ranges::none_of(trace.operations, is_batch)) return;
  const std::optional<std::set<std::int64_t>> singles = single_calls(trace);
  if (!singles) return;
  std::vector<KinetoHostMessage> calls = trace.host_messages;
  std::erase_if(calls, [&](const KinetoHostMessage& call) { return singles->contains(call.external); });
  std::ranges::stable_sort(calls, {}, &KinetoHostMessage::begin);
  auto next = calls.begin();
  for (auto& [launch, operation] : launched_batches(trace))
    for (; next != calls.end() && next->begin <= launch; ++next) operation->batch.push_back(next->message);
}

std::string read_text(const std::string& file) {
  std::string text = read_file(file);
  return is_gzip(text) ? inflate_gzip(file, text) : text;
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

KinetoTrace read_trace(const std::string& file, std::string_view text) {
  KinetoTrace trace = read_kineto(file, text);
  give_batches(trace);
  check_streams(file, trace);
  if (trace.operations.empty())
    throw InputError({file}, "no operation of a device among the events",
                     "record with ProfilerActivity.CUDA; kernels have cat \"kernel\"");
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

class KinetoWorldReader {
 public:
  // Of so many files. With `replicate`, one file may stand for all ranks.
  KinetoWorldReader(std::size_t files, bool replicate, Diagnostics& diagnostics)
      : files_(files), replicate_(replicate && files == 1), diagnostics_(diagnostics) {}

  // Errors are collected. `text` is that of the file; nothing: it is read.
  void add(const std::string& file, std::optional<std::string_view> text) {
    try {
      add_trace(file, text ? read_trace(file, *text) : read_trace(file, read_text(file)));
    } catch (const InputError& error) {
      for (const Problem& problem : error.problems()) diagnostics_.error(problem.where, problem.message, problem.hint);
    }
  }

  // Throws InputError with all errors: of files, and of ranks that are missing or contradict one another.
  KinetoWorld take() {
    diagnostics_.throw_if_errors();
    KinetoWorld world;
    world.replicate = replicate_;
    if (replicate_)
      world.size = world_of_one();
    else
      check_ranks();
    diagnostics_.throw_if_errors();
    for (auto& [rank, one] : by_rank_) world.ranks.push_back(std::move(one));
    if (!replicate_) world.size = static_cast<std::uint32_t>(world.ranks.size());
    return world;
  }

 private:
  void add_trace(const std::string& file, KinetoTrace trace) {
    const bool is_alone = files_ == 1 && !trace.rank && !trace.world;
    if (is_alone) trace.rank = 0, trace.world = 1;
    if (!trace.rank || *trace.rank < 0 || *trace.rank >= UINT32_MAX)
      throw InputError({file}, "does not say which rank it is of",
                       "expected \"distributedInfo\": {\"rank\": ..., \"world_size\": ...}");
    const std::int64_t rank = *trace.rank;
    const auto [known, is_new] = by_rank_.try_emplace(rank, KinetoRank{file, std::move(trace)});
    if (!is_new)
      throw InputError({file}, fmt::format("is of rank {}, and so is {}", rank, printable(known->second.file)));
  }

  void check_ranks() {
    std::int64_t world = 0;
    for (const auto& [rank, file] : by_rank_) world = std::max(world, file.trace.world.value_or(rank + 1));
    std::vector<std::uint32_t> there;
    for (const auto& [rank, file] : by_rank_) {
      there.push_back(static_cast<std::uint32_t>(rank));
      if (file.trace.world && *file.trace.world != world)
        diagnostics_.error({file.file},
                           fmt::format("is of a world of {} ranks, another file of {}", *file.trace.world, world));
      if (rank >= world) diagnostics_.error({file.file}, fmt::format("is of rank {} in a world of {}", rank, world));
    }
    if (static_cast<std::int64_t>(there.size()) == world) return;
    diagnostics_.error(
        {by_rank_.begin()->second.file},
        fmt::format("the world is {} ranks, but there {} of {} only{}", world,
                    there.size() == 1 ? "is a profile" : "are profiles", rank_list(there), missing(there, world)),
        there.size() == 1 ? "give the files of the others, or let this one stand for all (replicate)"
                          : "give the files of the others");
  }

  std::uint32_t world_of_one() const {
    const auto& [rank, one] = *by_rank_.begin();
    constexpr std::int64_t kMostRanks = std::int64_t{1} << 24;
    const std::int64_t world = one.trace.world.value_or(1);
    if (world < 1 || world > kMostRanks || rank >= world)
      throw InputError({one.file}, fmt::format("is of rank {} in a world of {}", rank, world),
                       fmt::format("a world has from 1 to {} ranks", kMostRanks));
    return static_cast<std::uint32_t>(world);
  }

  std::size_t files_;
  bool replicate_;
  Diagnostics& diagnostics_;
  std::map<std::int64_t, KinetoRank> by_rank_;
};

}  // namespace

KinetoWorld read_kineto_world(std::span<const std::string> files, std::optional<std::string_view> text, bool replicate,
                              Diagnostics& diagnostics) {
  KinetoWorldReader reader(files.size(), replicate, diagnostics);
  for (const std::string& file : files) reader.add(file, text);
  return reader.take();
}

}  // namespace orrery::workload
