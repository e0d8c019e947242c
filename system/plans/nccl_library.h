// NCCL as a library of collectives: what collectives/nccl/model.h says of its candidates, on one machine.
#pragma once

#include <string>

#include "collectives/nccl/constants.h"
#include "collectives/nccl/model.h"
#include "collectives/nccl/options.h"
#include "core/machine_kind.h"
#include "system/plans/group_library.h"

namespace orrery {

class NcclLibrary final : public GroupLibrary {
 public:
  NcclLibrary(NcclOptions options, const NcclConstants& constants, const MachineKind& machine)
      : options_(options), constants_(constants), machine_(machine) {}

  Aggregate transfer(CollectiveKind kind, Bytes bytes, std::uint32_t root, const GroupLayout& layout) const override;
  PointToPoint point_to_point(Bytes bytes, bool is_same_node, Duration route_latency) const override;

  // How it runs a collective: the fastest candidate. `shape` of the group, `bytes` as Request::bytes.
  NcclTiming choice(CollectiveKind kind, Bytes bytes, const GroupShape& shape) const;
  NcclSend send(Bytes bytes, bool is_same_node) const;

  std::string name() const;  // "nccl 2.30.0"
  const NcclOptions& options() const { return options_; }
  const NcclConstants& constants() const { return constants_; }
  const MachineKind& machine() const { return machine_; }

 private:
  NcclOptions options_;
  NcclConstants constants_;
  MachineKind machine_;
};

}  // namespace orrery
