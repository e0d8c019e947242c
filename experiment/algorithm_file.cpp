// SPDX-License-Identifier: MIT
#include "experiment/algorithm_file.h"

#include <algorithm>
#include <filesystem>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "collectives/custom/check.h"
#include "collectives/custom/compile.h"
#include "collectives/custom/msccl.h"
#include "core/error.h"
#include "core/files/input_files.h"
#include "core/files/read_file.h"
#include "workload/traces/files.h"
#include "workload/traces/load_job.h"

namespace orrery::experiment {
namespace {

using collectives::Action;

// Size in bytes of what a message is a share of, as `numerator / denominator` of a message's own unit.
struct Scale {
  std::uint64_t factor = 1;  // weight of a byte
  std::uint64_t whole = 1;   // weight of Request::bytes
};

// Least traffic of a collective of S bytes, as factor / divisor * S, if no message carries what its receiver's result
// does not need. It is the size that a graph without a stated size was written for.
std::pair<std::uint64_t, std::uint64_t> least_traffic(CollectiveKind kind, std::uint64_t ranks) {
  switch (kind) {
    case CollectiveKind::kAllReduce:
      return {2 * (ranks - 1), 1};
    case CollectiveKind::kAllGather:
      return {ranks * (ranks - 1), 1};
    case CollectiveKind::kScatter:
      return {ranks - 1, ranks};
    case CollectiveKind::kReduce:
    case CollectiveKind::kGather:
    case CollectiveKind::kBroadcast:
    case CollectiveKind::kAllToAll:
    case CollectiveKind::kReduceScatter:
    case CollectiveKind::kBarrier:
      return {ranks - 1, 1};
  }
  return {1, 1};
}

// The actions of the ranks of a job, in the order in which sends meet receives everywhere else.
class GraphReader {
 public:
  GraphReader(const workload::Job& job, CollectiveKind kind, std::string prefix)
      : job_(job), prefix_(std::move(prefix)) {
    written_.kind = kind;
    written_.ranks = static_cast<std::uint32_t>(job.ranks.size());
    written_.actions.resize(written_.ranks);
    for (std::uint32_t rank = 0; rank < written_.ranks; ++rank) {
      const std::string& source = job.ranks[rank].details().source;
      written_.files.push_back(source.empty() ? prefix_ : source);
      read_rank(rank);
    }
  }

  // Weighs the messages.
  collectives::WrittenCollective written(std::optional<Bytes> written_for) && {
    const Scale scale = scale_for(written_for);
    written_.whole = scale.whole;
    for (std::uint32_t rank = 0; rank < written_.ranks; ++rank)
      for (Action& action : written_.actions[rank]) {
        if (action.kind == Action::Kind::kLocal) continue;
        if (Int128{action.weight} * scale.factor > Int128{scale.whole} * written_.ranks)
          throw InputError({written_.file_of(rank)},
                           fmt::format("{} has {} bytes: more than the buffers of all ranks together, at the size that "
                                       "the graphs are for",
                                       action.name, action.weight),
                           "say for how many bytes of a rank the graphs were written: --algorithm-size 1M, or "
                           "collectives.algorithm_size");
        action.weight *= scale.factor;
      }
    return std::move(written_);
  }

 private:
  void read_rank(std::uint32_t rank) {
    const workload::ExecutionGraph& graph = job_.graph(RankId(rank));
    std::vector<Action>& actions = written_.actions[rank];
    std::vector<std::uint32_t> action_of(graph.size());
    for (const NodeId node : graph.order()) action_of[index_of(node)] = add(rank, graph, node);
    for (const NodeId node : graph.order())
      for (const NodeId next : graph.successors(node))
        actions[action_of[index_of(next)]].after.push_back(action_of[index_of(node)]);
  }

  std::uint32_t add(std::uint32_t rank, const workload::ExecutionGraph& graph, NodeId node) {
    const workload::RankBinding& binding = job_.ranks[rank];
    Action action;
    action.name = fmt::format("rank {}, {}", rank, job_.labels_of(RankId(rank)).describe(node));
    const workload::NodeKind kind = graph.kind(node);
    if (kind == workload::NodeKind::kCollective)
      throw InputError({written_.file_of(rank)}, fmt::format("{} is a collective itself", action.name),
                       "the graphs of an algorithm have sends and receives, and nodes that order them");
    if (workload::is_transfer(kind)) {
      action.kind = kind == workload::NodeKind::kSend ? Action::Kind::kSend : Action::Kind::kReceive;
      action.peer = index_of(binding.peers[graph.peer_slot(node)]);
      action.channel = static_cast<std::uint64_t>(binding.tag(graph.transfer_index(node)));
      action.weight = static_cast<std::uint64_t>(graph.bytes(node).count());
      if (action.kind == Action::Kind::kSend) traffic_ += action.weight;
      if (action.peer == rank)
        throw InputError({written_.file_of(rank)}, fmt::format("{} has its own rank as its peer", action.name),
                         "a copy within a rank is a node of another type");
    }
    written_.actions[rank].push_back(std::move(action));
    return static_cast<std::uint32_t>(written_.actions[rank].size() - 1);
  }

  Scale scale_for(std::optional<Bytes> written_for) const {
    constexpr Int128 kMost = Int128{1} << 62;
    if (written_for) return {1, static_cast<std::uint64_t>(written_for->count())};
    const auto [factor, divisor] = least_traffic(written_.kind, written_.ranks);
    const Int128 whole = traffic_ * divisor;
    if (whole * written_.ranks > kMost)
      throw InputError({prefix_}, "the messages of the graphs have 2^62 bytes or more together",
                       "look for a size that is off by orders of magnitude");
    return {factor, std::max<std::uint64_t>(1, static_cast<std::uint64_t>(whole))};
  }

  const workload::Job& job_;
  std::string prefix_;
  collectives::WrittenCollective written_;
  Int128 traffic_ = 0;
};

std::shared_ptr<const collectives::MessageTable> checked(std::string name,
                                                         const collectives::WrittenCollective& written) {
  collectives::check_written(written);
  return std::make_shared<const collectives::MessageTable>(collectives::compile(std::move(name), written));
}

std::shared_ptr<const collectives::MessageTable> load_xml(const std::string& path, CollectiveKind kind) {
  const std::string text = read_text(path);
  collectives::MscclAlgorithm algorithm = collectives::read_msccl(path, text);
  if (algorithm.written.kind != kind)
    throw InputError({path}, fmt::format("an algorithm of {}, where one of {} is needed",
                                         name_of(algorithm.written.kind), name_of(kind)));
  std::string name = algorithm.name.empty() ? std::filesystem::path(path).stem().string() : algorithm.name;
  return checked(printable(name, 40), algorithm.written);
}

std::shared_ptr<const collectives::MessageTable> load_graphs(const std::string& path, CollectiveKind kind,
                                                             std::optional<Bytes> written_for) {
  const std::string prefix = workload::prefix_of_trace(path).value_or(path);
  for (const workload::TraceFile& file : workload::list_trace_files(prefix)) note_input(file.path);
  Diagnostics warnings;
  const workload::Job job = workload::load_chakra_job({.prefix = prefix}, warnings);
  return checked(printable(std::filesystem::path(prefix).filename().string(), 40),
                 GraphReader(job, kind, prefix).written(written_for));
}

}  // namespace

bool names_algorithm_file(std::string_view word) {
  return word.find('/') != std::string_view::npos || word.ends_with(".xml") || word.ends_with(".et") ||
         word.ends_with(".et.gz");
}

bool is_of_graphs(const std::string& path) {
  if (path.ends_with(".xml")) return false;
  return !workload::list_trace_files(workload::prefix_of_trace(path).value_or(path)).empty() ||
         !workload::is_file(path);
}

std::shared_ptr<const collectives::MessageTable> load_algorithm(const std::string& path, CollectiveKind kind,
                                                                std::optional<Bytes> written_for) {
  return is_of_graphs(path) ? load_graphs(path, kind, written_for) : load_xml(path, kind);
}

}  // namespace orrery::experiment
