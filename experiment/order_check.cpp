#include "experiment/order_check.h"

#include <vector>

#include "network/fabric/compose.h"
#include "system/network_model.h"

namespace orrery {
namespace {

// A call is done when all members have come, a message is there when it is sent, wherever they are.
class FreeLibrary final : public GroupLibrary {
 public:
  GroupLayout layout(std::span<const DeviceId> devices, const Fabric&) const override {
    GroupLayout layout;
    layout.shape.ranks = static_cast<std::uint32_t>(devices.size());
    return layout;
  }
  Aggregate transfer(CollectiveKind, Bytes, std::uint32_t, const GroupLayout&) const override { return {}; }
  PointToPoint point_to_point(Bytes, bool, Duration) const override { return {}; }
};

class NoObserver final : public SimulationObserver {
 public:
  void finished(const OperationRecord&) override {}
  void split(RankId, RankId) override {}
};

}  // namespace

void check_order(const Job& job, const Matching& matching, const SimulationProgress& progress) {
  const auto ranks = static_cast<std::uint32_t>(job.ranks.size());
  // A device each, all joined to one switch.
  DimensionSpec ports;
  ports.size = ranks;
  const Fabric fabric = compose({&ports, 1});
  std::vector<DeviceId> placement;
  for (std::uint32_t rank = 0; rank < ranks; ++rank) placement.push_back(DeviceId(rank));
  const FreeLibrary library;
  SimulationOptions options;
  options.timed = false;
  options.fold = FoldMode::kAuto;
  options.collectives.granularity = Granularity::kPhase;
  options.collectives.library = &library;
  NoObserver observer;
  const DeviceSpec device;
  Simulation(
      {job, matching, fabric, device, placement}, options,
      [&](Engine& engine, MessageListener& listener) {
        return make_network(NetworkModel::kAlphaBeta, engine, fabric, listener);
      },
      observer)
      .run(progress);
}

}  // namespace orrery
