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

#include "workload/graph/findings.h"
#include "workload/graph/rank_list.h"
#include "workload/import/job_assembler.h"
#include "workload/import/kineto/events.h"
#include "workload/import/kineto/execution_trace.h"
#include "workload/import/kineto/messages.h"
#include "workload/import/kineto/profiles.h"
#include "workload/import/kineto/symmetric.h"
#include "workload/import/kineto/timeline.h"

namespace orrery::workload {
namespace {

constexpr std::string_view kOtherCommunicationHint =
    "they keep the times that they had in the profile on every cluster, and no rank waits for another in them: a "
    "profile does not say what they send. A job from a model (`model: NAME` in place of traces) simulates its messages";

constexpr std::string_view kNoNotesHint =
    "c10d notes sizes and groups since PyTorch 2.2; record with CPU and CUDA activities on, since a kernel gets them "
    "from the call that launched it";

// One rank's trace as nodes.
class ProfileImporter {
 public:
  // `start`: before the rank's first operation.
  ProfileImporter(const KinetoTrace& trace, std::uint32_t rank, KinetoGroups& groups, Findings& findings,
                  KinetoTime start)
      : trace_(trace), rank_(rank), groups_(groups), findings_(findings), start_(start) {}

  RankAssembler import() {
    const KinetoTimeline timeline = make_timeline(trace_);
    if (timeline.overlaps > 0)
      findings_.warning(
          "operations began more than a microsecond before the one in front on their stream had ended; they begin "
          "after it",
          fmt::format("{} of {}", timeline.overlaps, timeline.steps.size()));
    number_streams();
    if (!fits(timeline)) return {};
    if (start_ > 0)
      host_ = result_.add({.kind = NodeKind::kHostCompute, .duration = Duration(start_ * kPicosecondsPerKinetoTick)},
                          "start");
    const std::optional<NodeId> start = host_;
    for (const KinetoStep& step : timeline.steps) add(step, start);
    return std::move(result_);
  }

  // The group on which the rank exchanges messages with a peer.
  const std::map<RankId, GroupId>& peer_groups() const { return peer_groups_; }

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
    if (last - timeline.steps.front().begin <= Duration::max().count() / kPicosecondsPerKinetoTick) return true;
    findings_.error("the profile is longer than the 106 days that can be simulated", {});
    return false;
  }

  void number_streams() {
    for (const KinetoOperation& operation : trace_.operations) streams_[{operation.device, operation.stream}] = 0;
    std::uint32_t next = 1;
    for (auto& [stream, number] : streams_) number = next++;
  }

  void add(const KinetoStep& step, std::optional<NodeId> start) {
    const KinetoOperation& operation = trace_.operations[step.operation];
    std::optional<NodeId> host = add_host(step);
    if (!host && step.after.empty()) host = start;
    GraphNode node;
    node.stream = streams_.at({operation.device, operation.stream});
    if (step.end > step.begin) node.duration = Duration((step.end - step.begin) * kPicosecondsPerKinetoTick);
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
    const NodeId id = result_.add(
        {.kind = NodeKind::kHostCompute, .duration = Duration(step.host * kPicosecondsPerKinetoTick)}, "host");
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
    if (groups_.is_assumed(group) && groups_.world() > 1)
      findings_.warning(
          "nothing says in which process group kernels of NCCL communicate: among all ranks, or as many "
          "neighbours as their sizes tell",
          describe(operation), "give the execution trace of the same step, too (ExecutionTraceObserver)");
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
    const RankId other{peer(message, group, is_send)};
    peer_groups_.try_emplace(other, group);
    return result_.add_transfer(node, operation.name, other, 0);
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
  KinetoTime start_;
  std::map<std::pair<std::int64_t, std::int64_t>, std::uint32_t> streams_;
  std::map<RankId, GroupId> peer_groups_;
  RankAssembler result_;
  std::vector<NodeId> nodes_;  // by step
  std::optional<NodeId> host_;
  std::unordered_map<std::string, std::string_view> other_communication_;
};

std::vector<RecordedRank> import_ranks(KinetoRanks& ranks, KinetoGroups& groups, KinetoFacts& facts,
                                       Diagnostics& diagnostics) {
  const std::map<std::int64_t, KinetoTime> starts = starts_of(ranks, facts, diagnostics);
  std::vector<RecordedRank> recorded;
  std::vector<Findings> findings;
  bool communicates = false;
  for (auto& [rank, one] : ranks) {
    communicates = communicates || std::ranges::any_of(one.trace.operations, &KinetoOperation::is_communication);
    const auto number = static_cast<std::uint32_t>(rank);
    ProfileImporter importer(one.trace, number, groups, findings.emplace_back(one.file), starts.at(rank));
    RankAssembler nodes = importer.import();
    recorded.push_back({number, one.file, std::move(nodes), importer.peer_groups()});
    one.trace = {};  // profiles are large
  }
  std::vector<RankFindings> reported;
  for (std::uint32_t i = 0; i < findings.size(); ++i) reported.push_back({i, &findings[i]});
  report(reported, true, diagnostics);
  if (groups.world() > 1 && !communicates)
    diagnostics.warning({ranks.begin()->second.file},
                        fmt::format("a world of {} ranks without a collective or message of NCCL: none of its ranks "
                                    "waits for another, and the network changes nothing",
                                    groups.world()),
                        "record a step in which the ranks communicate by NCCL");
  diagnostics.throw_if_errors();
  return recorded;
}

// Makes a job of profiles, of which some may stand for all ranks with `options.symmetric`.
Job make_job(std::span<const std::string> files, std::optional<std::string_view> text, const KinetoOptions& options,
             Diagnostics& diagnostics, KinetoFacts& facts) {
  KinetoRanks ranks = read_profiles(files, text, diagnostics, facts);
  if (!options.symmetric) check_profiles(ranks, diagnostics);
  if (options.check_world) options.check_world(world_of_profiles(ranks));
  KinetoGroups groups(options.symmetric ? world_of_profiles(ranks) : static_cast<std::uint32_t>(ranks.size()));
  std::vector<RecordedRank> recorded = import_ranks(ranks, groups, facts, diagnostics);
  if (recorded.size() < groups.world()) return spread_over_world(std::move(recorded), groups, diagnostics);
  JobAssembler job(groups.world());
  groups.add_to(job);
  for (RecordedRank& one : recorded) job.add_ranks(std::move(one.nodes), one.file);
  return job.finish();
}

}  // namespace

bool is_profile(std::string_view text) {
  const std::size_t at = text.find_first_not_of(" \t\r\n");
  return at != std::string_view::npos && (text[at] == '{' || text[at] == '[') &&
         (text.find("\"traceEvents\"") != std::string_view::npos ||
          text.find("\"schemaVersion\"") != std::string_view::npos ||
          text.find("\"deviceProperties\"") != std::string_view::npos || is_execution_trace(text));
}

Job import_kineto(std::span<const std::string> files, Diagnostics& diagnostics, const KinetoOptions& options,
                  KinetoFacts* facts) {
  if (files.empty()) throw InputError({}, "no profile is given", "give one file for each rank");
  KinetoFacts unused;
  return make_job(files, std::nullopt, options, diagnostics, facts != nullptr ? *facts : unused);
}

Job import_kineto_text(const std::string& file, std::string_view text, Diagnostics& diagnostics,
                       const KinetoOptions& options) {
  KinetoFacts unused;
  return make_job(std::span(&file, 1), text, options, diagnostics, unused);
}

}  // namespace orrery::workload
