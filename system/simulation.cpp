// SPDX-License-Identifier: MIT
#include "system/simulation.h"

#include <algorithm>

#include "system/execution/agents.h"
#include "system/execution/calls.h"
#include "system/execution/transfers.h"
#include "system/plans/plans.h"
#include "system/stuck_report.h"

namespace orrery::system {

class Simulation::Parts final : public InstantObserver {
 public:
  Parts(const SimulationInput& input, const SimulationOptions& options, const NetworkFactory& make_network,
        SimulationObserver& observer);

  SimulationTotals run(const SimulationProgress& progress);
  const Cast& cast() const { return *cast_; }
  std::vector<network::LinkUsage> link_usage() const;
  CollectivePlans& plans() { return plans_; }

 private:
  void decide() override {
    start_what_can();
    agents_.adjust_speeds();
  }
  void start_what_can();
  void settle() override { network_->settle(); }
  void split(const ClassSplit& split);

  const workload::Job& job_;
  const SimulationOptions options_;
  Engine engine_;
  std::unique_ptr<network::Network> network_;
  CollectivePlans plans_;
  OperationTimes times_;
  std::unique_ptr<Cast> cast_;
  Agents agents_;
  Calls calls_;
  Transfers transfers_;
};

namespace {

// If the calls of a rank share its queues, the time of one does not follow from its members alone.
CastOptions cast_options(const SimulationOptions& options) {
  CastOptions cast = options;
  cast.fast_forward = cast.fast_forward && options.collectives.queue_scope == QueueScope::kCollective;
  return cast;
}

}  // namespace

Simulation::Parts::Parts(const SimulationInput& input, const SimulationOptions& options,
                         const NetworkFactory& make_network, SimulationObserver& observer)
    : job_(input.job),
      options_(options),
      network_(make_network(engine_)),
      plans_(input.job, input.matching, input.fabric, input.placement, options_.collectives),
      times_(input.job, input.fabric, input.devices, input.placement, options),
      cast_(make_cast({input.job, input.matching, input.fabric, input.placement, plans_, *network_},
                      cast_options(options), options.collectives.granularity,
                      {times_.colours(), times_.what_differs()})),
      agents_(engine_, *cast_, times_, calls_, transfers_, observer, options_.collectives),
      calls_(engine_, *cast_, agents_, options_.collectives),
      transfers_(engine_, *cast_, agents_, options.collectives.library) {
  const auto has_repetitions = [](const workload::ExecutionGraph& graph) { return !graph.stretches().empty(); };
  if (std::ranges::any_of(job_.graphs, has_repetitions) && may_change_times(options.perturbation, job_))
    throw NotRepeatable{};
}

SimulationTotals Simulation::Parts::run(const SimulationProgress& progress) {
  agents_.begin(progress);
  for (engine_.run(*this); agents_.join_ready_calls() || calls_.relieve(); engine_.run(*this)) agents_.open_round();
  if (!agents_.finished()) throw stuck_error(job_, plans_, agents_, options_.timed);
  agents_.settle();
  agents_.report_progress();
  SimulationTotals totals;
  for (std::uint32_t rank = 0; rank < job_.ranks.size(); ++rank) {
    totals.acting.push_back(cast_->acting(RankId(rank)));
    totals.rank_finish.push_back(agents_.finish(RankId(rank)));
  }
  totals.finish = *std::ranges::max_element(totals.rank_finish);
  totals.events = engine_.delivered();
  totals.messages = calls_.messages() + transfers_.messages();
  totals.rank_classes = cast_->agents();
  totals.link_classes = cast_->link_classes();
  return totals;
}

void Simulation::Parts::start_what_can() {
  calls_.advance();
  agents_.decide();
  const bool uses_anew = !agents_.first_uses().empty();
  if (!uses_anew) agents_.start_competing();
  calls_.advance();  // those that entered
  if (!uses_anew) return;
  agents_.settle();
  split(cast_->bring_into_use(agents_.first_uses(), engine_.now()));
  agents_.start_first_uses();
  calls_.advance();
}

// Whoever has state of a class that came apart copies it for the parts.
void Simulation::Parts::split(const ClassSplit& split) {
  if (split.empty()) return;
  agents_.split(split);
  calls_.split(split);
  transfers_.split(split);
  network_->split(split.links);
  engine_.split_pending();
}

std::vector<network::LinkUsage> Simulation::Parts::link_usage() const {
  std::vector<network::LinkUsage> usage = network_->link_usage();
  for (std::uint32_t link = 0; link < usage.size(); ++link)
    usage[link] = usage[index_of(cast_->acting(LinkId(link)))];  // who acts for others acts for itself
  return usage;
}

Simulation::Simulation(const SimulationInput& input, const SimulationOptions& options,
                       const NetworkFactory& make_network, SimulationObserver& observer)
    : parts_(std::make_unique<Parts>(input, options, make_network, observer)) {}

Simulation::~Simulation() = default;

SimulationTotals Simulation::run(const SimulationProgress& progress) { return parts_->run(progress); }

const Cast& Simulation::cast() const { return parts_->cast(); }

std::vector<network::LinkUsage> Simulation::link_usage() const { return parts_->link_usage(); }

CollectivePlans& Simulation::plans() const { return parts_->plans(); }

}  // namespace orrery::system
