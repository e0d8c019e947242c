// SPDX-License-Identifier: MIT
// Inputs of ASTRA-sim made in memory.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "astra/engine/simulation.h"

namespace orrery::astra {

// A network of these dimensions at 50 GB/s (of 2^30 bytes) and 500 ns, and a system with this algorithm on each of
// them, one chunk, an endpoint delay of 10 ns and a memory of 1,600 GB/s.
Inputs small_inputs(std::vector<std::pair<TopologyKind, std::uint32_t>> dimensions,
                    AlgorithmKind algorithm = AlgorithmKind::kRing);

// A collective of all ranks, or of the group of a slot.
Node collective_node(std::uint64_t id, CommKind comm, std::uint64_t bytes, std::uint32_t slot = 0);
Node compute_node(std::uint64_t id, Ticks duration);
Node message_node(std::uint64_t id, NodeKind kind, std::uint32_t slot, std::uint64_t bytes, std::uint32_t tag = 0);

// Nodes by ascending id, and edges from parent to child by their places.
Program program_of(std::vector<Node> nodes, std::span<const std::pair<std::uint32_t, std::uint32_t>> edges = {});

// The same program on all ranks, whose collectives are of all ranks.
Job same_on_all(const Program& program, std::uint32_t ranks);

std::vector<Ticks> finish_times(const Result& result);

}  // namespace orrery::astra
