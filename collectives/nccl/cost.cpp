// SPDX-License-Identifier: MIT
#include "collectives/nccl/cost.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

#include "core/assert.h"

namespace orrery::collectives {
namespace {

using enum NcclAlgorithm;
using enum NcclProtocol;

// A chunk fills two buffers at a hop, the sender's and the receiver's, before the next hop has it.
constexpr double kStagesOfHop = 2;

// By what NCCL multiplies the bandwidth of a tree in LL, for 2^i times 64 bytes and more: NVIDIA/nccl, tuning.cc.
constexpr std::array<double, 23> kTreeLlCorrections = {1,  1,  1,  1,  .9, .8, .7, .7, .7, .7, .6, .5,
                                                       .4, .4, .5, .6, .7, .8, .9, 1,  1,  1,  1};

// Between two of them in proportion to the bytes, so that more of these do not take less time. By exact operations
// only: what is taken must not depend on a library's logarithm.
double tree_ll_correction(double bytes) {
  double from = 64;
  for (std::size_t i = 0; i + 1 < kTreeLlCorrections.size(); ++i, from *= 2)
    if (bytes < 2 * from)
      return std::lerp(kTreeLlCorrections[i], kTreeLlCorrections[i + 1], std::max(bytes / from - 1, 0.0));
  return kTreeLlCorrections.back();
}

double floor_log2(std::uint32_t nodes) { return std::bit_width(nodes) - 1; }

// What all costs of one call are made of.
class Costs {
 public:
  Costs(const NcclCall& call, const NcclOptions& options, const NcclConstants& constants)
      : call_(call), shape_(*call.shape), options_(options), c_(constants) {}

  NcclCost cost(NcclAlgorithm algorithm, NcclProtocol protocol) const {
    switch (algorithm) {
      case kTree:
        return tree(protocol);
      case kRing:
        return ring(protocol);
      case kCollNetDirect:
        return collnet_direct();
      case kCollNetChain:
        return collnet_chain();
      case kNvls:
        return nvls();
      case kNvlsTree:
        return nvls_tree();
      case kPat:
        return pat();
    }
    ORRERY_ASSERT(false && "NCCL has no such algorithm");
    __builtin_unreachable();
  }

  // Sends and receives at once. Of gather and scatter only the root's links are busy; all are counted so, which gives
  // the same time.
  NcclCost sends() const {
    const bool is_all_to_all = call_.kind == CollectiveKind::kAllToAll;
    const bool is_gather = call_.kind == CollectiveKind::kGather;
    const double part = static_cast<double>(call_.bytes.count()) / (is_gather ? 1 : ranks());
    NcclCost cost{std::nullopt,
                  nccl_protocol_of_send(part, options_),
                  {is_all_to_all ? NodePattern::kAllPairs : NodePattern::kRing, part * (per_node() - 1),
                   part * (ranks() - per_node()), part}};
    const NcclSendCosts costs = nccl_send_costs(part, options_, c_);
    cost.latency = std::lerp(send_latency(kLl), send_latency(kSimple), costs.simple);
    cost.within_efficiency = cost.between_efficiency = costs.wire > 0 ? part / costs.wire : 1;
    return cost;
  }

 private:
  double ranks() const { return shape_.ranks; }
  double nodes() const { return shape_.nodes; }
  double per_node() const { return shape_.fullest; }
  // All that is reduced or gathered, in bytes.
  double amount() const {
    if (call_.kind == CollectiveKind::kBarrier) return 4;  // NCCL has none: an all-reduce of one number
    const auto bytes = static_cast<double>(call_.bytes.count());
    return call_.kind == CollectiveKind::kAllGather ? bytes * ranks() : bytes;
  }

  double hop(NcclAlgorithm algorithm, NcclProtocol protocol) const {
    return factor() * c_.hop(algorithm, protocol, call_.machine.within) + seconds(shape_.within_latency);
  }
  double network_hop(NcclAlgorithm algorithm, NcclProtocol protocol) const {
    return c_.network_hop(algorithm, protocol, call_.machine.network) + seconds(shape_.between_latency);
  }
  double base(NcclAlgorithm algorithm, NcclProtocol protocol) const { return factor() * c_.base(algorithm, protocol); }
  double send_latency(NcclProtocol protocol) const {
    return base(kRing, protocol) + (call_.spans_nodes() ? network_hop(kRing, protocol) : hop(kRing, protocol));
  }
  double factor() const { return c_.latency_factor(call_.machine.architecture); }
  // Bus bandwidth.
  double ll_cap() const {
    const bool is_old = call_.machine.architecture == Architecture::kHopper && !nccl_has_hopper_caps(options_.version);
    return c_.ll_cap(is_old ? Architecture::kAmpere : call_.machine.architecture, shape_.nodes);
  }

  NcclCost ring(NcclProtocol protocol) const {
    const double share = (ranks() - 1) / ranks();
    const double rounds = call_.is_all_reduce() ? 2 : 1;
    const double sent = amount() * (call_.is_all_reduce() || call_.is_exchange() ? rounds * share : 1);
    // On one node all channels of a broadcast or reduce are alike, and small parts follow one another closely: NCCL
    // counts one step.
    const bool is_chain = !call_.is_all_reduce() && !call_.is_exchange() && !call_.spans_nodes();
    const double steps = is_chain ? 1 : rounds * (ranks() - 1);
    const double network_steps = rounds * (nodes() - 1);
    NcclCost cost{kRing, protocol, {NodePattern::kRing, sent, 0, sent}};
    if (call_.spans_nodes()) {
      cost.volume.within = sent * (per_node() - 1) / per_node();
      cost.volume.between = sent / per_node();
    }
    cost.latency = base(kRing, protocol) + (steps - network_steps) * hop(kRing, protocol) +
                   network_steps * network_hop(kRing, protocol);
    cost.between_efficiency = c_.protocol_efficiency(protocol);
    cost.within_efficiency = c_.ring_efficiency() * cost.between_efficiency;
    if (protocol == kLl) cost.cap = ll_cap();
    // A step of a ring moves one part in n of a chunk.
    if (protocol != kLl && !is_chain) cost.stages = kStagesOfHop * steps / ranks();
    return cost;
  }

  // Down and up a chain in each node, and a double binary tree between the nodes.
  NcclCost tree(NcclProtocol protocol) const {
    NcclCost cost{kTree, protocol, tree_volume(2 * (per_node() - 1) / per_node())};
    const double network_steps = 2 * floor_log2(shape_.nodes);
    cost.latency = base(kTree, protocol) + 2 * (per_node() - 1) * hop(kTree, protocol) +
                   network_steps * network_hop(kTree, protocol);
    cost.between_efficiency = c_.protocol_efficiency(protocol);
    if (protocol == kLl) {
      const double correction = tree_ll_correction(amount());
      cost.between_efficiency *= correction;
      cost.cap = correction * ll_cap() / 2;  // NCCL counts a tree's bus bandwidth as twice its buffer's
    }
    cost.within_efficiency = c_.tree_efficiency() * cost.between_efficiency;
    if (protocol != kLl) cost.stages = 1 + kStagesOfHop * network_steps;
    return cost;
  }

  // `within`: what each rank sends within its node, per byte of the buffer.
  NcclVolume tree_volume(double within) const {
    NcclVolume volume{NodePattern::kDoubleTree, amount() * within, 0, amount()};
    if (call_.spans_nodes()) volume.between = amount() / 2 / per_node();
    return volume;
  }

  // Each GPU sends its buffer up once to be added, and its part of the sum once to be copied. Of a reduce-scatter the
  // first, of an all-gather the second is all: then one direction of its link carries the whole amount.
  double nvls_within() const { return call_.is_exchange() ? 1 : 1 + 1 / per_node(); }

  NcclCost nvls() const {
    NcclCost cost{kNvls, kSimple, {NodePattern::kRing, amount() * nvls_within(), 0, amount()}};
    cost.latency = base(kNvls, kSimple);
    cost.within_efficiency = c_.nvls_efficiency(call_.machine.architecture);
    // What is added up of a chunk goes back as its copy; a reduce-scatter or an all-gather is over with the first way.
    cost.stages = call_.is_exchange() ? 0 : 1;
    if (call_.spans_nodes()) {
      cost.volume.between = amount() / per_node() * (call_.is_exchange() ? (nodes() - 1) / nodes() : 1);
      cost.latency += network_hop(kNvls, kSimple);
      cost.stages += kStagesOfHop;
    }
    return cost;
  }

  NcclCost nvls_tree() const {
    NcclCost cost{kNvlsTree, kSimple, tree_volume(nvls_within())};
    const double network_steps = 2 * floor_log2(shape_.nodes);
    cost.latency = base(kNvlsTree, kSimple) + network_steps * network_hop(kNvlsTree, kSimple);
    cost.within_efficiency = c_.nvls_efficiency(call_.machine.architecture);
    cost.stages = 1 + kStagesOfHop * network_steps;
    return cost;
  }

  // Every rank sends each of its node a part, which goes on to the network as one.
  NcclCost collnet_direct() const {
    NcclCost cost{kCollNetDirect, kSimple, collnet_volume()};
    const double first = shape_.fullest > 1 ? hop(kCollNetDirect, kSimple) : 0;
    cost.latency = base(kCollNetDirect, kSimple) + 2 * (first + c_.collnet_direct_wait() * (per_node() - 1)) +
                   network_hop(kCollNetDirect, kSimple);
    cost.stages = 1 + kStagesOfHop;
    return cost;
  }

  NcclCost collnet_chain() const {
    NcclCost cost{kCollNetChain, kSimple, collnet_volume()};
    cost.latency = base(kCollNetChain, kSimple) + 2 * (per_node() - 1) * hop(kCollNetChain, kSimple) +
                   network_hop(kCollNetChain, kSimple);
    cost.stages = 1 + kStagesOfHop;
    return cost;
  }

  NcclVolume collnet_volume() const {
    return {NodePattern::kRing, amount() * 2 * (per_node() - 1) / per_node(), amount() / per_node(), amount()};
  }

  // One rank a node; each sends what the others lack, over ever longer distances.
  NcclCost pat() const {
    const double sent = amount() * (ranks() - 1) / ranks();
    NcclCost cost{kPat, kSimple, {NodePattern::kRing, 0, sent, sent}};
    cost.latency =
        base(kPat, kSimple) + floor_log2(shape_.nodes) * network_hop(kPat, kSimple) + c_.pat_rank() * ranks();
    cost.between_efficiency = c_.pat_efficiency();
    cost.stages = kStagesOfHop;
    return cost;
  }

  const NcclCall& call_;
  const GroupShape& shape_;
  const NcclOptions& options_;
  const NcclConstants& c_;
};

}  // namespace

std::vector<NcclCandidate> nccl_candidates(const NcclCall& call, const NcclOptions& options) {
  if (call.is_made_of_sends()) return {{std::nullopt, kSimple}};
  std::vector<NcclCandidate> all;
  for (const NcclAlgorithm algorithm : kAllNcclAlgorithms)
    for (const NcclProtocol protocol : kAllNcclProtocols)
      if (nccl_offers(call, options, algorithm, protocol)) all.push_back({algorithm, protocol});
  return all;
}

NcclCost nccl_cost(const NcclCandidate& candidate, const NcclCall& call, const NcclOptions& options,
                   const NcclConstants& constants) {
  const Costs costs(call, options, constants);
  return candidate.algorithm ? costs.cost(*candidate.algorithm, candidate.protocol) : costs.sends();
}

}  // namespace orrery::collectives
