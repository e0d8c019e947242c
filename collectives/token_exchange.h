// SPDX-License-Identifier: MIT
// Dispatch and combine by kernels that send copies (core/config/dispatch.h), as one pipelined whole: what it puts on
// the links, and how long multiprocessors and launches take. Combine moves the same copies the other way round.
#pragma once

#include "collectives/aggregate.h"
#include "collectives/group_shape.h"
#include "core/config/dispatch.h"
#include "core/units.h"

namespace orrery::collectives {

// On how many of `units` the experts of a token lie, on average. Units (ranks, nodes) have the same number of experts,
// which follow one another; `units` is at least 1.
double units_reached(const TokenRouting& routing, std::uint32_t units);

// `bytes` as of an all-to-all: a row for each expert of each of the rank's tokens. A row is read once and written for
// each node (of several) and for each rank that it reaches. DeepEP: github.com/deepseek-ai/DeepEP, csrc/kernels.
Aggregate token_exchange(const TokenExchange& exchange, Bytes bytes, const GroupShape& shape);

}  // namespace orrery::collectives
