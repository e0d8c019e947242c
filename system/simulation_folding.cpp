// SPDX-License-Identifier: MIT
// Whether and how a simulation is folded, what its agents' state says of the ranks that they act for, and what happens
// when communicators and pairs of ranks are first used: classes may come apart, and all that is under way with them.
#include <algorithm>
#include <cstdint>
#include <map>
#include <numeric>
#include <utility>

#include <fmt/format.h>

#include "core/error.h"
#include "core/hash.h"
#include "system/plans/plans.h"
#include "system/simulation.h"
#include "workload/graph/job.h"
#include "workload/matching/matching.h"

namespace orrery::system {
namespace {

// How many messages there are in one phase of one chunk, in one chunk of one call. What a library runs as one whole is
// one message.
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

// Of all ranks, collectives and transfers, each step of each chunk: to refuse what would never end.
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
  for (const workload::RankBinding& rank : job.ranks)
    messages += static_cast<double>(job.graphs[rank.graph].transfers().size()) / 2;
  return messages;
}

// At some hundred bytes each.
constexpr double kMostMessagesToCompare = 2e7;
// Some hours of work.
constexpr double kMostMessages = 2e10;

}  // namespace

// Brings into use what all members of the classes are about to: how many communicators and pairs of ranks that are.
std::uint32_t Simulation::use_all_like_first_uses() {
  std::uint32_t used = 0;
  for (const FirstUse& use : first_uses_) {
    const workload::ExecutionGraph& graph = input_.job.graph(use.rank);
    for (const RankId rank : folding_->ranks_of(folding_->agent_of(use.rank))) {
      const bool is_new = graph.kind(use.node) == workload::NodeKind::kSend
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
  const workload::ExecutionGraph& graph = input_.job.graph(first.rank);
  const std::string more = used > 1 ? fmt::format(" and {} more", used - 1) : "";
  if (graph.kind(first.node) == workload::NodeKind::kSend)
    return fmt::format("sends of rank {} to rank {}{}", index_of(first.rank),
                       index_of(input_.job.ranks[index_of(first.rank)].peers[graph.peer_slot(first.node)]), more);
  const workload::Communicator& communicator =
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

std::string Simulation::reason_not_to_fold() const {
  if (options_.fold == FoldMode::kOff) return "not folded: it is off";
  if (!network_->keeps_messages_alike())
    return "not folded: the fifo model serves messages one after the other, so that none is like another";
  return {};
}

void Simulation::fold() {
  if (const double messages = messages_to_compare(); messages > kMostMessagesToCompare) {
    not_folded_ = fmt::format("not folded: {:.3g} different messages are too many to compare", messages);
    return refuse_too_many_messages();
  }
  // A shared pool serves its ranks one after the other, so that no two of them are alike.
  std::vector<std::uint64_t> own(input_.job.ranks.size());
  if (has_shared_memory()) std::iota(own.begin(), own.end(), std::uint64_t{1});
  for (std::uint32_t rank = 0; disturbance_ && rank < own.size(); ++rank)
    if (const std::uint64_t colour = disturbance_->colour(RankId(rank)); colour != 0)
      own[rank] = hash_of({own[rank], colour});
  const Granularity granularity = options_.collectives.granularity;
  symmetry_.emplace(input_.job, input_.matching, input_.fabric, input_.placement, plans_, granularity, own);
  folding_.emplace(input_.job, input_.fabric, input_.placement, plans_, *symmetry_, granularity, *network_);
}

std::string Simulation::folding_text() const {
  if (!folding_) return not_folded_;
  const Symmetry::Stages& stages = symmetry_->stages();
  return fmt::format(
      "{} class{} of {} ranks: {} by what they run{}{}, {} more by whom they talk to and how far that is, {} more by "
      "what "
      "else uses the links",
      folding_->agent_count(), folding_->agent_count() == 1 ? "" : "es", input_.job.ranks.size(), stages.programs,
      disturbance_ ? " and what disturbs them" : "", has_shared_memory() ? " and the memory they share" : "",
      stages.partners, stages.links);
}

bool Simulation::is_in_use(RankId rank, NodeId node) const {
  if (!folding_) return true;
  const workload::ExecutionGraph& graph = input_.job.graph(rank);
  switch (graph.kind(node)) {
    case workload::NodeKind::kCollective:
      return folding_->is_in_use(input_.job.communicator(rank, node));
    case workload::NodeKind::kSend:
      return folding_->sends(rank, graph.peer_slot(node)).count > 0;
    default:
      return true;
  }
}

// Of each kind of call of each communicator (Symmetry), and of communicators that are alike those of one, times them.
double Simulation::messages_to_compare() {
  std::vector<double> of_group(input_.matching.communicators());
  double messages = 0;
  for (std::uint32_t group = 0; group < of_group.size(); ++group) {
    const std::uint32_t model = index_of(plans_.model_of(GroupId(group)));
    if (model == group) {
      std::map<std::pair<CollectiveKind, std::uint32_t>, double> of_kind;  // and root
      for (std::uint32_t call = 0; call < input_.matching.calls(GroupId(group)).size(); ++call) {
        const workload::CollectiveCall& asked = input_.matching.calls(GroupId(group))[call];
        const auto [known, is_new] = of_kind.try_emplace({asked.kind, asked.root});
        if (is_new) known->second = messages_to_compare(plans_.plan(GroupId(group), call));
      }
      for (const auto& [kind, count] : of_kind) of_group[group] += count;
    }
    messages += of_group[model];
  }
  return messages;
}

// A uniform ring's steps are compared as one, and at granularity `phase` the messages of a line.
double Simulation::messages_to_compare(const CollectivePlan& plan) const {
  double messages = 0;
  for (const PlannedPhase& phase : plan.phases) {
    if (options_.collectives.granularity == Granularity::kPhase)
      messages += static_cast<double>(plan.layout->size()) / plan.layout->sizes[phase.phase.axis];
    else
      messages += phase.schedule().is_uniform_ring() ? plan.layout->size() : messages_of(phase, *plan.layout);
  }
  return messages;
}

void Simulation::refuse_too_many_messages() {
  if (options_.collectives.granularity == Granularity::kPhase) return;
  const double messages = messages_of(input_.job, input_.matching, plans_);
  if (messages <= kMostMessages) return;
  throw InputError({},
                   fmt::format("about {:.2g} messages are too many to simulate one by one ({})", messages, not_folded_),
                   "take fewer ranks or chunks, or set network.granularity: phase");
}

bool Simulation::has_shared_memory() const {
  return options_.remote_memory && options_.remote_memory->shared != MemorySharing::kRank;
}

std::vector<network::LinkUsage> Simulation::link_usage() const {
  const std::vector<network::LinkUsage> of_acting = network_->link_usage();
  if (!folding_) return of_acting;
  std::vector<network::LinkUsage> usage;
  for (std::uint32_t link = 0; link < of_acting.size(); ++link)
    usage.push_back(of_acting[index_of(folding_->acting(LinkId(link)))]);
  return usage;
}

std::uint32_t Simulation::seats(GroupId home) const {
  return static_cast<std::uint32_t>(folding_ ? folding_->home(home).member_of_seat.size()
                                             : input_.job.communicators[index_of(home)].members.size());
}

// The member that holds a seat of a home communicator.
RankId Simulation::holder(GroupId home, std::uint32_t seat) const {
  const std::vector<RankId>& members = input_.job.communicators[index_of(home)].members;
  return members[folding_ ? folding_->home(home).member_of_seat[seat] : seat];
}

bool Simulation::may_fast_forward(CallKey call, const CallSetting& setting) {
  const GroupId home = call.group;
  if (!options_.fast_forward || !folding_->is_private_ring(home, call.index) || setting.plan->chunks > 1) return false;
  if (setting.plan->phases.front().schedule().step(0, 0).bytes == Bytes(0)) return false;  // all in one instant
  for (std::uint32_t seat = 0; seat < seats(home); ++seat) {
    const RankId rank = holder(home, seat);
    const std::uint32_t graph = input_.job.ranks[index_of(rank)].graph, slot = plans_.slot_of(rank, home);
    const auto [known, is_new] = in_sequence_.try_emplace({graph, slot});
    if (is_new) known->second = calls_are_in_sequence(input_.job.graphs[graph], slot);
    if (!known->second) return false;
  }
  return true;
}

}  // namespace orrery::system
