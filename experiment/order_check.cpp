// SPDX-License-Identifier: MIT
#include "experiment/check.h"

#include <vector>

#include "network/fabric/compose.h"
#include "system/network_model.h"

namespace orrery::experiment {
namespace {

// A call is done when all members have come, a message is there when it is sent, wherever they are.
class FreeLibrary final : public system::GroupLibrary {
 public:
  system::GroupLayout layout(std::span<const DeviceId> devices, const network::Fabric&, bool) const override {
    system::GroupLayout layout;
    layout.shape.ranks = static_cast<std::uint32_t>(devices.size());
    return layout;
  }
  collectives::Aggregate transfer(CollectiveKind, Bytes, std::uint32_t, const system::GroupLayout&) const override {
    return {};
  }
  system::PointToPoint point_to_point(Bytes, bool, Duration) const override { return {}; }
};

class NoObserver final : public system::SimulationObserver {
 public:
  void finished(RankId, const system::OperationRecord&) override {}
  void repeated(RankId, const system::RepetitionRecord&) override {}
  void split(RankId, RankId) override {}
};

}  // namespace

void check_order(const workload::Job& job, const workload::Matching& matching,
                 const system::SimulationProgress& progress) {
  const auto ranks = static_cast<std::uint32_t>(job.ranks.size());
  // A device each, all joined to one switch.
  network::DimensionSpec ports;
  ports.size = ranks;
  const network::Fabric fabric = network::compose({&ports, 1});
  std::vector<DeviceId> placement;
  for (std::uint32_t rank = 0; rank < ranks; ++rank) placement.push_back(DeviceId(rank));
  const FreeLibrary library;
  system::SimulationOptions options;
  options.timed = false;
  options.fold = system::FoldMode::kAuto;
  options.collectives.granularity = system::Granularity::kPhase;
  options.collectives.library = &library;
  NoObserver observer;
  const std::vector<system::DeviceSpec> devices(1);
  system::Simulation(
      {job, matching, fabric, devices, placement}, options,
      [&](Engine& engine) { return system::make_network(system::NetworkModel::kAlphaBeta, engine, fabric); }, observer)
      .run(progress);
}

}  // namespace orrery::experiment
