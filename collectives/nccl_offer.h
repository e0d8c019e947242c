// What NCCL has for a call: algorithms and protocols, by the collective, the group, the machine, the release, and what
// it is held to.
#pragma once

#include "collectives/group_shape.h"
#include "collectives/nccl_options.h"
#include "core/collective_kind.h"
#include "core/machine_kind.h"
#include "core/units.h"

namespace orrery {

// What NCCL is asked, and of whom.
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
  // By sends and receives, and no algorithm.
  bool is_made_of_sends() const {
    return kind == CollectiveKind::kAllToAll || kind == CollectiveKind::kGather || kind == CollectiveKind::kScatter;
  }
};

bool nccl_offers(const NcclCall& call, const NcclOptions& options, NcclAlgorithm algorithm, NcclProtocol protocol);

// Of a send of so many bytes: LL up to 16 KiB, then Simple. There is no LL128: who is held to it has Simple.
NcclProtocol nccl_protocol_of_send(Bytes bytes, const NcclOptions& options);

// Whether the caps of LL on Hopper are its own, rather than those of Ampere.
bool nccl_has_hopper_caps(NcclVersion version);

}  // namespace orrery
