// SPDX-License-Identifier: MIT
#include "report/rank_csv.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>
#include <vector>

#include <fmt/compile.h>
#include <fmt/format.h>

#include "core/config/csv_lines.h"
#include "core/error.h"
#include "report/memory_changes.h"

namespace orrery::report {
namespace {

std::string operation_detail(const workload::Job& job, RankId rank, NodeId node) {
  const workload::ExecutionGraph& graph = job.graph(rank);
  switch (graph.kind(node)) {
    case workload::NodeKind::kCollective:
      return fmt::format("{} on {}", name_of(graph.collective_kind(node)),
                         job.communicators[index_of(job.communicator(rank, node))].name);
    case workload::NodeKind::kSend:
      return fmt::format("to {}", index_of(job.peer(rank, node)));
    case workload::NodeKind::kReceive:
      return fmt::format("from {}", index_of(job.peer(rank, node)));
    default:
      return {};
  }
}

class OperationLines {
 public:
  OperationLines(const workload::Job& job, const OperationLog& log, std::span<const RankId> acting)
      : job_(job), log_(log), acting_(acting) {}

  void add(const ChosenRank& chosen, std::string& text) {
    const workload::ExecutionGraph& graph = job_.graph(chosen.rank);
    take_up(graph, job_.labels_of(chosen.rank));
    log_.of(acting_[index_of(chosen.rank)], operations_);
    for (const system::OperationRecord& op : operations_)
      fmt::format_to(std::back_inserter(text), FMT_COMPILE("{},{},{},{},{},{},{},{},{}\n"), index_of(chosen.rank),
                     chosen.stands_for, trace_id(op), nodes_[index_of(op.node)],
                     csv_cell(printable(operation_detail(job_, chosen.rank, op.node))), graph.bytes(op.node).count(),
                     op.start.time_since_epoch().count(), op.moving.time_since_epoch().count(),
                     op.end.time_since_epoch().count());
  }

 private:
  // A repetition has ids of its own.
  std::uint64_t trace_id(const system::OperationRecord& op) const {
    return labels_->trace_id(op.node) + (op.number - graph_->number(op.node));
  }

  // Takes up what all ranks with the graph have in common: names and kinds of its nodes.
  void take_up(const workload::ExecutionGraph& graph, const workload::NodeLabels& labels) {
    if (&graph == graph_ && &labels == labels_) return;
    graph_ = &graph;
    labels_ = &labels;
    nodes_.clear();
    for (std::uint32_t i = 0; i < graph.size(); ++i)
      nodes_.push_back(fmt::format("{},{}", csv_cell(printable(labels.name(NodeId(i)), 200)),
                                   workload::name_of(graph.kind(NodeId(i)))));
  }

  const workload::Job& job_;
  const OperationLog& log_;
  std::span<const RankId> acting_;
  const workload::ExecutionGraph* graph_ = nullptr;
  const workload::NodeLabels* labels_ = nullptr;
  std::vector<std::string> nodes_;
  std::vector<system::OperationRecord> operations_;
};

}  // namespace

std::vector<std::pair<Time, std::int64_t>> memory_changes(const workload::ProgramMemory& program,
                                                          std::span<const system::OperationRecord> operations,
                                                          std::size_t nodes) {
  std::vector<const system::OperationRecord*> by_node(nodes);  // by number
  for (const system::OperationRecord& operation : operations) by_node[operation.number] = &operation;
  std::vector<std::pair<Time, std::int64_t>> changes;
  for (const workload::MemoryChange& change : program.changes)
    if (const system::OperationRecord* operation = by_node[change.number])
      changes.emplace_back(change.at_end ? operation->end : operation->start, change.bytes);
  std::ranges::sort(changes);
  return changes;
}

RankCsv operations_csv(const workload::Job& job, const OperationLog& log, std::span<const RankId> acting) {
  return {"rank,stands_for,node,name,kind,detail,bytes,start_ps,moving_ps,end_ps\n",
          [&log, acting](RankId rank) { return log.count(acting[index_of(rank)]); },
          [lines = OperationLines(job, log, acting)](const ChosenRank& chosen, std::string& text) mutable {
            lines.add(chosen, text);
          }};
}

RankCsv memory_csv(const workload::Job& job, const workload::TrainingFacts& facts, const OperationLog& log,
                   std::span<const RankId> acting) {
  const auto program_of = [&](RankId rank) -> const workload::ProgramMemory& {
    return facts.memory[job.ranks[index_of(rank)].graph];
  };
  return {"rank,stands_for,time_ps,bytes\n", [program_of](RankId rank) { return 1 + program_of(rank).changes.size(); },
          [=, &job, &log](const ChosenRank& chosen, std::string& text) {
            const workload::ProgramMemory& program = program_of(chosen.rank);
            std::int64_t now = program.need.standing().count();
            const auto add = [&](std::int64_t picoseconds) {
              fmt::format_to(std::back_inserter(text), FMT_COMPILE("{},{},{},{}\n"), index_of(chosen.rank),
                             chosen.stands_for, picoseconds, now);
            };
            add(0);
            const auto operations = log.of(acting[index_of(chosen.rank)]);
            for (const auto& [time, bytes] :
                 memory_changes(program, operations, job.graph(chosen.rank).written_out_size())) {
              now += bytes;
              add(time.time_since_epoch().count());
            }
          }};
}

Bytes estimated_size(const RankCsv& table, std::span<const ChosenRank> ranks) {
  const double heading = static_cast<double>(table.heading.size());
  if (ranks.empty()) return Bytes(std::llround(heading));
  std::string lines;
  table.add_lines(ranks.front(), lines);
  const auto of_first = static_cast<double>(std::max<std::uint64_t>(table.records(ranks.front().rank), 1));
  double records = 0;
  for (const ChosenRank& chosen : ranks) records += static_cast<double>(table.records(chosen.rank));
  return Bytes(std::llround(heading + static_cast<double>(lines.size()) * records / of_first));
}

void write_csv(const RankCsv& table, std::span<const ChosenRank> ranks,
               const std::function<void(std::string_view)>& write) {
  write(table.heading);
  std::string lines;
  for (const ChosenRank& chosen : ranks) {
    lines.clear();
    table.add_lines(chosen, lines);
    write(lines);
  }
}

}  // namespace orrery::report
