// SPDX-License-Identifier: MIT
#include "collectives/nccl/candidates.h"

#include <algorithm>

namespace orrery::collectives {
namespace {

using enum NcclAlgorithm;
using enum NcclProtocol;

// Sends up to this size go in LL: NVIDIA/nccl, NCCL_P2P_LL_THRESHOLD.
constexpr double kLargestLlSend = 16384;

// Releases that brought an algorithm or a protocol, from NCCL's release notes.
constexpr NcclVersion kFirstWithTree{2, 4, 0};
constexpr NcclVersion kFirstWithLl128{2, 5, 0};
constexpr NcclVersion kFirstWithCollNet{2, 6, 0};
constexpr NcclVersion kFirstWithNvls{2, 17, 0};
constexpr NcclVersion kFirstWithNvlsTree{2, 18, 0};
constexpr NcclVersion kFirstWithPat{2, 23, 0};

// True if NCCL has the algorithm for such a collective at all.
bool exists(const NcclCall& call, NcclAlgorithm algorithm) {
  if (call.is_made_of_sends()) return false;
  if (algorithm == kRing) return true;
  if (algorithm == kNvls) return call.is_exchange() || call.is_all_reduce();
  return algorithm == kPat ? call.is_exchange() : call.is_all_reduce();
}

// NCCL ignores a request for an algorithm that it does not have for the collective.
bool may_take(const NcclCall& call, const NcclOptions& options, NcclAlgorithm algorithm) {
  if (!exists(call, algorithm)) return false;
  const bool is_held = std::ranges::any_of(kAllNcclAlgorithms, [&](NcclAlgorithm a) {
    return options.algorithms.any() && options.may_take(a) && exists(call, a);
  });
  return !is_held || options.may_take(algorithm);
}

// LL128 rests on stores of 128 bytes that stay whole on the way, which NVLink grants. Before Hopper NCCL takes it only
// where all GPUs are of one compute capability (NVIDIA/nccl, src/graph/tuning.cc).
bool has_ll128(const NcclCall& call, NcclVersion version) {
  const bool is_new =
      maker_of(call.machine.architecture) == Maker::kNvidia && call.machine.architecture >= Architecture::kVolta;
  if (!call.machine.is_uniform && call.machine.architecture < Architecture::kHopper) return false;
  return is_new && version >= kFirstWithLl128 &&
         (call.machine.within == NodeLinkKind::kNvlink || call.shape->fullest == 1);
}

// NCCL asks for more than one GPU of a node, and takes NVLS from five on: measured on H200 (ml-engineering).
bool has_nvls(const NcclCall& call, NcclVersion version) {
  return call.machine.multicast && version >= kFirstWithNvls && call.shape->fullest > 1 && call.shape->ranks > 4;
}

bool has_collnet(const NcclCall& call, NcclVersion version) {
  return call.machine.in_network_reduction && version >= kFirstWithCollNet && call.spans_nodes();
}

bool is_there(const NcclCall& call, const NcclOptions& options, NcclAlgorithm algorithm) {
  const NcclVersion version = options.version;
  switch (algorithm) {
    case kRing:
      return true;
    case kTree:
      // On one node it is a chain, which NCCL takes only when it is held to it.
      return version >= kFirstWithTree && (call.spans_nodes() || options.algorithms.any());
    case kCollNetDirect:
    case kCollNetChain:
      return has_collnet(call, version);
    case kNvls:
      return has_nvls(call, version) && (!call.spans_nodes() || has_collnet(call, version));
    case kNvlsTree:
      return has_nvls(call, version) && call.spans_nodes() && version >= kFirstWithNvlsTree;
    case kPat:
      return call.shape->fullest == 1 && call.spans_nodes() && version >= kFirstWithPat;
  }
  return false;
}

}  // namespace

bool nccl_offers(const NcclCall& call, const NcclOptions& options, NcclAlgorithm algorithm, NcclProtocol protocol) {
  if (!has_protocol(algorithm, protocol) || !options.may_take(protocol)) return false;
  if (protocol == kLl128 && !has_ll128(call, options.version)) return false;
  return may_take(call, options, algorithm) && is_there(call, options, algorithm);
}

NcclProtocol nccl_protocol_of_send(double bytes, const NcclOptions& options) {
  return bytes <= kLargestLlSend && options.may_take(kLl) ? kLl : kSimple;
}

NcclSendCosts nccl_send_costs(double bytes, const NcclOptions& options, const NcclConstants& constants) {
  if (nccl_protocol_of_send(bytes, options) == kSimple) return {1, bytes / constants.protocol_efficiency(kSimple)};
  const double most = kLargestLlSend / constants.protocol_efficiency(kSimple);
  const double full = std::min(most * constants.protocol_efficiency(kLl), kLargestLlSend);
  if (bytes <= full) return {0, bytes / constants.protocol_efficiency(kLl)};
  return {(bytes - full) / (kLargestLlSend - full), most};
}

}  // namespace orrery::collectives
