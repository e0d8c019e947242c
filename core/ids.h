// SPDX-License-Identifier: MIT
// Identifiers. Each is its own type, so that a rank cannot be passed where a link is meant.
#pragma once

#include <cstdint>

namespace orrery {

enum class RankId : std::uint32_t {};    // a rank of the job, 0 .. ranks-1
enum class DeviceId : std::uint32_t {};  // a device of the fabric, node-major
enum class LinkId : std::uint32_t {};    // a directed link of the fabric
enum class GroupId : std::uint32_t {};   // a communicator of the job; 0 is the world
enum class NodeId : std::uint32_t {};    // a node of one rank's execution graph, by position

template <class Id>
constexpr std::uint32_t index_of(Id id) {
  return static_cast<std::uint32_t>(id);
}

}  // namespace orrery
