// What messages take of links: each on every link of its route, and many of them, counted as one, of each link by
// itself.
#pragma once

#include <compare>
#include <cstdint>

#include "core/ids.h"
#include "core/units.h"
#include "network/fabric/fabric.h"

namespace orrery {

// A link on the route of a message; or of `copies` messages that do the same at the same time.
struct LinkShare {
  LinkId link{};
  std::uint32_t times = 1;  // that one message crosses the link
  std::uint32_t copies = 1;

  std::uint64_t weight() const { return std::uint64_t{times} * copies; }  // of them all; below 2^63
  auto operator<=>(const LinkShare&) const = default;
};

// What a group of messages puts on a link in all; or each of `copies` such groups. The group has the part of the link's
// bandwidth that `connections` messages have.
struct LinkLoad {
  LinkId link{};
  Bytes bytes{0};  // > 0
  std::uint32_t connections = 1;
  std::uint32_t copies = 1;

  std::uint64_t weight() const { return std::uint64_t{connections} * copies; }
  auto operator<=>(const LinkLoad&) const = default;
};

// How fast the load goes when the link carries it and its copies, and nothing else; and how long that takes.
Bandwidth rate_alone(const Fabric& fabric, const LinkLoad& load);
Duration transfer_alone(const Fabric& fabric, const LinkLoad& load);

}  // namespace orrery
