// SPDX-License-Identifier: MIT
#include "system/execution/repetitions.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace orrery::system {
namespace {

// Number of uses of each communicator's stream in the record. Nobody uses them now, or wants to.
std::vector<std::uint32_t> streams_used(const RankExecution& execution, const StretchRecord& record) {
  std::vector<std::uint32_t> used;
  for (const NodeId call : record.calls) {
    const auto runs = execution.runs_if_free(call);
    require_repeatable(runs.has_value());
    used.push_back(*runs);
  }
  return used;
}

}  // namespace

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

// The stretch has been run: from now on it is repeated.
void Repetitions::open(std::uint32_t agent, const workload::ExecutionGraph& graph, std::uint32_t number, Run& run) {
  const workload::Stretch& stretch = graph.stretches()[number];
  require_repeatable(run.operations.size() == stretch.count);
  const RankId rank = cast_.first_rank(agent);
  std::optional<ContendedDevice> device;
  if (contends_) device = {times_.capacity(rank), std::vector<collectives::DeviceShare>(stretch.count)};
  for (const NodeId call : graph.collectives()) {
    if (!stretch.holds(call)) continue;
    const CallKey key{cast_.home_of(job_.communicator(rank, call)), graph.call_index(call)};
    require_repeatable(calls_.may_count(key));
    if (device) device->takes[index_of(call) - index_of(stretch.first)] = cast_.call(key).plan().takes();
  }
  run.courses = std::make_shared<StretchCourses>(graph, stretch, std::exchange(run.operations, {}), std::move(device));
}

Time Repetitions::begin(std::uint32_t agent, const RankExecution& execution, NodeId node,
                        const collectives::DeviceShare& outside) {
  const workload::ExecutionGraph& graph = execution.graph();
  const workload::Repetition repetition = *graph.repetition(node);
  Run& run = this->run(agent, graph, repetition.stretch);
  const Time now = execution.taken(node);
  if (repetition.is_rest) {
    require_repeatable(!execution.has_waited());
    return go_on(agent, execution, node, outside, now);
  }
  if (run.courses == nullptr) open(agent, graph, repetition.stretch, run);
  run.begin = now;
  if (graph.has_host()) run.host = execution.host_turns_to(node);
  run.outside.clear();
  run.record = nullptr;
  const Time end = go_on(agent, execution, node, outside, now);
  require_repeatable(run.record->begins_on_stream || !execution.has_waited());
  require_alone(agent, execution, *run.record);
  run.streams_used = streams_used(execution, *run.record);
  return end;
}

Time Repetitions::go_on(std::uint32_t agent, const RankExecution& execution, NodeId node,
                        const collectives::DeviceShare& outside, Time now) {
  const workload::ExecutionGraph& graph = execution.graph();
  const workload::Repetition repetition = *graph.repetition(node);
  Run& run = this->run(agent, graph, repetition.stretch);
  const Duration since = now - run.begin;
  if (!run.outside.empty() && run.outside.back().since == since) run.outside.pop_back();
  const bool is_other = run.outside.empty() ? !outside.is_none() : run.outside.back().share != outside;
  if (is_other) run.outside.push_back({since, outside});
  run.record = run.courses->beside(run.outside);
  const std::optional<Duration>& lead = run.record->host_lead;
  require_repeatable(!lead || *lead == Duration::min() || run.host + *lead <= run.begin);
  const Duration length = repetition.is_rest ? run.record->end : run.record->tail;
  return Time(saturating_add(run.begin.time_since_epoch(), length));
}

Time Repetitions::finish(std::uint32_t agent, const RankExecution& execution, NodeId node) {
  const workload::ExecutionGraph& graph = execution.graph();
  const workload::Repetition repetition = *graph.repetition(node);
  const workload::Stretch& stretch = graph.stretches()[repetition.stretch];
  Run& run = this->run(agent, graph, repetition.stretch);
  RepetitionRecord told{run.record, stretch.first, graph.number(node), run.begin, repetition.is_rest};
  if (repetition.is_rest) {
    told.number -= stretch.count;
  } else {
    require_alone(agent, execution, *run.record);
    require_repeatable(streams_used(execution, *run.record) == run.streams_used && !execution.is_wanted(node));
    ++run.repetitions;
  }
  observer_.repeated(cast_.first_rank(agent), told);
  return told.begin + run.record->synchronised.value_or(Duration::zero());
}

void Repetitions::require_alone(std::uint32_t agent, const RankExecution& execution,
                                const StretchRecord& record) const {
  const workload::RankBinding rank = job_.ranks[index_of(cast_.first_rank(agent))];
  for (const NodeId call : record.calls)
    require_repeatable(cast_.is_alone(cast_.home_of(rank.communicators[execution.graph().communicator_slot(call)])));
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
          require_repeatable(
              calls_.count({cast_.home_of(job_.communicator(rank, node)), graph.call_index(node)}, times));
    }
}

void Repetitions::split(std::uint32_t part, std::uint32_t parent) {
  if (parent >= runs_.size()) return;
  if (part >= runs_.size()) runs_.resize(part + 1);
  runs_[part] = runs_[parent];
}

}  // namespace orrery::system
