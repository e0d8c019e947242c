// What happens when communicators and pairs of ranks are first used: classes may come apart, and all that is under way
// with them.
#include <fmt/format.h>

#include "core/error.h"
#include "system/simulation.h"

namespace orrery {

// Brings into use what all members of the classes are about to: how many communicators and pairs of ranks that are.
std::uint32_t Simulation::use_all_like_first_uses() {
  std::uint32_t used = 0;
  for (const FirstUse& use : first_uses_) {
    const ExecutionGraph& graph = input_.job.graph(use.rank);
    for (const RankId rank : folding_->ranks_of(folding_->agent_of(use.rank))) {
      const bool is_new = graph.kind(use.node) == NodeKind::kSend
                              ? symmetry_->use_sends(rank, graph.peer_slot(use.node))
                              : symmetry_->use_communicator(input_.job.communicator(rank, use.node));
      if (is_new) ++used;
    }
  }
  return used;
}

// Between two rounds, when all that were touched have decided.
void Simulation::bring_into_use() {
  const std::uint32_t used = use_all_like_first_uses();
  symmetry_->refine();
  const std::uint32_t agents = folding_->agent_count();
  const ClassSplit parts = folding_->update();
  split(parts);
  if (folding_->agent_count() > agents) note_split(parts, agents, used);
  for (const FirstUse& use : first_uses_) {
    start(use.rank, use.node);
    for (const std::uint32_t part : parts.parts_of(folding_->agent_of(use.rank)))
      start(folding_->first_rank(part), use.node);
  }
  first_uses_.clear();
}

void Simulation::note_split(const ClassSplit& split, std::uint32_t classes_before, std::uint32_t used) {
  constexpr std::size_t kMostNoted = 16;
  FoldingStep step{engine_.now(), classes_before, folding_->agent_count(), first_use_text(used), {}};
  for (const auto& [agent, parts] : split.parts_of_agent)
    for (const std::uint32_t part : parts)
      if (step.came_apart.size() < kMostNoted)
        step.came_apart.push_back({folding_->first_rank(part), folding_->first_rank(agent)});
  folding_steps_.push_back(std::move(step));
}

std::string Simulation::first_use_text(std::uint32_t used) const {
  const FirstUse& first = first_uses_.front();
  const ExecutionGraph& graph = input_.job.graph(first.rank);
  const std::string more = used > 1 ? fmt::format(" and {} more", used - 1) : "";
  if (graph.kind(first.node) == NodeKind::kSend)
    return fmt::format("sends of rank {} to rank {}{}", index_of(first.rank),
                       index_of(input_.job.ranks[index_of(first.rank)].peers[graph.peer_slot(first.node)]), more);
  const Communicator& communicator =
      input_.job.communicators[index_of(input_.job.communicator(first.rank, first.node))];
  return fmt::format("communicator '{}'{}", printable(communicator.name), more);
}

void Simulation::split(const ClassSplit& split) {
  if (split.parts_of_agent.empty() && split.links.empty() && split.homes.empty() && split.sends_before.empty()) return;
  split_ = &split;
  split_agents(split);
  collectives_->split(split, [&](CallKey call) { return setting_of(call.group, call.index); });
  transfers_->split(split);
  network_->split(split.links);
  engine_.split_pending();
  collectives_->end_split();
  transfers_->end_split();
  split_ = nullptr;
}

void Simulation::split_agents(const ClassSplit& split) {
  const std::uint32_t agents = folding_->agent_count();
  std::vector<std::uint32_t> parent(agents);
  for (const auto& [agent, parts] : split.parts_of_agent)
    for (const std::uint32_t part : parts) parent[part] = agent;
  touched_.resize(agents);
  for (auto part = static_cast<std::uint32_t>(agents_.size()); part < agents; ++part) {
    const RankId rank = folding_->first_rank(part), of = folding_->first_rank(parent[part]);
    agents_.push_back(RankExecution(agents_[parent[part]]));
    touched_[part] = is_waiting_to_begin(rank);
    nodes_total_ += agents_[part].graph().size() - agents_[part].done();
    totals_.rank_finish[index_of(rank)] = totals_.rank_finish[index_of(of)];
    memory_->split(rank, of);
    observer_.split(rank, of);
  }
}

}  // namespace orrery
