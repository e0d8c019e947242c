// SPDX-License-Identifier: MIT
// One simulated run of a job on a fabric: ties ranks, collectives, transfers and the network to the engine.
//
// Each instant goes in rounds (core/engine.h): completions are booked as they are delivered; then members of
// collectives decide, then ranks; what takes no time completes in the next round. If the job is folded, what is used
// for the first time starts last, when the classes that it tells apart have come apart.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "core/engine.h"
#include "core/ids.h"
#include "core/units.h"
#include "network/fabric/fabric.h"
#include "network/network.h"
#include "system/devices/device.h"
#include "system/devices/operation_times.h"
#include "system/execution/observer.h"
#include "system/folding/cast.h"
#include "system/folding/link_usages.h"
#include "system/plans/plan.h"
#include "system/plans/plans.h"
#include "workload/graph/job.h"
#include "workload/matching/matching.h"

namespace orrery::system {

// Nothing is folded with the fifo model, whose queues tell all messages apart.
struct SimulationOptions : OperationOptions, CastOptions {
  CollectiveOptions collectives;
};

// Input of a simulation. All outlive the simulation.
struct SimulationInput {
  const workload::Job& job;
  const workload::Matching& matching;
  const network::Fabric& fabric;
  std::span<const DeviceSpec> devices;  // by type of the fabric's nodes
  std::span<const DeviceId> placement;  // by rank
};

struct SimulationTotals {
  Time finish;                    // when the last rank was done
  std::vector<Time> rank_finish;  // by rank
  std::vector<RankId> acting;     // by rank: whose operations the observer was told for it
  std::uint32_t rank_classes = 0;
  std::uint32_t link_classes = 0;  // of links that messages crossed
  std::uint64_t events = 0;
  std::uint64_t messages = 0;
  std::uint64_t fast_forwarded = 0;  // messages of calls that were fast-forwarded (system/execution/calls.h)
  std::string_view why_by_events;    // reason why no rank ran ahead of the clock (system/tape/tape.h); empty: they did
};

class Simulation {
 public:
  // Builds the model on this simulation's engine.
  using NetworkFactory = std::function<std::unique_ptr<network::Network>(Engine&)>;

  Simulation(const SimulationInput& input, const SimulationOptions& options, const NetworkFactory& make_network,
             SimulationObserver& observer);
  ~Simulation();

  // Runs to the end. Throws StuckError, with who waits for whom, when ranks are left that can never finish, and
  // NotRepeatable where repetitions of a program have to be written out.
  SimulationTotals run(const SimulationProgress& progress = {});

  // Cast: which ranks acted for which.
  const Cast& cast() const;
  // Usage of all links; lives no longer than the simulation.
  LinkUsages usage() const;
  // The same written out, by LinkId.
  std::vector<network::LinkUsage> link_usage() const;
  // Plans of the calls; live as long as the simulation.
  CollectivePlans& plans() const;

 private:
  class Parts;

  std::unique_ptr<Parts> parts_;
};

}  // namespace orrery::system
