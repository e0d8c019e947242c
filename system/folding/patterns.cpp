#include "system/folding/patterns.h"

#include <algorithm>

#include "core/hash.h"

namespace orrery {

Patterns::Patterns(const Matching& matching, CollectivePlans& plans, Granularity granularity)
    : matching_(matching), granularity_(granularity) {
  for (std::uint32_t group = 0; group < matching.communicators(); ++group) {
    const std::uint32_t model = index_of(plans.model_of(GroupId(group)));
    table_of_.push_back(model == group ? static_cast<std::uint32_t>(tables_.size()) : table_of_[model]);
    if (model == group) tables_.push_back(make_table(GroupId(group), plans));
  }
}

Patterns::Table Patterns::make_table(GroupId group, CollectivePlans& plans) const {
  Table table;
  const std::span<const CollectiveCall> calls = matching_.calls(group);
  for (std::uint32_t call = 0; call < calls.size(); ++call) {
    const std::uint64_t key = key_of(calls[call]);
    if (table.by_key.try_emplace(key, static_cast<std::uint32_t>(table.patterns.size())).second)
      table.patterns.push_back({&plans.plan(group, call), key});
    table.calls_hash =
        hash_of({table.calls_hash, key, static_cast<std::uint64_t>(calls[call].bytes.count()), calls[call].root});
  }
  return table;
}

// Calls of the same kind and root tie together the same ranks whatever their size, as long as it is the same for all:
// pieces are ceil(S/n). At granularity `phase` the sizes show in the weights of links.
std::uint64_t Patterns::key_of(const CollectiveCall& call) const {
  std::uint64_t key = hash_of({static_cast<std::uint64_t>(call.kind), call.root, call.bytes_of_member.size()});
  if (granularity_ == Granularity::kPhase || call.bytes == Bytes(0))
    key = hash_of({key, static_cast<std::uint64_t>(call.bytes.count())});
  for (const Bytes bytes : call.bytes_of_member) key = hash_of({key, static_cast<std::uint64_t>(bytes.count())});
  return key;
}

std::uint32_t Patterns::of_call(GroupId group, std::uint32_t call) const {
  return tables_[table_of_[index_of(group)]].by_key.at(key_of(matching_.calls(group)[call]));
}

void for_each_message(const Pattern& pattern, const std::function<void(const PatternMessage&)>& visit) {
  const CommunicatorLayout& layout = *pattern.plan->layout;
  PatternMessage message;
  for (message.phase = 0; message.phase < pattern.plan->phases.size(); ++message.phase) {
    const PlannedPhase& planned = pattern.plan->phases[message.phase];
    message.is_uniform_ring = planned.schedule().is_uniform_ring();
    for (std::uint32_t position = 0; position < layout.size(); ++position) {
      if (!pattern.plan->participates(message.phase, position)) continue;
      const std::uint32_t in_line = layout.coordinate(position, planned.phase.axis);
      const std::uint32_t sends =
          std::min(planned.schedule().sends(in_line), message.is_uniform_ring ? 1U : UINT32_MAX);
      message.from = layout.member_at[position];
      for (message.send = 0; message.send < sends; ++message.send) {
        const Step step = planned.schedule().step(in_line, message.send);
        message.to = layout.member_at[layout.moved_to(position, planned.phase.axis, step.to)];
        message.slot = message.is_uniform_ring ? 0 : step.slot;
        visit(message);
        ++message.number;
      }
    }
  }
}

void for_each_line(const Pattern& pattern, const std::function<void(const PatternLine&)>& visit) {
  const CommunicatorLayout& layout = *pattern.plan->layout;
  PatternLine line;
  std::vector<std::uint32_t> members;
  for (line.phase = 0; line.phase < pattern.plan->phases.size(); ++line.phase) {
    const std::uint32_t axis = pattern.plan->phases[line.phase].phase.axis;
    for (std::uint32_t position = 0; position < layout.size(); ++position) {
      if (layout.coordinate(position, axis) != 0 || !pattern.plan->participates(line.phase, position)) continue;
      members.clear();
      for (std::uint32_t coordinate = 0; coordinate < layout.sizes[axis]; ++coordinate)
        members.push_back(layout.member_at[layout.moved_to(position, axis, coordinate)]);
      line.members = members;
      visit(line);
      ++line.number;
    }
  }
}

}  // namespace orrery
