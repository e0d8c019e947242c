// SPDX-License-Identifier: MIT
#include "workload/import/kineto/kineto.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "workload/chakra/file.h"
#include "workload/graph/findings.h"
#include "workload/graph/rank_list.h"
#include "workload/import/job_assembler.h"
#include "workload/import/kineto/events.h"
#include "workload/import/kineto/messages.h"
#include "workload/import/kineto/timeline.h"

namespace orrery::workload {
namespace {

constexpr std::int64_t kPicosecondsPerTick = 1'000;

constexpr std::string_view kOtherCommunicationHint =
    "they keep the times that they had in the profile on every cluster, and no rank waits for another in them: a "
    "profile does not say what they send. A job from a model (`model: NAME` in place of traces) simulates its messages";

constexpr std::string_view kNoNotesHint =
    "c10d notes sizes and groups since PyTorch 2.2; record with CPU and CUDA activities on, since a kernel gets them "
    "from the call that launched it";

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

struct KinetoRank {
  std::string file;
  KinetoTrace trace;  // which says its rank
};

using KinetoRanks = std::map<std::int64_t, KinetoRank>;

// A lone file may say nothing of its rank.
void add_trace(const std::string& file, KinetoTrace trace, bool is_alone, KinetoRanks& ranks) {
  if (is_alone && !trace.rank && !trace.world) trace.rank = 0, trace.world = 1;
  if (!trace.rank || *trace.rank < 0 || *trace.rank >= UINT32_MAX)
    throw InputError({file}, "does not say which rank it is of",
                     "expected \"distributedInfo\": {\"rank\": ..., \"world_size\": ...}");
  const std::int64_t rank = *trace.rank;
  const auto [known, is_new] = ranks.try_emplace(rank, KinetoRank{file, std::move(trace)});
  if (!is_new)
    throw InputError({file}, fmt::format("is of rank {}, and so is {}", rank, printable(known->second.file)));
}

// Throws InputError with the errors of all files. `text` is that of the one file, if it has been read already.
KinetoRanks read_ranks(std::span<const std::string> files, std::optional<std::string_view> text,
                       Diagnostics& diagnostics) {
  KinetoRanks ranks;
  for (const std::string& file : files) {
    try {
      add_trace(file, read_trace(file, text ? *text : std::string_view(read_text(file))), files.size() == 1, ranks);
    } catch (const InputError& error) {
      for (const Problem& problem : error.problems()) diagnostics.error(problem.where, problem.message, problem.hint);
    }
  }
  diagnostics.throw_if_errors();
  return ranks;
}

// Throws InputError where ranks are missing or contradict one another.
void check_ranks(const KinetoRanks& ranks, Diagnostics& diagnostics) {
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
        there.size() == 1 ? "give the files of the others, or let this one stand for all: --replicate"
                          : "give the files of the others");
  diagnostics.throw_if_errors();
}

// Of the one rank that stands for all.
std::uint32_t world_of(std::int64_t rank, const KinetoRank& one) {
  constexpr std::int64_t kMostRanks = std::int64_t{1} << 24;
  const std::int64_t world = one.trace.world.value_or(1);
  if (world < 1 || world > kMostRanks || rank >= world)
    throw InputError({one.file}, fmt::format("is of rank {} in a world of {}", rank, world),
                     fmt::format("a world has from 1 to {} ranks", kMostRanks));
  return static_cast<std::uint32_t>(world);
}

// One rank's trace as nodes.
class ProfileImporter {
 public:
  ProfileImporter(const KinetoTrace& trace, std::uint32_t rank, KinetoGroups& groups, Findings& findings)
      : trace_(trace), rank_(rank), groups_(groups), findings_(findings) {}

  RankAssembler import() {
    const KinetoTimeline timeline = make_timeline(trace_);
    if (timeline.overlaps > 0)
      findings_.warning(
          "operations began more than a microsecond before the one in front on their stream had ended; they begin "
          "after it",
          fmt::format("{} of {}", timeline.overlaps, timeline.steps.size()));
    number_streams();
    if (!fits(timeline)) return {};
    for (const KinetoStep& step : timeline.steps) add(step);
    return std::move(result_);
  }

 private:
  static std::string describe(const KinetoOperation& operation) {
    return fmt::format("event {} \"{}\"", operation.event, printable(operation.name, 60));
  }

  bool fits(const KinetoTimeline& timeline) {
    if (timeline.waits > kMostKinetoWaits) {
      findings_.error(fmt::format("operations wait for one another more than {} times", kMostKinetoWaits),
                      fmt::format("{} operations on {} streams", trace_.operations.size(), streams_.size()),
                      "a shorter profile");
      return false;
    }
    KinetoTime last = timeline.steps.front().begin;
    for (const KinetoStep& step : timeline.steps) last = std::max(last, step.end);
    if (last - timeline.steps.front().begin <= Duration::max().count() / kPicosecondsPerTick) return true;
    findings_.error("the profile is longer than the 106 days that can be simulated", {});
    return false;
  }

  void number_streams() {
    for (const KinetoOperation& operation : trace_.operations) streams_[{operation.device, operation.stream}] = 0;
    std::uint32_t next = 1;
    for (auto& [stream, number] : streams_) number = next++;
  }

  void add(const KinetoStep& step) {
    const KinetoOperation& operation = trace_.operations[step.operation];
    const std::optional<NodeId> host = add_host(step);
    GraphNode node;
    node.stream = streams_.at({operation.device, operation.stream});
    if (step.end > step.begin) node.duration = Duration((step.end - step.begin) * kPicosecondsPerTick);
    const auto wait = [&](NodeId id) {
      if (host) result_.depend(id, *host);
      for (const std::uint32_t before : step.after) result_.depend(id, nodes_[before]);
      return id;
    };
    if (!operation.is_communication)
      nodes_.push_back(wait(add_computation(operation, node)));
    else if (operation.batch.empty())
      nodes_.push_back(wait(add_communication(operation, operation.message, node)));
    else
      nodes_.push_back(add_batch(operation, node, wait));
  }

  // The node of the host that the step waits for.
  std::optional<NodeId> add_host(const KinetoStep& step) {
    if (!step.waits_for_host || step.host == 0) return step.waits_for_host ? host_ : std::nullopt;
    const NodeId id =
        result_.add({.kind = NodeKind::kHostCompute, .duration = Duration(step.host * kPicosecondsPerTick)}, "host");
    if (host_) result_.depend(id, *host_);
    if (step.host_after)
      for (const std::uint32_t before : step.after) result_.depend(id, nodes_[before]);
    host_ = id;
    return id;
  }

  // Names are long and few.
  std::string_view other_communication_of(const std::string& kernel) {
    const auto [known, is_new] = other_communication_.try_emplace(kernel);
    if (is_new) known->second = other_communication(kernel);
    return known->second;
  }

  NodeId add_computation(const KinetoOperation& operation, GraphNode node) {
    if (const std::string_view library = other_communication_of(operation.name); !library.empty())
      findings_.warning(
          fmt::format("kernels of {} seem to move data between GPUs, and are taken as computing", library),
          describe(operation), kOtherCommunicationHint);
    if (node.duration)
      node.kind = NodeKind::kCompute;
    else
      node.stream = 0;
    return result_.add(node, operation.name);
  }

  // All at once; the kernel has ended when they have.
  template <class Wait>
  NodeId add_batch(const KinetoOperation& operation, const GraphNode& node, Wait wait) {
    std::vector<NodeId> parts;
    for (const KinetoMessage& message : operation.batch)
      parts.push_back(wait(add_communication(operation, message, node)));
    if (parts.size() == 1) return parts[0];
    const NodeId end = result_.add({}, "end of " + operation.name);
    for (const NodeId part : parts) result_.depend(end, part);
    return end;
  }

  // Errors become findings; the node is a computation then.
  NodeId add_communication(const KinetoOperation& operation, const std::optional<KinetoMessage>& message,
                           GraphNode node) {
    try {
      if (!message) throw KinetoProblem("kernels of NCCL without notes of c10d");
      return add_message(operation, *message, node);
    } catch (const KinetoProblem& problem) {
      findings_.error(problem.what(), describe(operation), message ? "" : kNoNotesHint);
      return add_computation(operation, node);
    }
  }

  NodeId add_message(const KinetoOperation& operation, const KinetoMessage& message, GraphNode node) {
    const std::optional<KinetoOperationKind> kind = operation_kind(message.collective);
    if (!kind) throw KinetoProblem(fmt::format("unknown collective \"{}\"", printable(message.collective, 40)));
    const GroupId group = groups_.find(trace_, message, rank_);
    const bool is_barrier =
        kind->type == KinetoOperationKind::Type::kCollective && kind->collective == CollectiveKind::kBarrier;
    node.bytes = is_barrier ? Bytes() : bytes_of(message, *kind);
    if (kind->type == KinetoOperationKind::Type::kCollective) {
      node.kind = NodeKind::kCollective;
      node.collective = kind->collective;
      return result_.add_collective(node, operation.name, group);
    }
    const bool is_send = kind->type == KinetoOperationKind::Type::kSend;
    node.kind = is_send ? NodeKind::kSend : NodeKind::kReceive;
    return result_.add_transfer(node, operation.name, RankId{peer(message, group, is_send)}, 0);
  }

  static Bytes bytes_of(const KinetoMessage& message, const KinetoOperationKind& kind) {
    const bool is_input = kind.type != KinetoOperationKind::Type::kReceive;
    const std::int64_t elements = is_input ? message.input_elements : message.output_elements;
    if (elements < 0)
      throw KinetoProblem(
          fmt::format("no \"{} msg nelems\" on a {}", is_input ? "In" : "Out", printable(message.collective, 40)));
    const std::optional<std::int64_t> size = element_size(message.type);
    if (!size) throw KinetoProblem(fmt::format("elements of an unknown type, \"{}\"", printable(message.type, 40)));
    if (elements > kMostNodeBytes.count() / *size)
      throw KinetoProblem(fmt::format("a message beyond {} bytes", kMostNodeBytes.count()));
    return Bytes(elements * *size);
  }

  // c10d counts peers within their group.
  std::uint32_t peer(const KinetoMessage& message, GroupId group, bool is_send) const {
    const std::int64_t position = is_send ? message.destination : message.source;
    if (position < 0)
      throw KinetoProblem(
          fmt::format("a {} without \"{} Rank\"", is_send ? "send" : "receive", is_send ? "Dst" : "Src"));
    std::int64_t rank = position;
    if (!groups_.is_world(group)) {
      const std::vector<std::uint32_t>& members = groups_.members(group);
      if (position >= static_cast<std::int64_t>(members.size()))
        throw KinetoProblem(fmt::format("peer {} is not in its process group of {} ranks", position, members.size()));
      rank = members[static_cast<std::size_t>(position)];
    } else if (position >= groups_.world()) {
      throw KinetoProblem(fmt::format("peer {} is not in the world of {} ranks", position, groups_.world()));
    }
    if (rank == rank_) throw KinetoProblem("a send to itself, or a receive from itself");
    return static_cast<std::uint32_t>(rank);
  }

  const KinetoTrace& trace_;
  std::uint32_t rank_;
  KinetoGroups& groups_;
  Findings& findings_;
  std::map<std::pair<std::int64_t, std::int64_t>, std::uint32_t> streams_;
  RankAssembler result_;
  std::vector<NodeId> nodes_;  // by step
  std::optional<NodeId> host_;
  std::unordered_map<std::string, std::string_view> other_communication_;
};

// With `options.replicate`, one file may stand for all ranks.
Job make_job(std::span<const std::string> files, std::optional<std::string_view> text, const KinetoOptions& options,
             Diagnostics& diagnostics) {
  KinetoRanks ranks = read_ranks(files, text, diagnostics);
  const bool replicate = options.replicate && files.size() == 1;
  if (!replicate) check_ranks(ranks, diagnostics);
  const auto size =
      replicate ? world_of(ranks.begin()->first, ranks.begin()->second) : static_cast<std::uint32_t>(ranks.size());
  KinetoGroups groups(size);
  std::vector<RankAssembler> assembled;
  std::vector<Findings> findings;
  bool communicates = false;
  for (auto& [rank, one] : ranks) {
    communicates = communicates || std::ranges::any_of(one.trace.operations, &KinetoOperation::is_communication);
    const auto number = static_cast<std::uint32_t>(rank);
    assembled.push_back(ProfileImporter(one.trace, number, groups, findings.emplace_back(one.file)).import());
    one.trace = {};  // profiles are large
    if (replicate && (groups.size() > 0 || assembled.back().has_transfers()))
      findings.back().error("one profile cannot stand for all: it calls on groups or peers of its own", {},
                            "give one file for each rank");
  }
  std::vector<RankFindings> reported;
  for (std::uint32_t i = 0; i < findings.size(); ++i) reported.push_back({i, &findings[i]});
  report(reported, true, diagnostics);
  if (size > 1 && !communicates)
    diagnostics.warning({ranks.begin()->second.file},
                        fmt::format("a world of {} ranks without a collective or message of NCCL: none of its ranks "
                                    "waits for another, and the network changes nothing",
                                    size),
                        "record a step in which the ranks communicate by NCCL");
  diagnostics.throw_if_errors();

  JobAssembler job(size);
  groups.add_to(job);
  auto next = assembled.begin();
  for (const auto& [rank, one] : ranks) job.add_ranks(std::move(*next++), one.file, replicate ? size : 1);
  return job.finish();
}

}  // namespace

Job import_kineto(std::span<const std::string> files, Diagnostics& diagnostics, const KinetoOptions& options) {
  if (files.empty()) throw InputError({}, "no profile is given", "give one file for each rank");
  return make_job(files, std::nullopt, options, diagnostics);
}

Job import_kineto_text(const std::string& file, std::string_view text, Diagnostics& diagnostics,
                       const KinetoOptions& options) {
  return make_job(std::span(&file, 1), text, options, diagnostics);
}

}  // namespace orrery::workload
