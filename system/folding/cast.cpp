// SPDX-License-Identifier: MIT
#include "system/folding/cast.h"

#include <map>
#include <utility>

#include <fmt/format.h>

#include "core/error.h"
#include "system/folding/patterns.h"

namespace orrery::system {
namespace {

// Number of messages in one phase of one chunk of one call. What a library runs as one whole is one message.
double messages_of(const PlannedPhase& phase, const CommunicatorLayout& layout) {
  if (phase.is_whole()) return 1;
  const std::uint32_t ranks = phase.schedule().ranks();
  double in_line = 0;
  for (std::uint32_t rank = 0; rank < ranks; ++rank) in_line += phase.schedule().sends(rank);
  return in_line * layout.size() / ranks;
}

// The first line of a phase.
std::vector<DeviceId> line(const CommunicatorLayout& layout, const PlannedPhase& phase,
                           std::span<const DeviceId> devices) {
  std::vector<DeviceId> line;
  for (std::uint32_t to = 0; to < layout.sizes[phase.phase.axis]; ++to)
    line.push_back(devices[layout.member_at[layout.moved_to(0, phase.phase.axis, to)]]);
  return line;
}

double messages_of(const CollectivePlan& plan) {
  double messages = 0;
  for (const PlannedPhase& phase : plan.phases) messages += messages_of(phase, *plan.layout);
  return messages;
}

// Number of messages of all ranks, collectives and transfers, each step of each chunk counted: to refuse a job that
// would never end.
double messages_of(const workload::Job& job, const workload::Matching& matching, CollectivePlans& plans) {
  double messages = 0;
  std::map<const CollectivePlan*, double> of_plan;
  std::vector<double> of_group(matching.communicators());
  for (std::uint32_t group = 0; group < of_group.size(); ++group) {
    const std::uint32_t model = index_of(plans.model_of(GroupId(group)));
    for (std::uint32_t call = 0; model == group && call < matching.calls(GroupId(group)).size(); ++call) {
      const CollectivePlan& plan = plans.plan(GroupId(group), call);
      const auto [known, is_new] = of_plan.try_emplace(&plan);
      if (is_new) known->second = messages_of(plan) * plan.chunks;
      of_group[group] += known->second;
    }
    messages += of_group[model];
  }
  for (std::size_t rank = 0; rank < job.ranks.size(); ++rank)
    messages += static_cast<double>(job.graphs[job.ranks.graph(rank)].transfers().size()) / 2;
  return messages;
}

constexpr double kMostMessagesToCompare = 2e7;  // at some hundred bytes each

// A uniform ring's steps are compared as one, at granularity `phase` the messages of a line, and of a complete exchange
// everybody's ways.
double messages_to_compare(const CollectivePlan& plan, std::span<const DeviceId> devices, const network::Fabric& fabric,
                           Granularity granularity) {
  const CommunicatorLayout& layout = *plan.layout;
  double messages = 0;
  for (const PlannedPhase& phase : plan.phases) {
    if (granularity == Granularity::kPhase)
      messages += static_cast<double>(layout.size()) / layout.sizes[phase.phase.axis];
    else if (phase.schedule().is_uniform_ring())
      messages += layout.size();
    else if (phase.schedule().is_complete_exchange() && find_ways(line(layout, phase, devices), fabric))
      messages += layout.size();
    else
      messages += messages_of(phase, layout);
  }
  return messages;
}

// Number of messages that symmetry compares: those of each kind of call of each communicator; of communicators that are
// alike, those of one times their number.
double messages_to_compare(const CastInput& input, Granularity granularity) {
  std::vector<double> of_group(input.matching.communicators());
  double messages = 0;
  for (std::uint32_t group = 0; group < of_group.size(); ++group) {
    const std::uint32_t model = index_of(input.plans.model_of(GroupId(group)));
    if (model == group) {
      std::map<std::pair<CollectiveKind, std::uint32_t>, double> of_kind;  // and root
      for (std::uint32_t call = 0; call < input.matching.calls(GroupId(group)).size(); ++call) {
        const workload::CollectiveCall& asked = input.matching.calls(GroupId(group))[call];
        const auto [known, is_new] = of_kind.try_emplace({asked.kind, asked.root});
        if (is_new)
          known->second = messages_to_compare(input.plans.plan(GroupId(group), call),
                                              input.plans.devices(GroupId(group)), input.fabric, granularity);
      }
      for (const auto& [kind, count] : of_kind) of_group[group] += count;
    }
    messages += of_group[model];
  }
  return messages;
}

// Empty if the job is to be folded.
std::string reason_not_to_fold(const CastInput& input, FoldMode fold, Granularity granularity) {
  if (fold == FoldMode::kOff) return "not folded: it is off";
  if (!input.network.keeps_messages_alike())
    return "not folded: the fifo model serves messages one after the other, so that none is like another";
  if (const double messages = messages_to_compare(input, granularity); messages > kMostMessagesToCompare)
    return fmt::format("not folded: {:.3g} different messages are too many to compare", messages);
  return {};
}

void refuse_too_many_messages(const CastInput& input, const std::string& not_folded) {
  constexpr double kMostMessages = 2e10;  // some hours of work
  const double messages = messages_of(input.job, input.matching, input.plans);
  if (messages <= kMostMessages) return;
  throw InputError({},
                   fmt::format("about {:.2g} messages are too many to simulate one by one ({})", messages, not_folded),
                   "take fewer ranks or chunks, or set network.granularity: phase");
}

std::string first_use_text(const workload::Job& job, Cast::FirstUse first, std::uint32_t used) {
  const workload::ExecutionGraph& graph = job.graph(first.rank);
  const std::string more = used > 1 ? fmt::format(" and {} more", used - 1) : "";
  if (graph.kind(first.node) == workload::NodeKind::kSend)
    return fmt::format("sends of rank {} to rank {}{}", index_of(first.rank),
                       index_of(job.ranks.peer(index_of(first.rank), graph.peer_slot(first.node))), more);
  const workload::Communicator& communicator = job.communicators[index_of(job.communicator(first.rank, first.node))];
  return fmt::format("communicator '{}'{}", printable(communicator.name), more);
}

}  // namespace

std::unique_ptr<Cast> make_cast(const CastInput& input, const CastOptions& options, Granularity granularity,
                                const RankColours& own) {
  std::string why_not = reason_not_to_fold(input, options.fold, granularity);
  if (why_not.empty()) return folded_cast(input, options.fast_forward && input.network.is_steady(), granularity, own);
  if (granularity == Granularity::kStep) refuse_too_many_messages(input, why_not);
  return every_rank(input, std::move(why_not));
}

Cast::Cast(const CastInput& input) : input_(input) {}

CallCast& Cast::call(CallKey call) {
  std::vector<std::unique_ptr<CallCast>>& of_plans = casts_[call.group];
  const std::uint32_t number = input_.plans.plan_number(call.group, call.index);
  if (number >= of_plans.size()) of_plans.resize(number + 1);
  std::unique_ptr<CallCast>& cast = of_plans[number];
  if (cast == nullptr) cast = make_call(call, input_.plans.plan(call.group, call.index));
  return *cast;
}

const ClassSplit& Cast::bring_into_use(std::span<const FirstUse> uses, Time now) {
  std::uint32_t used = 0;
  for (const FirstUse& first : uses) used += use(first);
  const std::uint32_t classes_before = agents();
  split_ = {};
  split_ = refine();
  if (agents() == classes_before) return split_;
  constexpr std::size_t kMostNoted = 16;
  FoldingStep& step = steps_.emplace_back(
      FoldingStep{now, classes_before, agents(), first_use_text(input_.job, uses.front(), used), {}});
  for (const auto& [agent, parts] : split_.parts_of_agent)
    for (const std::uint32_t part : parts)
      if (step.came_apart.size() < kMostNoted) step.came_apart.push_back({first_rank(part), first_rank(agent)});
  return split_;
}

}  // namespace orrery::system
