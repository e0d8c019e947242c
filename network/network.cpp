#include "network/network.h"

#include "core/assert.h"

namespace orrery {

// Only classes of messages come apart.

std::span<const MessagePart> MessageListener::parts_of(std::uint64_t /*token*/) { ORRERY_ASSERT(false); }

void Network::split(std::span<const LinkSplit> /*links*/) { ORRERY_ASSERT(false); }

}  // namespace orrery
