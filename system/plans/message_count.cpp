#include "system/plans/message_count.h"

namespace orrery {

double messages_of(const PlannedPhase& phase, const CommunicatorLayout& layout) {
  if (phase.is_whole()) return 1;
  const std::uint32_t ranks = phase.schedule().ranks();
  double in_line = 0;
  for (std::uint32_t rank = 0; rank < ranks; ++rank) in_line += phase.schedule().sends(rank);
  return in_line * layout.size() / ranks;
}

double messages_of(const CollectivePlan& plan) {
  double messages = 0;
  for (const PlannedPhase& phase : plan.phases) messages += messages_of(phase, *plan.layout);
  return messages;
}

double messages_of(const Job& job, const Matching& matching, CollectivePlans& plans) {
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
  for (const RankBinding& rank : job.ranks)
    messages += static_cast<double>(job.graphs[rank.graph].transfers().size()) / 2;
  return messages;
}

}  // namespace orrery
