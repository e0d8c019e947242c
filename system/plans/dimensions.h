// SPDX-License-Identifier: MIT
// The dimensions that collectives go along, and the order in which their chunks do.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "collectives/phase_plan.h"
#include "core/units.h"
#include "network/fabric/fabric.h"

namespace orrery::system {

// kBaseline: every chunk goes up the dimensions in their order. kThemis: each in an order of its own, so that all
// dimensions have as much to do.
enum class DimensionOrder : std::uint8_t { kBaseline, kThemis };

// Dimensions for collectives: those of the fabric, or logical ones of the sizes `logical` (innermost first), whose
// product is the number of devices. A logical dimension that lies in one of the fabric whose members are alike far from
// one another has its topology; of others nothing is known ("edge-list").
std::vector<network::LogicalDimension> collective_dimensions(const network::Fabric& fabric,
                                                             std::span<const std::uint32_t> logical);

// Bytes per rank of the reduce-scatter that measures how long the busiest link of a dimension is busy.
inline constexpr Bytes kProbe{std::int64_t{1} << 30};

// For each of `chunks` reduce-scatters of `bytes` per rank: the dimensions of `axes` in the order in which it goes
// through them (all-gathers go the other way). The first takes the least loaded dimension first, since it has its
// largest part to send there; where the loads differ by less than a sixteenth of a chunk takes on the least loaded, the
// order of `axes`. `probes`: what kProbe takes, by number of the dimension (PlanAxis::dimension). Source: Rashidi et
// al., "Themis: a network bandwidth-aware collective scheduling policy for distributed training of DL models", ISCA
// 2022.
//
// Empty where the order of `axes` is as good for all chunks: each dimension serves `active` chunks at a time then, in the
// order in which they come, and the last is through no later. `kind`: all-reduce, reduce-scatter or all-gather.
std::vector<std::vector<std::uint32_t>> balanced_orders(CollectiveKind kind, std::span<const collectives::PlanAxis> axes,
                                                        Bytes bytes, std::uint32_t chunks,
                                                        std::span<const Duration> probes, std::uint32_t active = 1);

}  // namespace orrery::system
