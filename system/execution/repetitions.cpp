// SPDX-License-Identifier: MIT
#include "system/execution/repetitions.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

namespace orrery::system {
namespace {

void require(bool condition) {
  if (!condition) throw NotRepeatable{};
}

// When each node could begin but for its stream, by offset: when those of the stretch that it waits for were done.
std::vector<Time> ready_times(const workload::ExecutionGraph& graph, const workload::Stretch& stretch,
                              const std::vector<OperationRecord>& by_offset, Time begin) {
  std::vector<Time> ready(stretch.count, begin);
  for (const OperationRecord& operation : by_offset)
    for (const NodeId after : graph.successors(operation.node))
      if (stretch.holds(after)) {
        Time& of_after = ready[index_of(after) - index_of(stretch.first)];
        of_after = std::max(of_after, operation.end);
      }
  return ready;
}

// Every node starts when it is ready and its stream is through with those of the stretch before it; a call moves at
// once.
void require_tight(const workload::ExecutionGraph& graph, const std::vector<OperationRecord>& operations,
                   const workload::Stretch& stretch, const std::vector<Time>& ready, Time begin) {
  std::map<std::pair<workload::NodeKind, std::uint32_t>, Time> free;  // by kind and communicator
  for (const OperationRecord& operation : operations) {
    const workload::NodeKind kind = graph.kind(operation.node);
    const bool is_call = kind == workload::NodeKind::kCollective;
    require(is_call || kind == workload::NodeKind::kNoOp || kind == workload::NodeKind::kCompute);
    require(graph.stream(operation.node) == 0 && (!is_call || operation.moving == operation.start));
    Time earliest = ready[index_of(operation.node) - index_of(stretch.first)];
    if (kind != workload::NodeKind::kNoOp) {
      Time& stream =
          free.try_emplace({kind, is_call ? graph.communicator_slot(operation.node) : 0}, begin).first->second;
      earliest = std::max(earliest, stream);
      stream = operation.end;
    }
    require(operation.start == earliest);
  }
}

// From `tail` on, the compute stream is never free, and nothing else goes on: who wants it waits for the end.
void require_busy_from(Time tail, const workload::ExecutionGraph& graph,
                       const std::vector<OperationRecord>& operations) {
  Time busy_until = tail;
  for (const OperationRecord& operation : operations) {
    if (operation.end <= tail) continue;
    require(graph.kind(operation.node) == workload::NodeKind::kCompute && operation.start < operation.end);
    require(operation.start <= busy_until);
    busy_until = operation.end;
  }
}

// Number of uses of each communicator's stream in the record. Nobody uses them now, or wants to.
std::vector<std::uint32_t> streams_used(const RankExecution& execution, const StretchRecord& record) {
  std::vector<std::uint32_t> used;
  for (const NodeId call : record.calls) {
    const auto runs = execution.runs_if_free(call);
    require(runs.has_value());
    used.push_back(*runs);
  }
  return used;
}

}  // namespace

StretchRecord record_of(const workload::ExecutionGraph& graph, const workload::Stretch& stretch,
                        std::vector<OperationRecord> operations) {
  std::ranges::sort(operations, {}, &OperationRecord::node);
  StretchRecord record;
  std::set<std::uint32_t> communicators;
  for (const NodeId node : graph.collectives())
    if (stretch.holds(node) && communicators.insert(graph.communicator_slot(node)).second) record.calls.push_back(node);
  const Time begin = std::ranges::min_element(operations, {}, &OperationRecord::start)->start;
  const std::vector<Time> ready = ready_times(graph, stretch, operations, begin);
  for (const NodeId node : stretch.tail)
    record.tail = std::max(record.tail, operations[index_of(node) - index_of(stretch.first)].end - begin);
  std::ranges::stable_sort(operations, {}, &OperationRecord::start);
  require_tight(graph, operations, stretch, ready, begin);
  require_busy_from(begin + record.tail, graph, operations);
  std::ranges::stable_sort(operations, {}, &OperationRecord::end);
  for (const OperationRecord& operation : operations) {
    const std::uint32_t offset = index_of(operation.node) - index_of(stretch.first);
    record.parts.push_back({offset, operation.start - begin, operation.moving - begin, operation.end - begin});
    record.end = std::max(record.end, operation.end - begin);
    if (operation.end - begin <= record.tail) record.until_tail = record.parts.size();
    if (ready[offset] == begin && graph.kind(operation.node) != workload::NodeKind::kCompute)
      record.begins_on_stream = false;
  }
  return record;
}

Repetitions::Run& Repetitions::run(std::uint32_t agent, const workload::ExecutionGraph& graph, std::uint32_t stretch) {
  if (agent >= runs_.size()) runs_.resize(agent + 1);
  if (runs_[agent].empty()) runs_[agent].resize(graph.stretches().size());
  return runs_[agent][stretch];
}

void Repetitions::ran(std::uint32_t agent, const workload::ExecutionGraph& graph, const OperationRecord& operation) {
  const std::span<const workload::Stretch> stretches = graph.stretches();
  for (std::uint32_t stretch = 0; stretch < stretches.size(); ++stretch)
    if (stretches[stretch].holds(operation.node)) run(agent, graph, stretch).operations.push_back(operation);
}

Duration Repetitions::begin(std::uint32_t agent, const RankExecution& execution, NodeId node) {
  const workload::ExecutionGraph& graph = execution.graph();
  const workload::Repetition repetition = *graph.repetition(node);
  Run& run = this->run(agent, graph, repetition.stretch);
  if (run.record == nullptr) {
    const workload::Stretch& stretch = graph.stretches()[repetition.stretch];
    require(run.operations.size() == stretch.count);
    run.record = std::make_shared<const StretchRecord>(record_of(graph, stretch, std::exchange(run.operations, {})));
    const RankId rank = cast_.first_rank(agent);
    for (const NodeId call : graph.collectives())
      if (stretch.holds(call))
        require(calls_.may_count({cast_.home_of(job_.communicator(rank, call)), graph.call_index(call)}));
  }
  if (repetition.is_rest) {
    require(!execution.has_waited());
    return run.record->end - run.record->tail;
  }
  require(run.record->begins_on_stream || !execution.has_waited());
  require_alone(agent, execution, *run.record);
  run.streams_used = streams_used(execution, *run.record);
  return run.record->tail;
}

void Repetitions::finish(std::uint32_t agent, const RankExecution& execution, NodeId node) {
  const workload::ExecutionGraph& graph = execution.graph();
  const workload::Repetition repetition = *graph.repetition(node);
  const workload::Stretch& stretch = graph.stretches()[repetition.stretch];
  Run& run = this->run(agent, graph, repetition.stretch);
  RepetitionRecord told{run.record, stretch.first, graph.number(node), execution.taken(node), repetition.is_rest};
  if (repetition.is_rest) {
    told.number -= stretch.count;
    told.begin -= run.record->tail;
  } else {
    require_alone(agent, execution, *run.record);
    require(streams_used(execution, *run.record) == run.streams_used && !execution.is_wanted(node));
    ++run.repetitions;
  }
  observer_.repeated(cast_.first_rank(agent), told);
}

void Repetitions::require_alone(std::uint32_t agent, const RankExecution& execution,
                                const StretchRecord& record) const {
  const workload::RankBinding& rank = job_.ranks[index_of(cast_.first_rank(agent))];
  for (const NodeId call : record.calls)
    require(cast_.is_alone(cast_.home_of(rank.communicators[execution.graph().communicator_slot(call)])));
}

void Repetitions::settle() {
  for (std::uint32_t agent = 0; agent < runs_.size(); ++agent)
    for (std::uint32_t stretch = 0; stretch < runs_[agent].size(); ++stretch) {
      const std::uint64_t times = std::exchange(runs_[agent][stretch].repetitions, 0);
      if (times == 0) continue;
      const RankId rank = cast_.first_rank(agent);
      const workload::ExecutionGraph& graph = job_.graph(rank);
      for (const NodeId node : graph.collectives())
        if (graph.stretches()[stretch].holds(node))
          require(calls_.count({cast_.home_of(job_.communicator(rank, node)), graph.call_index(node)}, times));
    }
}

void Repetitions::split(std::uint32_t part, std::uint32_t parent) {
  if (parent >= runs_.size()) return;
  if (part >= runs_.size()) runs_.resize(part + 1);
  runs_[part] = runs_[parent];
}

}  // namespace orrery::system
