// SPDX-License-Identifier: MIT
#include "system/simulation.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "system/execution/agents.h"
#include "system/execution/calls.h"
#include "system/execution/transfers.h"
#include "system/plans/plans.h"
#include "system/tape/tape.h"
#include "workload/matching/stuck.h"

namespace orrery::system {

namespace {

// Calls of a rank that share its queues have times that do not follow from their members alone.
CastOptions cast_options(const SimulationOptions& options) {
  CastOptions cast = options;
  cast.fast_forward = cast.fast_forward && options.collectives.queue_scope == QueueScope::kCollective;
  return cast;
}

}  // namespace

// Engine, network, times and cast of a job before anything has run.
struct World {
  World(const SimulationInput& input, const SimulationOptions& options, const Simulation::NetworkFactory& make_network,
        CollectivePlans& plans)
      : network(make_network(engine)),
        times(input.job, input.fabric, input.devices, input.placement, options),
        cast(make_cast({input.job, input.matching, input.fabric, input.placement, plans, *network},
                       cast_options(options), options.collectives.granularity,
                       {times.colours(), times.what_differs()})) {}

  Engine engine;
  std::unique_ptr<network::Network> network;
  OperationTimes times;
  std::unique_ptr<Cast> cast;
};

// The engine's way through a job: event by event, in the order of time.
class Execution final : public InstantObserver {
 public:
  Execution(World& world, const SimulationOptions& options, SimulationObserver& observer)
      : engine_(world.engine),
        network_(*world.network),
        cast_(*world.cast),
        agents_(engine_, cast_, world.times, calls_, transfers_, observer, options.collectives),
        calls_(engine_, cast_, agents_, options.collectives),
        transfers_(engine_, cast_, agents_, options.collectives.library) {}

  // False if ranks are left that can never finish.
  bool run(const SimulationProgress& progress);
  const Agents& agents() const { return agents_; }
  std::uint64_t messages() const { return calls_.messages() + transfers_.messages(); }
  std::uint64_t fast_forwarded() const { return calls_.fast_forwarded(); }

 private:
  void decide() override {
    calls_.hold_assembled();
    start_what_can();
    calls_.close_round();
    agents_.adjust_speeds();
  }
  void start_what_can();
  void settle() override {
    if (calls_.hold_assembled()) agents_.adjust_speeds();
    network_.settle();
  }
  void split(const ClassSplit& split);

  Engine& engine_;
  network::Network& network_;
  Cast& cast_;
  Agents agents_;
  Calls calls_;
  Transfers transfers_;
};

bool Execution::run(const SimulationProgress& progress) {
  agents_.begin(progress);
  for (engine_.run(*this); agents_.join_ready_calls() || calls_.relieve(); engine_.run(*this)) agents_.open_round();
  if (!agents_.finished()) return false;
  agents_.settle();
  agents_.report_progress();
  return true;
}

void Execution::start_what_can() {
  calls_.advance();
  agents_.decide();
  const bool uses_anew = !agents_.first_uses().empty();
  if (!uses_anew) agents_.start_competing();
  calls_.advance();  // those that entered
  if (!uses_anew) return;
  agents_.settle();
  split(cast_.bring_into_use(agents_.first_uses(), engine_.now()));
  agents_.start_first_uses();
  calls_.advance();
}

// Whoever has state of a class that came apart copies it for the parts.
void Execution::split(const ClassSplit& split) {
  if (split.empty()) return;
  agents_.split(split);
  calls_.split(split);
  transfers_.split(split);
  network_.split(split.links);
  engine_.split_pending();
}

class Simulation::Parts {
 public:
  Parts(const SimulationInput& input, const SimulationOptions& options, const NetworkFactory& make_network,
        SimulationObserver& observer);

  SimulationTotals run(const SimulationProgress& progress);
  const Cast& cast() const {
    ORRERY_ASSERT(world_ != nullptr);
    return *world_->cast;
  }
  LinkUsages usage() const { return {world_->network->usage(), *world_->cast}; }
  CollectivePlans& plans() { return plans_; }

 private:
  StuckError stuck(const Agents& agents) const;
  std::optional<SimulationTotals> run_tape(const SimulationProgress& progress);
  template <class By>
  SimulationTotals totals(const By& finish_of, std::uint64_t messages) const;
  // Nobody uses the one before any more: both together would take twice the memory.
  void make_world() {
    world_.reset();
    world_ = std::make_unique<World>(input_, options_, make_network_, plans_);
  }

  const SimulationInput input_;
  const SimulationOptions options_;
  const NetworkFactory make_network_;
  SimulationObserver& observer_;
  CollectivePlans plans_;
  std::unique_ptr<World> world_;
  std::string_view why_by_events_ = "fast-forwarding is off";
};

Simulation::Parts::Parts(const SimulationInput& input, const SimulationOptions& options,
                         const NetworkFactory& make_network, SimulationObserver& observer)
    : input_(input),
      options_(options),
      make_network_(make_network),
      observer_(observer),
      plans_(input.job, input.matching, input.fabric, input.placement, options_.collectives) {
  make_world();
  const auto has_repetitions = [](const workload::ExecutionGraph& graph) { return !graph.stretches().empty(); };
  if (std::ranges::any_of(input.job.graphs, has_repetitions) && may_change_times(options.perturbation, input.job))
    throw NotRepeatable{};
}

SimulationTotals Simulation::Parts::run(const SimulationProgress& progress) {
  if (options_.fast_forward && options_.timed)
    if (std::optional<SimulationTotals> ran = run_tape(progress)) return *std::move(ran);
  Execution execution(*world_, options_, observer_);
  if (!execution.run(progress)) throw stuck(execution.agents());
  SimulationTotals ran = totals([&](RankId rank) { return execution.agents().finish(rank); }, execution.messages());
  ran.fast_forwarded = execution.fast_forwarded();
  ran.why_by_events = why_by_events_;
  return ran;
}

StuckError Simulation::Parts::stuck(const Agents& agents) const {
  std::vector<RankId> unfinished;
  for (std::uint32_t rank = 0; rank < input_.job.ranks.size(); ++rank)
    if (!agents.execution(RankId(rank)).finished()) unfinished.push_back(RankId(rank));
  const auto send_waits = [&](RankId from, RankId to, Bytes bytes) {
    return options_.collectives.library != nullptr &&
           point_to_point(*options_.collectives.library, input_.fabric, input_.placement, from, to, bytes).is_awaited;
  };
  return workload::stuck_error(input_.job, input_.matching, send_waits, unfinished,
                               options_.timed ? std::optional(agents.last_step()) : std::nullopt);
}

// Nothing if the job has to go event by event.
std::optional<SimulationTotals> Simulation::Parts::run_tape(const SimulationProgress& progress) {
  constexpr int kMostRuns = 3;
  Tape::ByNetwork by_network;
  for (int runs = 1;; ++runs) {
    std::optional<Tape> tape(std::in_place, world_->engine, *world_->cast, world_->times, options_.collectives,
                             by_network, observer_);
    why_by_events_ = tape->run(progress);
    const bool has_conflicts = tape->add_conflicts(by_network);
    if (!has_conflicts && why_by_events_.empty()) {
      tape->settle_up();
      return totals([&](RankId rank) { return tape->finish(rank); }, tape->messages());
    }
    const bool has_begun = tape->has_begun();
    tape.reset();
    observer_.begin_anew();
    if (has_conflicts || has_begun) make_world();
    if (!has_conflicts) return std::nullopt;
    by_network.all = by_network.all || runs + 1 >= kMostRuns;
  }
}

template <class By>
SimulationTotals Simulation::Parts::totals(const By& finish_of, std::uint64_t messages) const {
  SimulationTotals totals;
  for (std::uint32_t rank = 0; rank < input_.job.ranks.size(); ++rank) {
    totals.acting.push_back(world_->cast->acting(RankId(rank)));
    totals.rank_finish.push_back(finish_of(RankId(rank)));
  }
  totals.finish = *std::ranges::max_element(totals.rank_finish);
  totals.events = world_->engine.delivered();
  totals.messages = messages;
  totals.rank_classes = world_->cast->agents();
  totals.link_classes = world_->cast->link_classes();
  return totals;
}

Simulation::Simulation(const SimulationInput& input, const SimulationOptions& options,
                       const NetworkFactory& make_network, SimulationObserver& observer)
    : parts_(std::make_unique<Parts>(input, options, make_network, observer)) {}

Simulation::~Simulation() = default;

SimulationTotals Simulation::run(const SimulationProgress& progress) { return parts_->run(progress); }

const Cast& Simulation::cast() const { return parts_->cast(); }

LinkUsages Simulation::usage() const { return parts_->usage(); }

std::vector<network::LinkUsage> Simulation::link_usage() const {
  std::vector<network::LinkUsage> all;
  usage().for_each([&](LinkId, const network::LinkUsage& of) { all.push_back(of); });
  return all;
}

CollectivePlans& Simulation::plans() const { return parts_->plans(); }

}  // namespace orrery::system
