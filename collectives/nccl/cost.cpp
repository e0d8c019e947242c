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

// Factors by which NCCL corrects the bandwidth of a tree in LL, for 2^i times 64 bytes and more: NVIDIA/nccl,
// tuning.cc.
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

// The first release with caps of LL on Hopper of its own, rather than those of Ampere: NCCL's release notes.
constexpr NcclVersion kFirstWithHopperCaps{2, 19, 0};

// All that is reduced or gathered, in bytes.
double amount_of(const NcclCall& call) {
  if (call.kind == CollectiveKind::kBarrier) return 4;  // NCCL has none: an all-reduce of one number
  const auto bytes = static_cast<double>(call.bytes.count());
  return call.kind == CollectiveKind::kAllGather ? bytes * call.shape->ranks : bytes;
}

double floor_log2(std::uint32_t nodes) { return std::bit_width(nodes) - 1; }

// Common terms of all costs of one call.
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
      case kCollNetChain:
        return collnet(algorithm);
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
    const double part = static_cast<double>(call_.bytes.count()) / (is_gather ? 1 : ranks_);
    NcclCost cost{std::nullopt,
                  nccl_protocol_of_send(part, options_),
                  {is_all_to_all ? NodePattern::kAllPairs : NodePattern::kRing, part * (per_node_ - 1),
                   part * (ranks_ - per_node_)}};
    const NcclSendCosts costs = nccl_send_costs(part, options_, c_);
    cost.latency = costs.latency(send_latency(kLl), send_latency(kSimple)) +
                   c_.base_factor(call_.machine.architecture) * c_.send_peer() * std::max(per_node_ - 2, 0.0);
    cost.between_efficiency = costs.wire > 0 ? part / costs.wire : 1;
    cost.within_efficiency = c_.send_efficiency() * cost.between_efficiency;
    chunk_sent(cost, kStagesOfHop * costs.simple, part * (ranks_ - 1));
    if (is_all_to_all && !options_.in_place) cost.local = part;
    cost.sends = is_all_to_all ? 2 * ranks_ : 2;  // of a gather or a scatter on average
    return cost;
  }

 private:
  double hop(NcclAlgorithm algorithm, NcclProtocol protocol) const {
    return c_.hop_factor(call_.machine) * (c_.hop(algorithm, protocol, call_.machine) + seconds(shape_.within_latency));
  }
  double network_hop(NcclAlgorithm algorithm, NcclProtocol protocol) const {
    return c_.network_hop(algorithm, protocol, call_.machine) + seconds(shape_.between_latency);
  }
  double base(NcclAlgorithm algorithm, NcclProtocol protocol) const {
    return c_.base(algorithm, protocol, call_.machine);
  }
  double send_latency(NcclProtocol protocol) const {
    return base(kRing, protocol) + (call_.spans_nodes() ? network_hop(kRing, protocol) : hop(kRing, protocol));
  }
  // Bus bandwidth.
  double ll_cap() const {
    const bool is_old = call_.machine.architecture == Architecture::kHopper && options_.version < kFirstWithHopperCaps;
    return c_.ll_cap(is_old ? Architecture::kAmpere : call_.machine.architecture, shape_.nodes);
  }

  // Chunks of the buffer, which the GPUs of a node work on together.
  void chunk_buffer(NcclCost& cost, double stages) const {
    cost.stages = stages;
    cost.chunk_cost = c_.chunk_cost();
    cost.largest_chunk = c_.largest_chunk() * per_node_ / amount_;
  }
  // Chunks of what each rank sends.
  void chunk_sent(NcclCost& cost, double stages, double sent) const {
    cost.stages = stages;
    cost.chunk_cost = c_.ring_chunk_cost();
    cost.largest_chunk = c_.largest_ring_chunk() / sent;
  }

  NcclCost ring(NcclProtocol protocol) const {
    const double share = (ranks_ - 1) / ranks_;
    const double rounds = call_.is_all_reduce() ? 2 : 1;
    const double sent = amount_ * (call_.is_all_reduce() || call_.is_exchange() ? rounds * share : 1);
    // A broadcast or a reduce goes along the ring once. NCCL counts one step for it on one node; measured are all.
    const double steps = rounds * (ranks_ - 1);
    const double network_steps = rounds * (nodes_ - 1);
    NcclCost cost{kRing, protocol, {NodePattern::kRing, sent, 0}};
    if (call_.spans_nodes()) {
      cost.volume.within = sent * (per_node_ - 1) / per_node_;
      cost.volume.between = sent / per_node_;
    }
    cost.latency = base(kRing, protocol) + (steps - network_steps) * hop(kRing, protocol) +
                   network_steps * network_hop(kRing, protocol);
    cost.between_efficiency = c_.protocol_efficiency(protocol);
    cost.within_efficiency = c_.ring_efficiency() * cost.between_efficiency;
    if (protocol == kLl) cost.least = sent / ll_cap();
    // All links are busy from the first step to the last: the pipe is as long as one hop, whatever the ring.
    if (protocol != kLl) chunk_sent(cost, kStagesOfHop, sent);
    // The last that a rank adds up it writes to its own memory, and its own part of what is gathered.
    if (call_.is_all_reduce() || call_.kind == CollectiveKind::kReduceScatter || !options_.in_place)
      cost.local = call_.is_all_reduce() || call_.is_exchange() ? amount_ / ranks_ : 0;
    return cost;
  }

  // Down and up a chain in each node, and a double binary tree between the nodes.
  NcclCost tree(NcclProtocol protocol) const {
    NcclCost cost{kTree, protocol, tree_volume(2 * (per_node_ - 1) / per_node_)};
    const double network_steps = 2 * floor_log2(shape_.nodes);
    cost.latency = base(kTree, protocol) + 2 * (per_node_ - 1) * hop(kTree, protocol) +
                   network_steps * network_hop(kTree, protocol);
    cost.between_efficiency = c_.protocol_efficiency(protocol);
    if (protocol == kLl) {
      const double correction = tree_ll_correction(amount_);
      cost.between_efficiency *= correction;
      cost.least = 2 * amount_ / (correction * ll_cap());  // NCCL counts a tree's bus bandwidth as twice its buffer's
    }
    cost.within_efficiency = c_.tree_efficiency() * cost.between_efficiency;
    if (protocol != kLl) chunk_buffer(cost, 1 + kStagesOfHop * network_steps);
    return cost;
  }

  // `within`: what each rank sends within its node, per byte of the buffer.
  NcclVolume tree_volume(double within) const {
    NcclVolume volume{NodePattern::kDoubleTree, amount_ * within, 0};
    if (call_.spans_nodes()) volume.between = amount_ / 2 / per_node_;
    return volume;
  }

  // Each GPU sends its buffer up once to be added, and its part of the sum once to be copied. Of a reduce-scatter the
  // first, of an all-gather the second is all: then one direction of its link carries the whole amount.
  double nvls_within() const { return call_.is_exchange() ? 1 : 1 + 1 / per_node_; }

  NcclCost nvls() const {
    NcclCost cost{kNvls, kSimple, {NodePattern::kRing, amount_ * nvls_within(), 0}};
    cost.latency = base(kNvls, kSimple);
    cost.within_efficiency = c_.nvls_efficiency(call_.machine.architecture);
    // A reduced chunk goes back as a copy; a reduce-scatter or an all-gather ends after one way.
    double stages = call_.is_exchange() ? 0 : 1;
    if (call_.spans_nodes()) {
      cost.volume.between = amount_ / per_node_ * (call_.is_exchange() ? (nodes_ - 1) / nodes_ : 1);
      cost.latency += network_hop(kNvls, kSimple);
      stages += kStagesOfHop;
    }
    chunk_buffer(cost, stages);
    return cost;
  }

  NcclCost nvls_tree() const {
    NcclCost cost{kNvlsTree, kSimple, tree_volume(nvls_within())};
    const double network_steps = 2 * floor_log2(shape_.nodes);
    cost.latency = base(kNvlsTree, kSimple) + network_steps * network_hop(kNvlsTree, kSimple);
    cost.within_efficiency = c_.nvls_efficiency(call_.machine.architecture);
    chunk_buffer(cost, 1 + kStagesOfHop * network_steps);
    return cost;
  }

  // Directly, every rank sends each of its node a part; in a chain, the buffer passes from rank to rank. What each node
  // has added goes on to the network as one.
  NcclCost collnet(NcclAlgorithm algorithm) const {
    const double sent = amount_ * 2 * (per_node_ - 1) / per_node_;
    NcclCost cost{algorithm, kSimple, {NodePattern::kRing, sent, amount_ / per_node_}};
    const double step = hop(algorithm, kSimple);
    const double direct = (per_node_ > 1 ? step : 0) + c_.collnet_direct_wait() * (per_node_ - 1);
    cost.latency = base(algorithm, kSimple) + 2 * (algorithm == kCollNetDirect ? direct : (per_node_ - 1) * step) +
                   network_hop(algorithm, kSimple);
    chunk_buffer(cost, 1 + kStagesOfHop);
    return cost;
  }

  // One rank a node; each sends what the others lack, over ever longer distances.
  NcclCost pat() const {
    const double sent = amount_ * (ranks_ - 1) / ranks_;
    NcclCost cost{kPat, kSimple, {NodePattern::kRing, 0, sent}};
    cost.latency = base(kPat, kSimple) + floor_log2(shape_.nodes) * network_hop(kPat, kSimple) + c_.pat_rank() * ranks_;
    cost.between_efficiency = c_.pat_efficiency();
    chunk_buffer(cost, kStagesOfHop);
    return cost;
  }

  const NcclCall& call_;
  const GroupShape& shape_;
  const NcclOptions& options_;
  const NcclConstants& c_;
  const double ranks_ = shape_.ranks;
  const double nodes_ = shape_.nodes;
  const double per_node_ = shape_.fullest;
  const double amount_ = amount_of(call_);
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
