// SPDX-License-Identifier: MIT
// Stretches that programs go through again, on a tape: as Repetitions, with what calls and sends outside of a stretch
// take of the device known ahead where it is.
#include <utility>

#include "system/tape/tape.h"

namespace orrery::system {

void Tape::repeat(std::uint32_t number, NodeId node) {
  Agent& agent = agents_[number];
  note_started(agent, node);
  const workload::ExecutionGraph& graph = agent.program->graph();
  const Time now = agent.operations[node].start;
  const workload::Repetition repetition = *graph.repetition(node);
  if (agent.stretches.empty()) agent.stretches.resize(graph.stretches().size());
  Stretch& stretch = agent.stretches[repetition.stretch];
  if (!repetition.is_rest) {
    if (stretch.courses == nullptr) open(agent, repetition.stretch);
    stretch.begin = now;
    if (graph.has_host()) stretch.host = host_turns_to(agent, node);
    stretch.outside.clear();
  }
  std::erase_if(agent.uses, [&](const Use& use) { return use.end <= now; });
  agent.computing = Computing{node, now, true};
  go_on_computing(number);
}

// The stretch has been run: from now on it is repeated.
void Tape::open(Agent& agent, std::uint32_t number) {
  const workload::ExecutionGraph& graph = agent.program->graph();
  const workload::Stretch& stretch = graph.stretches()[number];
  std::vector<OperationRecord> first_run = std::exchange(agent.stretches[number].first_run, {});
  require_repeatable(first_run.size() == stretch.count);
  std::optional<ContendedDevice> device;
  if (contends_) device = {times_.capacity(agent.rank), std::vector<collectives::DeviceShare>(stretch.count)};
  for (std::uint32_t offset = 0; offset < stretch.count; ++offset) {
    const NodeId node{index_of(stretch.first) + offset};
    if (graph.kind(node) != workload::NodeKind::kCollective) continue;
    const GroupId group{agent.homes[graph.communicator_slot(node)]};
    Home& home = homes_[index_of(group)];
    const CallKind& kind = home.kinds[kind_of(home, {group, graph.call_index(node)})];
    require_repeatable(cast_.is_alone(group) && (kind.is_empty || (kind.is_private && kind.cast->seats() == 1)));
    if (device) device->takes[offset] = kind.takes;
  }
  agent.stretches[number].courses =
      std::make_shared<StretchCourses>(graph, stretch, std::move(first_run), std::move(device));
}

void Tape::change_course(Agent& agent, Computing& computing, collectives::DeviceShare taken) {
  const workload::Repetition repetition = *agent.program->graph().repetition(computing.node);
  Stretch& stretch = agent.stretches[repetition.stretch];
  // Use that is taken while its rest runs comes on top of that while its tail ran.
  std::erase_if(stretch.outside, [&](const OutsideUse& use) { return stretch.begin + use.since >= computing.start; });
  const bool may_wait = agent.program->may_wait_for_stream(computing.node);
  const auto take = [&](Time time) {
    const bool is_other = stretch.outside.empty() ? !taken.is_none() : stretch.outside.back().share != taken;
    if (is_other) stretch.outside.push_back({time - stretch.begin, taken});
    stretch.record = &stretch.courses->beside(stretch.outside);
    const StretchRecord& record = **stretch.record;
    const std::optional<Duration>& lead = record.host_lead;
    require_repeatable(record.begins_on_stream || !may_wait);
    require_repeatable(!lead || *lead == Duration::min() || stretch.host + *lead <= stretch.begin);
    computing.end =
        Time(saturating_add(stretch.begin.time_since_epoch(), repetition.is_rest ? record.end : record.tail));
  };
  take(computing.start);
  for (std::size_t i = 0; i < changes_.size() && changes_[i].time < computing.end;) {
    const Time time = changes_[i].time;
    for (; i < changes_.size() && changes_[i].time == time; ++i) {
      taken.processors += changes_[i].share.processors;
      taken.memory_rate += changes_[i].share.memory_rate;
    }
    take(time);
  }
}

void Tape::end_repetition(std::uint32_t number) {
  Agent& agent = agents_[number];
  const workload::ExecutionGraph& graph = agent.program->graph();
  const Computing ended = *std::exchange(agent.computing, std::nullopt);
  const workload::Repetition repetition = *graph.repetition(ended.node);
  Stretch& stretch = agent.stretches[repetition.stretch];
  const workload::Stretch& of = graph.stretches()[repetition.stretch];
  RepetitionRecord told{*stretch.record, of.first, graph.number(ended.node), stretch.begin, repetition.is_rest};
  if (repetition.is_rest)
    told.number -= of.count;
  else
    ++stretch.repetitions;
  // When its host went on.
  const Time synchronised = told.begin + told.record->synchronised.value_or(Duration::zero());
  agent.repeated.push_back(std::move(told));
  finish(number, ended.node, synchronised, ended.end);
}

void Tape::count_repetitions(const Agent& agent) {
  const workload::ExecutionGraph& graph = agent.program->graph();
  for (std::uint32_t number = 0; number < agent.stretches.size(); ++number) {
    if (agent.stretches[number].repetitions == 0) continue;
    for (const NodeId call : graph.collectives()) {
      if (!graph.stretches()[number].holds(call)) continue;
      const GroupId group{agent.homes[graph.communicator_slot(call)]};
      Home& home = homes_[index_of(group)];
      CallKind& kind = home.kinds[kind_of(home, {group, graph.call_index(call)})];
      if (kind.is_empty) continue;
      kind.calls += agent.stretches[number].repetitions;
      messages_sent_ += kind.count * agent.stretches[number].repetitions;
    }
  }
}

}  // namespace orrery::system
