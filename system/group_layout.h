// How the members of a communicator lie on nodes and how fast traffic goes among them: all that a library of
// collectives may know of a group, so that groups of equal layout are planned alike.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "collectives/group_transfer.h"
#include "core/ids.h"
#include "core/units.h"
#include "network/fabric.h"
#include "system/group_messages.h"

namespace orrery {

// What a byte of GroupTransfer::within and one of `between` cost on a link, in seconds.
struct LinkPace {
  double within = 0;
  double between = 0;

  auto operator<=>(const LinkPace&) const = default;
};

struct GroupLayout {
  NodeMembers nodes;
  std::uint32_t members = 0;
  std::uint32_t fullest = 0;  // members of the fullest node
  bool is_even = false;       // as many on each
  // The longest route of a ring or a double tree within a node and between two; zero where there is none.
  Duration within_latency{};
  Duration between_latency{};
  // By NodePattern: the links that may be the slowest, for some ratio of within to between.
  std::array<std::vector<LinkPace>, 3> paces;

  auto operator<=>(const GroupLayout&) const = default;
};

// `devices` are those of the members, in the order of the group.
GroupLayout lay_out_group(std::span<const DeviceId> devices, const Fabric& fabric);

// How long the bytes of a transfer take on the links when nothing else uses them, without its latency: those within the
// nodes alone, those between them alone, and both at once.
struct TransferSeconds {
  double within = 0;
  double between = 0;
  double together = 0;
};
TransferSeconds lone_seconds(const GroupTransfer& transfer, const GroupLayout& layout);

}  // namespace orrery
