// SPDX-License-Identifier: MIT
#include "network/network.h"

#include "core/assert.h"

namespace orrery::network {

Bandwidth rate_alone(const Fabric& fabric, const LinkLoad& load) {
  return Bandwidth(fill_rate(fabric.link(load.link).bandwidth.count(), load.weight()) * load.connections);
}

Duration transfer_alone(const Fabric& fabric, const LinkLoad& load) { return load.bytes / rate_alone(fabric, load); }

// Only messages of some models are predicted or queue, and only classes come apart.

void MessageListener::on_release_predicted(std::uint64_t /*token*/, Time /*release*/) { ORRERY_ASSERT(false); }

void MessageListener::on_delayed(std::uint64_t /*token*/) { ORRERY_ASSERT(false); }

std::span<const MessagePart> MessageListener::parts_of(std::uint64_t /*token*/) { ORRERY_ASSERT(false); }

MessagePlace MessageListener::place_of(std::uint64_t /*token*/) const { ORRERY_ASSERT(false); }

void Network::split(std::span<const LinkSplit> /*links*/) { ORRERY_ASSERT(false); }

}  // namespace orrery::network
