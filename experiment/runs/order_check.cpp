// SPDX-License-Identifier: MIT
#include "experiment/runs/check.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "collectives/nccl/constants_config.h"
#include "network/fabric/compose.h"
#include "system/network_model.h"

namespace orrery::experiment {
namespace {

// A call is done when all members have come; a message is there when it is sent, a large one when both ends have come;
// wherever they are.
class FreeLibrary final : public system::GroupLibrary {
 public:
  explicit FreeLibrary(Bytes send_buffer) : send_buffer_(send_buffer) {}

  system::GroupLayout layout(std::span<const DeviceId> devices, const network::Fabric&, bool) const override {
    system::GroupLayout layout;
    layout.shape.ranks = static_cast<std::uint32_t>(devices.size());
    return layout;
  }
  collectives::Aggregate transfer(CollectiveKind, Bytes, std::uint32_t, const system::GroupLayout&) const override {
    return {};
  }
  system::PointToPoint point_to_point(Bytes bytes, bool, Duration) const override {
    return {{}, {}, bytes > send_buffer_};
  }

 private:
  Bytes send_buffer_;
};

class NoObserver final : public system::SimulationObserver {
 public:
  void finished(RankId, const system::OperationRecord&) override {}
  void repeated(RankId, const system::RepetitionRecord&) override {}
  void split(RankId, RankId) override {}
  void begin_anew() override {}
};

}  // namespace

Bytes send_buffer_of(const collectives::NcclConstants& constants) {
  return Bytes(static_cast<std::int64_t>(std::min(constants.send_buffer(), 0x1p62)));
}

Bytes nccl_send_buffer(const ConfigFiles& files) {
  return send_buffer_of(collectives::shipped_nccl_constants(files).constants);
}

void check_order(const workload::Job& job, const workload::Matching& matching, Bytes send_buffer,
                 const system::SimulationProgress& progress) {
  const auto ranks = static_cast<std::uint32_t>(job.ranks.size());
  // A device each, all joined to one switch.
  network::DimensionSpec ports;
  ports.size = ranks;
  const network::Fabric fabric = network::compose({&ports, 1});
  std::vector<DeviceId> placement;
  for (std::uint32_t rank = 0; rank < ranks; ++rank) placement.push_back(DeviceId(rank));
  const FreeLibrary library(send_buffer);
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
