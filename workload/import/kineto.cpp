#include "workload/import/kineto.h"

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "workload/chakra_file.h"
#include "workload/findings.h"
#include "workload/import/job_assembler.h"
#include "workload/import/kineto_events.h"
#include "workload/import/kineto_messages.h"
#include "workload/import/kineto_timeline.h"
#include "workload/rank_list.h"

namespace orrery {
namespace {

constexpr std::int64_t kPicosecondsPerNanosecond = 1'000;
constexpr std::int64_t kLargestMessage = std::int64_t{1} << 60;

constexpr std::string_view kNoNotesHint =
    "c10d notes sizes and groups since PyTorch 2.2; record with CPU and CUDA activities on, since a kernel gets them "
    "from the call that launched it";

// A trace and the file it is of.
struct RankFile {
  std::string file;
  KinetoTrace trace;
};

std::string read_text(const std::string& file) {
  std::string text = read_file(file);
  return is_gzip(text) ? inflate_gzip(file, text) : text;
}

KinetoTrace read_trace(const std::string& file, std::string_view text) {
  KinetoTrace trace = read_kineto(file, text);
  if (trace.operations.empty())
    throw InputError({file}, "no operation of a device among the events",
                     "record with ProfilerActivity.CUDA; kernels have cat \"kernel\"");
  return trace;
}

// The files by rank, from 0 to the size of the world.
class WorldReader {
 public:
  WorldReader(std::size_t files, bool replicate, Diagnostics& diagnostics)
      : files_(files), replicate_(replicate), diagnostics_(diagnostics) {}

  // Errors are collected. `text` is that of the file; nothing: it is read.
  void add(const std::string& file, std::optional<std::string_view> text = {}) {
    try {
      add_trace(file, text ? read_trace(file, *text) : read_trace(file, read_text(file)));
    } catch (const InputError& error) {
      for (const Problem& problem : error.problems()) diagnostics_.error(problem.where, problem.message, problem.hint);
    }
  }

  // The whole world; with `replicate`, one file, whose trace says how large the world is.
  std::vector<RankFile> take() {
    diagnostics_.throw_if_errors();
    if (replicate_ && files_ == 1) {
      std::vector<RankFile> result;
      result.push_back(std::move(by_rank_.begin()->second));
      return result;
    }
    check_world();
    diagnostics_.throw_if_errors();
    std::vector<RankFile> result;
    for (auto& [rank, file] : by_rank_) result.push_back(std::move(file));
    return result;
  }

 private:
  void add_trace(const std::string& file, KinetoTrace trace) {
    const bool is_alone = files_ == 1 && !trace.rank && !trace.world;
    if (is_alone) trace.rank = 0, trace.world = 1;
    if (!trace.rank || *trace.rank < 0 || *trace.rank >= UINT32_MAX)
      throw InputError({file}, "does not say which rank it is of",
                       "expected \"distributedInfo\": {\"rank\": ..., \"world_size\": ...}");
    const std::int64_t rank = *trace.rank;
    const auto [known, is_new] = by_rank_.try_emplace(rank, RankFile{file, std::move(trace)});
    if (!is_new)
      throw InputError({file}, fmt::format("is of rank {}, and so is {}", rank, printable(known->second.file)),
                       "give one profile of every rank");
  }

  void check_world() {
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
        there.size() == 1 ? "give the files of the others, or let this one stand for all (--replicate)"
                          : "give the files of the others");
  }

  static std::string missing(const std::vector<std::uint32_t>& there, std::int64_t world) {
    constexpr std::int64_t kMostNamed = 4096;
    if (world > kMostNamed) return "";
    std::vector<std::uint32_t> gone;
    for (std::uint32_t rank = 0; rank < world; ++rank)
      if (!std::ranges::binary_search(there, rank)) gone.push_back(rank);
    return fmt::format("; not of {}", rank_list(gone));
  }

  std::size_t files_;
  bool replicate_;
  Diagnostics& diagnostics_;
  std::map<std::int64_t, RankFile> by_rank_;
};

// One rank's trace as nodes.
class RankImporter {
 public:
  RankImporter(const KinetoTrace& trace, std::uint32_t rank, KinetoGroups& groups, Findings& findings)
      : trace_(trace), rank_(rank), groups_(groups), findings_(findings) {}

  RankAssembler import() {
    const KinetoTimeline timeline = make_timeline(trace_);
    if (timeline.overlaps > 0)
      findings_.warning("operations began before the one in front on their stream had ended; they begin after it",
                        fmt::format("{} of {}", timeline.overlaps, timeline.steps.size()));
    if (!fits(timeline)) return {};
    number_streams();
    for (const KinetoStep& step : timeline.steps) add(step);
    return std::move(result_);
  }

 private:
  static std::string describe(const KinetoOperation& operation) {
    return fmt::format("event {} \"{}\"", operation.event, printable(operation.name, 60));
  }

  bool fits(const KinetoTimeline& timeline) {
    KinetoTime last = timeline.steps.front().begin;
    for (const KinetoStep& step : timeline.steps) last = std::max(last, step.end);
    if (last - timeline.steps.front().begin <= Duration::max().count() / kPicosecondsPerNanosecond) return true;
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
    if (step.end > step.begin) node.duration = Duration((step.end - step.begin) * kPicosecondsPerNanosecond);
    const NodeId id =
        operation.is_communication ? add_communication(operation, node) : add_computation(operation, node);
    if (host) result_.depend(id, *host);
    for (const std::uint32_t before : step.after) result_.depend(id, nodes_[before]);
    nodes_.push_back(id);
  }

  // The node of the host that the step waits for.
  std::optional<NodeId> add_host(const KinetoStep& step) {
    if (!step.waits_for_host || step.host == 0) return step.waits_for_host ? host_ : std::nullopt;
    const NodeId id = result_.add(
        {.kind = NodeKind::kHostCompute, .duration = Duration(step.host * kPicosecondsPerNanosecond)}, "host");
    if (host_) result_.depend(id, *host_);
    if (step.host_after)
      for (const std::uint32_t before : step.after) result_.depend(id, nodes_[before]);
    host_ = id;
    return id;
  }

  NodeId add_computation(const KinetoOperation& operation, GraphNode node) {
    if (node.duration)
      node.kind = NodeKind::kCompute;
    else
      node.stream = 0;
    return result_.add(node, operation.name);
  }

  // Errors become findings; the node is a computation then.
  NodeId add_communication(const KinetoOperation& operation, GraphNode node) {
    try {
      if (!operation.message) throw KinetoProblem("kernels of NCCL without notes of c10d");
      return add_message(operation, *operation.message, node);
    } catch (const KinetoProblem& problem) {
      findings_.error(problem.what(), describe(operation), operation.message ? "" : kNoNotesHint);
      return add_computation(operation, node);
    }
  }

  NodeId add_message(const KinetoOperation& operation, const KinetoMessage& message, GraphNode node) {
    const std::optional<KinetoOperationKind> kind = operation_kind(message.collective);
    if (!kind)
      throw KinetoProblem(fmt::format("\"{}\" is no collective that is known", printable(message.collective, 40)));
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
    if (elements > kLargestMessage / *size)
      throw KinetoProblem(fmt::format("a message beyond {} bytes", kLargestMessage));
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
};

// How many ranks the job has.
std::uint32_t world_of(const std::vector<RankFile>& files, bool replicate) {
  if (!replicate) return static_cast<std::uint32_t>(files.size());
  const KinetoTrace& trace = files[0].trace;
  constexpr std::int64_t kMostRanks = std::int64_t{1} << 24;
  const std::int64_t world = trace.world.value_or(1);
  if (world < 1 || world > kMostRanks || *trace.rank >= world)
    throw InputError({files[0].file}, fmt::format("is of rank {} in a world of {}", *trace.rank, world),
                     fmt::format("a world has from 1 to {} ranks", kMostRanks));
  return static_cast<std::uint32_t>(world);
}

Job make_job(std::vector<RankFile> traces, bool may_replicate, Diagnostics& diagnostics) {
  const bool replicate = may_replicate && traces.size() == 1;
  const std::uint32_t world = world_of(traces, replicate);
  KinetoGroups groups(world);

  std::vector<RankAssembler> ranks;
  std::vector<Findings> findings;
  for (RankFile& file : traces) {
    const auto rank = static_cast<std::uint32_t>(*file.trace.rank);
    ranks.push_back(RankImporter(file.trace, rank, groups, findings.emplace_back(file.file)).import());
    file.trace = {};  // profiles are large
    if (replicate && (groups.size() > 0 || ranks.back().has_transfers()))
      findings.back().error("one profile cannot stand for all: it calls on groups or peers of its own", {},
                            "give one file for each rank");
  }
  std::vector<RankFindings> reported;
  for (std::uint32_t i = 0; i < findings.size(); ++i) reported.push_back({i, &findings[i]});
  report(reported, true, diagnostics);
  diagnostics.throw_if_errors();

  JobAssembler job(world);
  groups.add_to(job);
  for (std::size_t i = 0; i < ranks.size(); ++i)
    job.add_ranks(std::move(ranks[i]), traces[i].file, replicate ? world : 1);
  return job.finish();
}

}  // namespace

Job import_kineto(std::span<const std::string> files, Diagnostics& diagnostics, const KinetoOptions& options) {
  if (files.empty()) throw InputError({}, "no profile is given", "give one file for each rank");
  WorldReader world(files.size(), options.replicate, diagnostics);
  for (const std::string& file : files) world.add(file);
  return make_job(world.take(), options.replicate, diagnostics);
}

Job import_kineto_text(const std::string& file, std::string_view text, Diagnostics& diagnostics,
                       const KinetoOptions& options) {
  WorldReader world(1, options.replicate, diagnostics);
  world.add(file, text);
  return make_job(world.take(), options.replicate, diagnostics);
}

}  // namespace orrery
