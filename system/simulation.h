// SPDX-License-Identifier: MIT
// One simulated run of a job on a fabric: ties ranks, collectives, transfers and the network to the engine.
//
// Each instant goes in rounds (core/engine.h): completions are booked as they are delivered; then members of
// collectives decide, then ranks; what takes no time completes in the next round. If the job is folded, what is used
// for the first time starts last, when the classes that it tells apart have come apart.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/engine.h"
#include "core/ids.h"
#include "core/units.h"
#include "network/fabric/fabric.h"
#include "network/network.h"
#include "system/devices/device.h"
#include "system/devices/perturbation.h"
#include "system/execution/collectives.h"
#include "system/execution/ranks.h"
#include "system/execution/transfers.h"
#include "system/folding/folding.h"
#include "system/folding/symmetry.h"
#include "system/observer.h"
#include "system/plans/plans.h"
#include "workload/graph/job.h"
#include "workload/matching/matching.h"

namespace orrery::system {

// Whether ranks that behave alike are simulated once.
enum class FoldMode : std::uint8_t { kAuto, kOff };

struct SimulationOptions {
  bool timed = true;               // else nothing takes time (experiment/order_check.h)
  bool fast_forward = true;        // folded calls whose ends follow from their entries are not simulated step by step
  FoldMode fold = FoldMode::kOff;  // kAuto: not with the fifo model, whose queues tell all messages apart
  CollectiveOptions collectives;
  ComputeOptions compute;
  Perturbation perturbation;
  std::optional<RemoteMemory> remote_memory;  // else MEM nodes take the device's own bandwidth
};

// What is simulated. All outlive the simulation.
struct SimulationInput {
  const workload::Job& job;
  const workload::Matching& matching;
  const network::Fabric& fabric;
  const DeviceSpec& device;
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
};

// An instant at which classes of ranks came apart: how many there were from then on, and what was first used: one of
// the communicators or pairs of ranks, and how many more.
struct FoldingStep {
  // The first rank of a class that is new, and the first of the class that it was part of.
  struct Apart {
    RankId rank{};
    RankId from{};
  };
  Time time;
  std::uint32_t rank_classes_before = 0;
  std::uint32_t rank_classes = 0;
  std::string first_used;
  std::vector<Apart> came_apart;  // the first 16
};

// Nodes done so far, of how many. Called now and then.
using SimulationProgress = std::function<void(std::uint64_t done, std::uint64_t total)>;

class Simulation final : private EventSink,
                         private InstantObserver,
                         private CollectiveListener,
                         private TransferListener {
 public:
  // Builds the model on this simulation's engine.
  using NetworkFactory = std::function<std::unique_ptr<network::Network>(Engine&)>;

  Simulation(const SimulationInput& input, const SimulationOptions& options, const NetworkFactory& make_network,
             SimulationObserver& observer);

  // Runs to the end. Throws StuckError, with who waits for whom, when ranks are left that can never finish.
  SimulationTotals run(const SimulationProgress& progress = {});

  bool is_folded() const { return folding_.has_value(); }
  // "16 classes of 1024 ranks: ...", so far, or why the job was not folded.
  std::string folding_text() const;
  // Whenever classes came apart, in order.
  std::span<const FoldingStep> folding_steps() const { return folding_steps_; }
  // By LinkId.
  std::vector<network::LinkUsage> link_usage() const;

 private:
  friend class StuckReport;

  void on_event(std::uint64_t payload) override;
  void decide() override;
  void settle() override;
  void add_parts(std::uint64_t payload, std::vector<std::uint64_t>& parts) override;
  void on_call_opened(CallKey call) override;
  void on_call_assembled(CallKey call, std::uint32_t seat, NodeId node) override;
  void on_collective_done(CallKey call, std::uint32_t seat, NodeId node, Time all_entered) override;
  void on_transfer_done(RankId rank, NodeId node, Time moving) override;

  NodeId node_of(CallKey call, RankId rank) const;
  const CallSetting& setting_of(GroupId home, std::uint32_t call);
  const CallSetting& make_setting(GroupId home, std::uint32_t call);
  bool may_fast_forward(CallKey call, const CallSetting& setting);
  std::uint32_t seats(GroupId home) const;
  RankId holder(GroupId home, std::uint32_t seat) const;
  bool join_ready_calls();
  bool relieve_queues();
  bool all_could_join(CallKey call) const;
  std::string reason_not_to_fold() const;
  double messages_to_compare();
  double messages_to_compare(const CollectivePlan& plan) const;
  void fold();
  bool is_in_use(RankId rank, NodeId node) const;
  void bring_into_use();
  std::uint32_t use_all_like_first_uses();
  void note_split(const ClassSplit& split, std::uint32_t classes_before, std::uint32_t used);
  std::string first_use_text(std::uint32_t used) const;
  void split(const ClassSplit& split);
  void split_agents(const ClassSplit& split);
  void refuse_too_many_messages();
  bool has_shared_memory() const;
  void prepare_agents();
  Duration disturbed(RankId rank, NodeId node, Duration time) const {
    return disturbance_ ? disturbance_->disturbed(rank, node, time) : time;
  }
  bool is_waiting_to_begin(RankId rank) const { return disturbance_ && disturbance_->start(rank) > engine_.now(); }
  void begin(RankId rank);
  RankExecution& agent(RankId rank) { return agents_[agent_of(folding(), rank)]; }
  const RankExecution& agent(RankId rank) const { return agents_[agent_of(folding(), rank)]; }
  const Folding* folding() const { return folding_ ? &*folding_ : nullptr; }
  void touch(RankId rank);
  void issue(RankId rank);
  void start_or_defer(RankId rank, NodeId node);
  void start(RankId rank, NodeId node);
  void start_for(RankId rank, NodeId node, Duration duration);
  void start_memory(RankId rank, NodeId node);
  void enter_collective(RankId rank, NodeId node);
  void complete(RankId rank, NodeId node, Time moving);
  void report_progress(bool last);

  const SimulationInput input_;
  const SimulationOptions options_;
  SimulationObserver& observer_;
  Engine engine_;
  std::unique_ptr<network::Network> network_;
  CollectivePlans plans_;
  std::optional<Disturbance> disturbance_;
  std::optional<Symmetry> symmetry_;
  std::optional<Folding> folding_;
  std::string not_folded_;  // why
  std::vector<FoldingStep> folding_steps_;
  struct FirstUse {
    RankId rank{};
    NodeId node{};
  };
  std::vector<FirstUse> first_uses_;   // in this round, of communicators and pairs of ranks
  const ClassSplit* split_ = nullptr;  // while events and messages are being split
  std::vector<std::map<const CollectivePlan*, CallSetting>> settings_;  // by communicator; of the calls that were made
  std::vector<std::vector<const CallSetting*>> setting_of_call_;  // by communicator and call; of those in settings_
  std::vector<StreamTable> streams_;                              // by graph
  std::map<std::pair<std::uint32_t, std::uint32_t>, bool> in_sequence_;  // by graph and slot: calls_are_in_sequence()
  std::vector<std::vector<Duration>> compute_times_;                     // by graph, by node
  std::vector<RankExecution> agents_;
  std::vector<bool> touched_;          // by agent; of those that wait to begin, too
  std::vector<RankId> touched_ranks_;  // that act
  std::optional<CollectiveExecution> collectives_;
  std::optional<TransferExecution> transfers_;
  std::optional<MemoryPools> memory_;
  SimulationTotals totals_;
  Time last_step_;  // when an operation last started or ended
  SimulationProgress progress_;
  std::uint64_t started_ = 0;               // operations
  std::optional<std::uint64_t> joined_at_;  // operations started and done when calls were last joined of necessity
  std::uint64_t nodes_done_ = 0;
  std::uint64_t nodes_total_ = 0;
};

}  // namespace orrery::system
