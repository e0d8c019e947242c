// SPDX-License-Identifier: MIT
// Candidates of NCCL for a call: algorithms and protocols, by the collective, the group, the machine, the release, and
// what the user restricts it to.
#pragma once

#include <algorithm>
#include <cmath>

#include "collectives/group_shape.h"
#include "collectives/nccl/constants.h"
#include "collectives/nccl/options.h"
#include "core/collective_kind.h"
#include "core/machine_kind.h"
#include "core/units.h"

namespace orrery::collectives {

// Call to NCCL: the request, and the group that makes it.
struct NcclCall {
  CollectiveKind kind = CollectiveKind::kAllReduce;
  Bytes bytes{0};  // as Request::bytes
  const GroupShape* shape = nullptr;
  MachineKind machine;

  bool spans_nodes() const { return shape->nodes > 1; }
  // A barrier is an all-reduce of one number.
  bool is_all_reduce() const { return kind == CollectiveKind::kAllReduce || kind == CollectiveKind::kBarrier; }
  // Every rank has a part of the data before it or after it.
  bool is_exchange() const { return kind == CollectiveKind::kAllGather || kind == CollectiveKind::kReduceScatter; }
  // Tells whether it runs by sends and receives, and no algorithm.
  bool is_made_of_sends() const {
    return kind == CollectiveKind::kAllToAll || kind == CollectiveKind::kGather || kind == CollectiveKind::kScatter;
  }
};

bool nccl_offers(const NcclCall& call, const NcclOptions& options, NcclAlgorithm algorithm, NcclProtocol protocol);

// Protocol of a send: LL up to 16 KiB, then Simple. Sends have no LL128; Simple takes its place where that is demanded.
NcclProtocol nccl_protocol_of_send(double bytes, const NcclOptions& options);

// Costs of a send by its size. If all of LL's costs gave way to all of Simple's at 16 KiB, a send of 17 KiB would take
// half the time of one of 16 where its bytes count, since LL has twice as many on the wire, and twice the time where
// they do not. Neither was measured (sends between two A100 of a node take 8, 10 and 13 us with 2, 10 and 18 KiB, of
// two nodes 24, 24 and 27: vidur's profiles). So from 8 KiB on, where LL has on the wire what 16 KiB have in Simple, it
// has no more there, and latencies grow from LL's to Simple's in proportion to the bytes: more bytes never take less
// time.
struct NcclSendCosts {
  double simple = 0;  // share of Simple's latencies in its own; the rest is LL's
  double wire = 0;    // bytes

  // Seconds, from those of a send all in LL and all in Simple, which is never the faster one.
  double latency(double ll, double all_simple) const { return std::lerp(ll, std::max(ll, all_simple), simple); }
};
NcclSendCosts nccl_send_costs(double bytes, const NcclOptions& options, const NcclConstants& constants);

}  // namespace orrery::collectives
