// SPDX-License-Identifier: MIT
#include "network/network.h"

namespace orrery::network {

void MessageRecipient::deliver(Engine& engine, Duration transfer, Duration latency, std::uint32_t id) {
  if (latency == Duration::zero()) {
    engine.after(transfer, ends_, id);
  } else {
    engine.after(transfer, is_released_, id);
    arrive(engine, saturating_add(transfer, latency), id);
  }
}

// Only messages of some models are predicted or queue, and only classes come apart.

void MessageRecipient::on_release_predicted(std::uint32_t /*id*/, Time /*release*/) { ORRERY_ASSERT(false); }

void MessageRecipient::on_delayed(std::uint32_t /*id*/) { ORRERY_ASSERT(false); }

bool Network::count_groups(PathId /*path*/, std::uint64_t /*groups*/) { return false; }

std::optional<Duration> Network::time_alone(PathId /*path*/, Bytes /*bytes*/) { return std::nullopt; }

std::span<const MessagePart> MessageRecipient::parts_of(std::uint32_t /*id*/) { ORRERY_ASSERT(false); }

MessagePlace MessageRecipient::place_of(std::uint32_t /*id*/) const { ORRERY_ASSERT(false); }

}  // namespace orrery::network
