// SPDX-License-Identifier: MIT
// A library of collectives that runs each call as one whole, such as NCCL: it chooses how by the call and by how the
// group lies.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "collectives/aggregate.h"
#include "collectives/group_shape.h"
#include "collectives/nccl/constants.h"
#include "collectives/nccl/model.h"
#include "collectives/nccl/options.h"
#include "core/collective_kind.h"
#include "core/ids.h"
#include "core/machine_kind.h"
#include "core/units.h"
#include "network/fabric/fabric.h"
#include "system/plans/group_messages.h"

namespace orrery::system {

// Layout of a group on nodes and the speed of traffic among its members: all that a library of collectives may know of
// it, so that groups of equal layout share their plans.
struct GroupLayout {
  NodeMembers nodes;
  collectives::GroupShape shape;
  bool alike = false;  // are_nodes_alike(), and there are several

  auto operator<=>(const GroupLayout&) const = default;
};

// `devices` are those of the members, in the order of the group. `exchanges`: whether it calls all-to-alls; else what
// they would take is left out, which would be most of the work in a large group.
GroupLayout lay_out_group(std::span<const DeviceId> devices, const network::Fabric& fabric, bool exchanges = true);

// Machine that a group of this shape runs on. `machines`: by type of the cluster's nodes.
MachineKind machine_of(std::span<const MachineKind> machines, const collectives::GroupShape& shape);

// Names of what a call is done by, for people: "ring", "nvls-tree", "send/recv"; "ll128".
inline constexpr std::string_view kSendsAndReceives = "send/recv";
struct CallWay {
  std::string algorithm;
  std::string protocol;  // empty where there are none
};

// Treatment of a send by a library.
struct PointToPoint {
  Duration latency{};            // before its first byte leaves
  Bytes bytes{0};                // on the wire
  bool is_awaited = false;       // it does not begin before its receive is posted
  std::uint32_t processors = 0;  // that it takes from computing while it runs
  std::string_view protocol{};   // its name; empty where there are none
};

class GroupLibrary {
 public:
  virtual ~GroupLibrary() = default;

  // Layout of the group on `devices`, as far as the library knows it.
  virtual GroupLayout layout(std::span<const DeviceId> devices, const network::Fabric& fabric, bool exchanges) const {
    return lay_out_group(devices, fabric, exchanges);
  }

  // Aggregate of a collective on a group of two or more. `bytes` as in Request::bytes, of whoever has most where
  // members differ; `root` is a member. The same for equal arguments.
  virtual collectives::Aggregate transfer(CollectiveKind kind, Bytes bytes, std::uint32_t root,
                                          const GroupLayout& layout) const = 0;

  // Names for what transfer() gives; none of a library that has none.
  virtual CallWay way(CollectiveKind, Bytes, const GroupLayout&) const { return {}; }

  // `route_latency`: of the links between the two ranks. The same for equal arguments.
  virtual PointToPoint point_to_point(Bytes bytes, bool is_same_node, Duration route_latency) const = 0;
};

// NCCL as a library of collectives: what collectives/nccl/model.h says of its candidates, on one machine.
class NcclLibrary final : public GroupLibrary {
 public:
  // `machines`: by type of the cluster's nodes.
  NcclLibrary(collectives::NcclOptions options, const collectives::NcclConstants& constants,
              std::vector<MachineKind> machines)
      : options_(options), constants_(constants), machine_(common_machine(machines)), machines_(std::move(machines)) {}

  collectives::Aggregate transfer(CollectiveKind kind, Bytes bytes, std::uint32_t root,
                                  const GroupLayout& layout) const override;
  CallWay way(CollectiveKind kind, Bytes bytes, const GroupLayout& layout) const override;
  PointToPoint point_to_point(Bytes bytes, bool is_same_node, Duration route_latency) const override;

  // Fastest candidate for a collective. `shape` of the group, `bytes` as Request::bytes.
  collectives::NcclTiming choice(CollectiveKind kind, Bytes bytes, const collectives::GroupShape& shape) const;
  collectives::NcclSend send(Bytes bytes, bool is_same_node) const;

  std::string name() const;  // "nccl 2.30.0"
  const collectives::NcclOptions& options() const { return options_; }
  const collectives::NcclConstants& constants() const { return constants_; }
  const MachineKind& machine() const { return machine_; }
  std::span<const MachineKind> machines() const { return machines_; }

 private:
  collectives::NcclOptions options_;
  collectives::NcclConstants constants_;
  MachineKind machine_;  // of the whole cluster, which sends go by
  std::vector<MachineKind> machines_;
};

}  // namespace orrery::system
