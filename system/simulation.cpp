// SPDX-License-Identifier: MIT
#include "system/simulation.h"

#include <algorithm>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "core/assert.h"
#include "core/error.h"
#include "system/stuck_report.h"

namespace orrery::system {
namespace {

// The event that opens the first instant.
constexpr std::uint64_t kStart = UINT64_MAX;
// In place of a node, the event that a rank may begin.
constexpr NodeId kBegin{UINT32_MAX};
constexpr std::uint64_t kProgressInterval = 4096;  // nodes

std::uint64_t pack(RankId rank, NodeId node) { return std::uint64_t{index_of(rank)} << 32 | index_of(node); }

// A pool per rank, per node (the fabric's first dimension) or for all.
std::vector<std::uint32_t> pools(MemorySharing shared, std::span<const DeviceId> placement,
                                 std::uint32_t devices_per_node) {
  std::vector<std::uint32_t> pool_of_rank;
  for (std::uint32_t rank = 0; rank < placement.size(); ++rank)
    pool_of_rank.push_back(shared == MemorySharing::kRank   ? rank
                           : shared == MemorySharing::kNode ? index_of(placement[rank]) / devices_per_node
                                                            : 0);
  return pool_of_rank;
}

}  // namespace

Simulation::Simulation(const SimulationInput& input, const SimulationOptions& options,
                       const NetworkFactory& make_network, SimulationObserver& observer)
    : input_(input),
      options_(options),
      observer_(observer),
      network_(make_network(engine_)),
      plans_(input_.job, input_.matching, input_.fabric, input_.placement, options_.collectives) {
  if (options_.perturbation.disturbs_ranks())
    disturbance_.emplace(options_.perturbation, input_.job, input_.fabric, input_.placement);
  not_folded_ = reason_not_to_fold();
  if (not_folded_.empty())
    fold();
  else
    refuse_too_many_messages();
  prepare_agents();
  collectives_.emplace(engine_, input_.fabric, *network_, static_cast<CollectiveListener&>(*this),
                       options_.collectives);
  transfers_.emplace(engine_, input_.fabric, *network_, static_cast<TransferListener&>(*this), input_.job,
                     input_.matching, input_.placement, folding(), options_.collectives.library);
  const RemoteMemory memory = options_.remote_memory.value_or(
      RemoteMemory{input_.device.memory_bandwidth, Duration::zero(), MemorySharing::kRank});
  memory_.emplace(memory, pools(memory.shared, input_.placement, input_.fabric.dimensions().front().size));
}

void Simulation::prepare_agents() {
  for (const workload::ExecutionGraph& graph : input_.job.graphs) {
    streams_.emplace_back(graph);
    compute_times_.push_back(options_.timed ? compute_times(graph, input_.device, options_.compute)
                                            : std::vector<Duration>(graph.size()));
  }
  const auto ranks = static_cast<std::uint32_t>(input_.job.ranks.size());
  const std::uint32_t agents = folding_ ? folding_->agent_count() : ranks;
  agents_.reserve(agents);
  for (std::uint32_t i = 0; i < agents; ++i) {
    const std::uint32_t number = input_.job.ranks[index_of(first_rank(folding(), i))].graph;
    const workload::ExecutionGraph& graph = input_.job.graphs[number];
    agents_.emplace_back(graph, streams_[number]);
    nodes_total_ += graph.size();
  }
  settings_.resize(input_.job.communicators.size());
  setting_of_call_.resize(input_.job.communicators.size());
  touched_.resize(agents);
  totals_.rank_finish.resize(ranks);
}

SimulationTotals Simulation::run(const SimulationProgress& progress) {
  progress_ = progress;
  for (std::uint32_t i = 0; i < agents_.size(); ++i) begin(first_rank(folding(), i));
  engine_.at(Time{}, *this, kStart);
  do engine_.run(*this);
  while (join_ready_calls() || relieve_queues());
  if (!std::ranges::all_of(agents_, &RankExecution::finished)) throw stuck_error(*this);
  report_progress(true);
  for (std::uint32_t rank = 0; rank < totals_.rank_finish.size(); ++rank)
    totals_.acting.push_back(acting_rank(folding(), RankId(rank)));
  for (std::size_t rank = 0; rank < totals_.rank_finish.size(); ++rank)
    totals_.rank_finish[rank] = totals_.rank_finish[index_of(totals_.acting[rank])];
  totals_.finish = *std::ranges::max_element(totals_.rank_finish);
  totals_.events = engine_.delivered();
  totals_.messages = collectives_->messages() + transfers_->messages();
  totals_.rank_classes = static_cast<std::uint32_t>(agents_.size());
  const auto is_used = [](const network::LinkUsage& link) { return link.bytes > Bytes(0); };
  totals_.link_classes = folding_ ? folding_->link_class_count()
                                  : static_cast<std::uint32_t>(std::ranges::count_if(network_->link_usage(), is_used));
  return totals_;
}

// Nothing happens any more. Where every member waits in another call of a communicator, none has entered a call that
// all of them could: then they join it. False where there is none, so that no order of the calls goes on from here.
bool Simulation::join_ready_calls() {
  if (joined_at_ == started_ + nodes_done_) return false;  // the last time nobody could
  joined_at_ = started_ + nodes_done_;
  std::set<std::pair<GroupId, std::uint32_t>> ready;  // calls that some member could join
  for (std::uint32_t i = 0; i < agents_.size(); ++i) {
    const RankId rank = first_rank(folding(), i);
    for (const NodeId node : agents_[i].graph().collectives()) {
      if (agents_[i].state(node) != RankExecution::State::kReady) continue;
      const GroupId group = input_.job.communicator(rank, node);
      ready.emplace(folding_ ? folding_->home_of(group) : group, agents_[i].graph().call_index(node));
    }
  }
  bool any = false;
  std::optional<GroupId> joined;
  for (const auto& [home, index] : ready) {
    const CallKey call{home, index};
    if (joined == home || !all_could_join(call)) continue;
    joined = home;  // one call of a communicator: it holds the others up
    on_call_opened(call);
    any = true;
  }
  if (any) engine_.after(Duration::zero(), *this, kStart);
  return any;
}

// Nor does anything happen where chunks wait for members whose place in a queue another chunk holds, which waits
// itself: with LIFO, on the axes of a torus, or for members that come late.
bool Simulation::relieve_queues() {
  if (!collectives_->relieve()) return false;
  engine_.after(Duration::zero(), *this, kStart);
  return true;
}

bool Simulation::all_could_join(CallKey call) const {
  for (std::uint32_t seat = 0; seat < seats(call.group); ++seat) {
    const RankId rank = holder(call.group, seat);
    const RankExecution::State state = agent(rank).state(node_of(call, rank));
    if (state != RankExecution::State::kReady && state != RankExecution::State::kRunning) return false;
  }
  return true;
}

void Simulation::on_event(std::uint64_t payload) {
  if (payload == kStart) return;
  const RankId rank{static_cast<std::uint32_t>(payload >> 32)};
  const NodeId node{static_cast<std::uint32_t>(payload)};
  if (node == kBegin) {
    touched_[agent_of(folding(), rank)] = false;
    return touch(rank);
  }
  complete(rank, node, agent(rank).taken(node));
}

// Who counts as touched already will not be touched, and so decides nothing.
void Simulation::begin(RankId rank) {
  if (!is_waiting_to_begin(rank)) return touch(rank);
  touched_[agent_of(folding(), rank)] = true;
  engine_.at(disturbance_->start(rank), *this, pack(rank, kBegin));
}

void Simulation::decide() {
  collectives_->advance();
  // By device, so that a shared memory pool serves the requests of one instant in an order that knows no rank numbers.
  std::ranges::sort(touched_ranks_, {}, [&](RankId rank) { return input_.placement[index_of(rank)]; });
  for (const RankId rank : touched_ranks_) issue(rank);
  for (const RankId rank : touched_ranks_) touched_[agent_of(folding(), rank)] = false;
  touched_ranks_.clear();
  collectives_->advance();  // those that entered
  if (first_uses_.empty()) return;
  bring_into_use();
  collectives_->advance();
}

void Simulation::settle() { network_->settle(); }

void Simulation::add_parts(std::uint64_t payload, std::vector<std::uint64_t>& parts) {
  if (payload == kStart) return;
  const RankId rank{static_cast<std::uint32_t>(payload >> 32)};
  for (const std::uint32_t part : split_->parts_of(folding_->agent_of(rank)))
    parts.push_back(pack(folding_->first_rank(part), NodeId(static_cast<std::uint32_t>(payload))));
}

void Simulation::on_call_opened(CallKey call) {
  for (std::uint32_t seat = 0; seat < seats(call.group); ++seat) {
    const RankId rank = holder(call.group, seat);
    agent(rank).call(node_of(call, rank));
    touch(acting_rank(folding(), rank));
  }
}

void Simulation::on_call_assembled(CallKey call, std::uint32_t seat, NodeId node) {
  agent(holder(call.group, seat)).hold(node);
}

void Simulation::on_collective_done(CallKey call, std::uint32_t seat, NodeId node, Time all_entered) {
  complete(acting_rank(folding(), holder(call.group, seat)), node, all_entered);
}

// The rank's part in a call.
NodeId Simulation::node_of(CallKey call, RankId rank) const {
  return input_.job.graph(rank).calls(plans_.slot_of(rank, call.group))[call.index];
}

void Simulation::on_transfer_done(RankId rank, NodeId node, Time moving) { complete(rank, node, moving); }

void Simulation::touch(RankId rank) {
  if (touched_[agent_of(folding(), rank)]) return;
  touched_[agent_of(folding(), rank)] = true;
  touched_ranks_.push_back(rank);
}

void Simulation::issue(RankId rank) {
  while (const std::optional<NodeId> node = agent(rank).take(engine_.now())) start_or_defer(rank, *node);
}

// The first use of a communicator, or of a pair of ranks, may tell apart who was alike until now.
void Simulation::start_or_defer(RankId rank, NodeId node) {
  RankExecution& execution = agent(rank);
  if (!folding_ || execution.is_in_use(node)) return start(rank, node);
  if (!is_in_use(rank, node)) return first_uses_.push_back({rank, node});
  execution.note_use(node);
  start(rank, node);
}

void Simulation::start(RankId rank, NodeId node) {
  last_step_ = engine_.now();
  ++started_;
  const std::uint32_t graph = input_.job.ranks[index_of(rank)].graph;
  switch (input_.job.graphs[graph].kind(node)) {
    case workload::NodeKind::kNoOp:
      return start_for(rank, node, Duration::zero());
    case workload::NodeKind::kHostCompute:
    case workload::NodeKind::kCompute:
      return start_for(rank, node, disturbed(rank, node, compute_times_[graph][index_of(node)]));
    case workload::NodeKind::kMemoryLoad:
    case workload::NodeKind::kMemoryStore:
      return start_memory(rank, node);
    case workload::NodeKind::kCollective:
      return enter_collective(rank, node);
    case workload::NodeKind::kSend:
      return transfers_->start_send(rank, node);
    case workload::NodeKind::kReceive:
      return transfers_->post_receive(rank, node);
  }
}

void Simulation::start_for(RankId rank, NodeId node, Duration duration) {
  if (saturating_add(engine_.now().time_since_epoch(), duration) == Duration::max())
    throw InputError({input_.job.ranks[index_of(rank)].source},
                     fmt::format("rank {}, {}: it would end beyond 106 days, the end of simulated time", index_of(rank),
                                 input_.job.describe(rank, node)),
                     "look for a duration, size or rate that is off by orders of magnitude");
  engine_.after(duration, *this, pack(rank, node));
}

void Simulation::start_memory(RankId rank, NodeId node) {
  const workload::ExecutionGraph& graph = input_.job.graph(rank);
  if (!options_.timed) return start_for(rank, node, Duration::zero());
  if (const auto measured = graph.duration(node)) return start_for(rank, node, disturbed(rank, node, *measured));
  const Duration time = memory_->access(rank, graph.bytes(node), engine_.now()) - engine_.now();
  start_for(rank, node, options_.remote_memory ? time : disturbed(rank, node, time));
}

void Simulation::enter_collective(RankId rank, NodeId node) {
  const GroupId group = input_.job.communicator(rank, node);
  const std::uint32_t call = input_.job.graph(rank).call_index(node);
  if (folding_) {
    const GroupId home = folding_->home_of(group);
    return collectives_->enter({home, call}, folding_->seat_of(rank, group), node, setting_of(home, call));
  }
  const auto member = input_.job.communicators[index_of(group)].position_of(rank);
  ORRERY_ASSERT(member.has_value());
  collectives_->enter({group, call}, *member, node, setting_of(group, call));
}

const CallSetting& Simulation::setting_of(GroupId home, std::uint32_t call) {
  std::vector<const CallSetting*>& of_call = setting_of_call_[index_of(home)];
  if (of_call.empty()) of_call.resize(input_.matching.calls(home).size());
  if (of_call[call] == nullptr) of_call[call] = &make_setting(home, call);
  return *of_call[call];
}

const CallSetting& Simulation::make_setting(GroupId home, std::uint32_t call) {
  const CollectivePlan& plan = plans_.plan(home, call);
  const auto [known, is_new] = settings_[index_of(home)].try_emplace(&plan);
  CallSetting& setting = known->second;
  if (!is_new) return setting;
  setting.plan = &plan;
  setting.devices = plans_.devices(home);
  if (!folding_) return setting;
  setting.home = &folding_->home(home);
  setting.tables = &folding_->tables(home, call);
  setting.fast_forward = may_fast_forward({home, call}, setting);
  return setting;
}

void Simulation::complete(RankId rank, NodeId node, Time moving) {
  last_step_ = engine_.now();
  RankExecution& execution = agent(rank);
  observer_.finished({rank, node, execution.complete(node), moving, engine_.now()});
  if (execution.finished()) totals_.rank_finish[index_of(rank)] = engine_.now();
  touch(rank);
  ++nodes_done_;
  report_progress(false);
}

void Simulation::report_progress(bool last) {
  if (progress_ && (last || nodes_done_ % kProgressInterval == 0)) progress_(nodes_done_, nodes_total_);
}

}  // namespace orrery::system
