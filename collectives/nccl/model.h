// SPDX-License-Identifier: MIT
// Times of a collective by NCCL's algorithms and protocols, and the choice among them: the fastest.
//
//   time = launch + max(base + steps within the node * hop + steps over the network * hop, host) + bytes / rate + fill
//
// `host` is what a thread of the host takes to start the kernels of one call, eight of them where it drives eight GPUs.
// The first kernels wait for the last, while it starts the next call; so it covers the latency. That the bytes come on
// top is measured (eight A100, all-reduce and all-to-all of 64 KiB to 64 MiB), as is that NCCL's choice is the same.
// The shape of it follows NVIDIA/nccl, src/graph/tuning.cc; the bytes that each link carries, and so the rate, follow
// from the algorithm and the fabric. LL sends a flag beside every word (2 bytes on the wire per byte) and is capped;
// LL128 a flag in 128 bytes; Simple nothing. A kernel that works in chunks starts slowly: of chunks of size c, as many
// as there are stages fill the pipe before the last byte may leave, and every chunk costs the kernel some time, so with
// the best c the fill grows with the square root of the size, until the largest chunk is reached, and then no more.
#pragma once

#include <optional>
#include <vector>

#include "collectives/aggregate.h"
#include "collectives/nccl/candidates.h"
#include "collectives/nccl/constants.h"
#include "collectives/nccl/cost.h"
#include "collectives/nccl/options.h"
#include "core/machine_kind.h"
#include "core/units.h"

namespace orrery::collectives {

// A collective that NCCL makes of sends and receives (all_to_all, gather, scatter) has no algorithm.
struct NcclTiming {
  std::optional<NcclAlgorithm> algorithm;
  NcclProtocol protocol = NcclProtocol::kSimple;
  Aggregate transfer;
  double seconds = 0;  // with nothing else on the links
  double device = 0;   // the same if the host keeps no GPU waiting
};

// All candidates that the options leave, in the order of the enumerations; empty if there are none.
std::vector<NcclTiming> nccl_timings(const NcclCall& call, const NcclOptions& options, const NcclConstants& constants);

// Time of one of them with nothing else on the links.
double lone_seconds(const NcclCost& cost, const NcclCall& call, const NcclOptions& options,
                    const NcclConstants& constants);

// True if a time can be simulated.
bool is_countable(double seconds);

// The one that the options' tuner names; else that which the GPUs are fastest with, the first of equal ones. InputError
// if the options leave none, or not the tuner's.
NcclTiming fastest_nccl_timing(const NcclCall& call, const NcclOptions& options, const NcclConstants& constants);

// Send by NCCL: the time before its first byte leaves, and its bytes on the wire.
struct NcclSend {
  NcclProtocol protocol = NcclProtocol::kSimple;
  Duration latency{};
  Bytes bytes{0};
  std::uint32_t processors = 0;  // that it holds
  bool exceeds_buffer = false;   // more than NCCL takes in before the receiver has come
};
NcclSend nccl_send(Bytes bytes, bool is_same_node, const MachineKind& machine, const NcclOptions& options,
                   const NcclConstants& constants);

}  // namespace orrery::collectives
