#include "collectives/nccl_model.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "core/error.h"

namespace orrery {
namespace {

using enum NcclAlgorithm;
using enum NcclProtocol;

// A chunk fills two buffers at a hop, the sender's and the receiver's, before the next hop has it.
constexpr double kStagesOfHop = 2;

// Sends up to this size go in LL: NVIDIA/nccl, NCCL_P2P_LL_THRESHOLD.
constexpr Bytes kLargestLlSend{16384};

// Releases that brought an algorithm, from NCCL's release notes; and one that raised the caps of LL on Hopper.
constexpr NcclVersion kFirstWithNvls{2, 17, 0};
constexpr NcclVersion kFirstWithNvlsTree{2, 18, 0};
constexpr NcclVersion kFirstWithPat{2, 23, 0};
constexpr NcclVersion kFirstWithHopperCaps{2, 19, 0};

// By what NCCL multiplies the bandwidth of a tree in LL, for 2^i times 64 bytes and more: NVIDIA/nccl, tuning.cc.
constexpr std::array<double, 23> kTreeLlCorrections = {1,  1,  1,  1,  .9, .8, .7, .7, .7, .7, .6, .5,
                                                       .4, .4, .5, .6, .7, .8, .9, 1,  1,  1,  1};

// Between two of them in proportion to the logarithm, so that more bytes do not take less time.
double tree_ll_correction(double bytes) {
  const double last = static_cast<double>(kTreeLlCorrections.size() - 1);
  const double position = std::clamp(std::log2(std::max(bytes, 64.0) / 64), 0.0, last);
  const auto step = static_cast<std::size_t>(position);
  if (step + 1 == kTreeLlCorrections.size()) return kTreeLlCorrections.back();
  return std::lerp(kTreeLlCorrections[step], kTreeLlCorrections[step + 1], position - std::floor(position));
}

double floor_log2(std::uint32_t nodes) { return std::bit_width(nodes) - 1; }

// What each rank sends for the data alone, in bytes, as GroupTransfer counts it.
struct Volume {
  NodePattern pattern = NodePattern::kRing;
  double within = 0;
  double between = 0;
  double amount = 0;  // that chunks are cut from
};

// A way before its time is worked out: latency, and what the volume becomes on the wire.
struct Outline {
  NcclAlgorithm algorithm;
  NcclProtocol protocol;
  Volume volume;
  double latency = 0;
  double within_efficiency = 1;
  double between_efficiency = 1;
  double stages = 0;  // of the pipe that chunks fill; 0: no chunks
  double cap = 0;     // most bytes of the amount per second; 0: none
};

// What Bytes and Duration hold, with room to add. More is cut off here and refused by whoever takes such a way.
constexpr double kMostBytes = 4e18;
constexpr double kMostSeconds = 9e6;

Bytes whole(double bytes) { return Bytes(std::llround(std::min(bytes, kMostBytes))); }
Duration duration(double seconds) { return Duration(std::llround(std::min(seconds, kMostSeconds) * 1e12)); }

void require_countable(double seconds) {
  if (!(seconds < kMostSeconds))
    throw InputError({}, "NCCL would take longer than 104 days, more than its times can hold",
                     "look for a size, bandwidth or constant that is off by orders of magnitude");
}

// What all ways of one call are made of.
class Ways {
 public:
  Ways(const NcclCall& call, const NcclOptions& options, const NcclConstants& constants)
      : call_(call), shape_(*call.shape), options_(options), c_(constants) {}

  std::vector<NcclWay> all() {
    if (is_made_of_sends()) add_sends();
    for (const NcclAlgorithm algorithm : kAllNcclAlgorithms)
      for (const NcclProtocol protocol : kAllNcclProtocols)
        if (may_take(algorithm) && options_.may_take(protocol) && has_protocol(algorithm, protocol))
          add(algorithm, protocol);
    return std::move(ways_);
  }

  bool is_made_of_sends() const {
    return call_.kind == CollectiveKind::kAllToAll || call_.kind == CollectiveKind::kGather ||
           call_.kind == CollectiveKind::kScatter;
  }

 private:
  bool is_all_reduce() const {
    return call_.kind == CollectiveKind::kAllReduce || call_.kind == CollectiveKind::kBarrier;
  }
  bool is_exchange() const {
    return call_.kind == CollectiveKind::kAllGather || call_.kind == CollectiveKind::kReduceScatter;
  }
  // Whether NCCL has the algorithm for such a collective at all.
  bool exists(NcclAlgorithm algorithm) const {
    if (is_made_of_sends()) return false;
    if (algorithm == kRing) return true;
    return algorithm == kPat ? is_exchange() : is_all_reduce();
  }
  // Of algorithms that a collective has not got, NCCL takes no notice.
  bool may_take(NcclAlgorithm algorithm) const {
    if (!exists(algorithm)) return false;
    const bool is_held = std::ranges::any_of(
        kAllNcclAlgorithms, [&](NcclAlgorithm a) { return options_.algorithms.any() && options_.may_take(a) && exists(a); });
    return !is_held || options_.may_take(algorithm);
  }

  double ranks() const { return shape_.ranks; }
  double nodes() const { return shape_.nodes; }
  double per_node() const { return shape_.fullest; }
  bool spans_nodes() const { return shape_.nodes > 1; }

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
  double base(NcclAlgorithm algorithm, NcclProtocol protocol) const {
    return factor() * c_.base(algorithm, protocol);
  }
  double factor() const { return c_.latency_factor(call_.machine.architecture); }
  double launch() const { return c_.launch(options_.launch, shape_.fullest); }
  double ll_cap() const {
    const bool is_raised = call_.machine.architecture != Architecture::kHopper ||
                           options_.version >= kFirstWithHopperCaps;
    return c_.ll_cap(is_raised ? call_.machine.architecture : Architecture::kAmpere, shape_.nodes);
  }

  // LL128 rests on stores of 128 bytes that stay whole on the way, which NVLink grants.
  bool has_ll128() const {
    const bool is_new = call_.machine.architecture >= Architecture::kVolta &&
                        call_.machine.architecture <= Architecture::kBlackwell;
    return is_new && (call_.machine.within == NodeLinkKind::kNvlink || shape_.fullest == 1);
  }
  // NCCL asks for more than one GPU of a node, and takes NVLS from five on: measured on H200 (ml-engineering).
  bool has_nvls() const {
    return call_.machine.multicast && options_.version >= kFirstWithNvls && shape_.fullest > 1 && shape_.ranks > 4;
  }
  bool has_collnet() const { return call_.machine.in_network_reduction && spans_nodes(); }

  void add(NcclAlgorithm algorithm, NcclProtocol protocol) {
    if (protocol == kLl128 && !has_ll128()) return;
    switch (algorithm) {
      case kTree:
        // On one node it is a chain, which NCCL takes only when it is held to it.
        if (spans_nodes() || options_.algorithms.any()) add(tree(protocol));
        return;
      case kRing: return add(ring(protocol));
      case kCollNetDirect:
        if (has_collnet()) add(collnet_direct());
        return;
      case kCollNetChain:
        if (has_collnet()) add(collnet_chain());
        return;
      case kNvls:
        if (has_nvls() && (!spans_nodes() || has_collnet())) add(nvls());
        return;
      case kNvlsTree:
        if (has_nvls() && spans_nodes() && options_.version >= kFirstWithNvlsTree) add(nvls_tree());
        return;
      case kPat:
        if (shape_.fullest == 1 && spans_nodes() && options_.version >= kFirstWithPat) add(pat());
        return;
    }
  }

  double protocol_efficiency(NcclProtocol protocol) const {
    if (protocol == kLl) return c_.ll_efficiency();
    return protocol == kLl128 ? c_.ll128_efficiency() : 1;
  }

  Outline ring(NcclProtocol protocol) const {
    const double share = (ranks() - 1) / ranks();
    const double rounds = is_all_reduce() ? 2 : 1;
    const double sent = amount() * (is_all_reduce() || is_exchange() ? rounds * share : 1);
    // On one node all channels of a broadcast or reduce are alike, and small parts follow one another closely: NCCL
    // counts one step.
    const bool is_chain = !is_all_reduce() && !is_exchange() && !spans_nodes();
    const double steps = is_chain ? 1 : rounds * (ranks() - 1);
    const double network_steps = rounds * (nodes() - 1);
    Outline way{kRing, protocol, {NodePattern::kRing, sent, 0, sent}};
    if (spans_nodes()) {
      way.volume.within = sent * (per_node() - 1) / per_node();
      way.volume.between = sent / per_node();
    }
    way.latency = base(kRing, protocol) + (steps - network_steps) * hop(kRing, protocol) +
                  network_steps * network_hop(kRing, protocol);
    way.within_efficiency = way.between_efficiency = protocol_efficiency(protocol);
    if (protocol == kLl) way.cap = ll_cap();
    // A step of a ring moves one part in n of a chunk.
    if (protocol == kSimple && !is_chain) way.stages = kStagesOfHop * steps / ranks();
    return way;
  }

  // Down and up a chain in each node, and a double binary tree between the nodes.
  Outline tree(NcclProtocol protocol) const {
    Outline way{kTree, protocol, tree_volume(2 * (per_node() - 1) / per_node())};
    const double network_steps = 2 * floor_log2(shape_.nodes);
    way.latency = base(kTree, protocol) + 2 * (per_node() - 1) * hop(kTree, protocol) +
                  network_steps * network_hop(kTree, protocol);
    way.between_efficiency = protocol_efficiency(protocol);
    if (protocol == kLl) {
      way.cap = ll_cap();
      way.between_efficiency *= tree_ll_correction(amount());
      way.cap *= tree_ll_correction(amount());
    }
    way.within_efficiency = c_.tree_efficiency() * way.between_efficiency;
    if (protocol != kLl) way.stages = 1 + kStagesOfHop * network_steps;
    return way;
  }

  // `within`: what each rank sends within its node, per byte of the buffer.
  Volume tree_volume(double within) const {
    Volume volume{NodePattern::kDoubleTree, amount() * within, 0, amount()};
    if (spans_nodes()) volume.between = amount() / 2 / per_node();
    return volume;
  }

  // Each GPU sends its buffer up once to be added, and its part of the sum once to be copied.
  double nvls_within() const { return 1 + 1 / per_node(); }

  Outline nvls() const {
    Outline way{kNvls, kSimple, {NodePattern::kRing, amount() * nvls_within(), 0, amount()}};
    way.latency = base(kNvls, kSimple);
    way.within_efficiency = c_.nvls_efficiency(call_.machine.architecture);
    way.stages = 1;
    if (spans_nodes()) {
      way.volume.between = amount() / per_node();
      way.latency += network_hop(kNvls, kSimple);
      way.stages += kStagesOfHop;
    }
    return way;
  }

  Outline nvls_tree() const {
    Outline way{kNvlsTree, kSimple, tree_volume(nvls_within())};
    const double network_steps = 2 * floor_log2(shape_.nodes);
    way.latency = base(kNvlsTree, kSimple) + network_steps * network_hop(kNvlsTree, kSimple);
    way.within_efficiency = c_.nvls_efficiency(call_.machine.architecture);
    way.stages = 1 + kStagesOfHop * network_steps;
    return way;
  }

  // Every rank sends each of its node a part, which goes on to the network as one.
  Outline collnet_direct() const {
    Outline way{kCollNetDirect, kSimple, collnet_volume()};
    const double first = shape_.fullest > 1 ? hop(kCollNetDirect, kSimple) : 0;
    way.latency = base(kCollNetDirect, kSimple) + 2 * (first + c_.collnet_direct_wait() * (per_node() - 1)) +
                  network_hop(kCollNetDirect, kSimple);
    way.stages = 1 + kStagesOfHop;
    return way;
  }

  Outline collnet_chain() const {
    Outline way{kCollNetChain, kSimple, collnet_volume()};
    way.latency = base(kCollNetChain, kSimple) + 2 * (per_node() - 1) * hop(kCollNetChain, kSimple) +
                  network_hop(kCollNetChain, kSimple);
    way.stages = 1 + kStagesOfHop;
    return way;
  }

  Volume collnet_volume() const {
    return {NodePattern::kRing, amount() * 2 * (per_node() - 1) / per_node(), amount() / per_node(), amount()};
  }

  // One rank a node; each sends what the others lack, over ever longer distances.
  Outline pat() const {
    const double sent = amount() * (ranks() - 1) / ranks();
    Outline way{kPat, kSimple, {NodePattern::kRing, 0, sent, sent}};
    way.latency = base(kPat, kSimple) + floor_log2(shape_.nodes) * network_hop(kPat, kSimple) +
                  c_.pat_rank() * ranks();
    way.between_efficiency = c_.pat_efficiency();
    way.stages = kStagesOfHop;
    return way;
  }

  // Sends and receives at once. Of gather and scatter only the root's links are busy; all are counted so, which gives
  // the same time.
  void add_sends() {
    const bool is_all_to_all = call_.kind == CollectiveKind::kAllToAll;
    const bool is_gather = call_.kind == CollectiveKind::kGather;
    const double part = static_cast<double>(call_.bytes.count()) / (is_gather ? 1 : ranks());
    const NcclProtocol protocol = whole(part) <= kLargestLlSend ? kLl : kSimple;
    Outline way{kRing, options_.may_take(protocol) ? protocol : kSimple,
                {is_all_to_all ? NodePattern::kAllPairs : NodePattern::kRing, part * (per_node() - 1),
                 part * (ranks() - per_node()), part}};
    way.latency = base(kRing, way.protocol) +
                  (spans_nodes() ? network_hop(kRing, way.protocol) : hop(kRing, way.protocol));
    way.within_efficiency = way.between_efficiency = protocol_efficiency(way.protocol);
    add(way);
    ways_.back().algorithm.reset();
  }

  void add(const Outline& way) {
    const double host = call_.machine.within == NodeLinkKind::kHost ? c_.host_efficiency() : 1;
    double within = way.volume.within / way.within_efficiency / host;
    double between = way.volume.between / way.between_efficiency / c_.network_efficiency();
    const auto transfer = [&] { return GroupTransfer{way.volume.pattern, whole(within), whole(between), {}}; };
    double moving = lone_seconds(transfer(), shape_).together;
    if (way.cap > 0 && moving > 0 && way.volume.amount / way.cap > moving) {
      const double slower = way.volume.amount / way.cap / moving;
      within *= slower;
      between *= slower;
      moving *= slower;
    }
    NcclWay done{way.algorithm, way.protocol, transfer(), 0};
    const double latency = launch() + way.latency + fill(way, moving);
    done.transfer.latency = duration(latency);
    done.seconds = std::max(within, between) < kMostBytes ? latency + moving : std::numeric_limits<double>::infinity();
    ways_.push_back(done);
  }

  // How long the pipe of `stages` takes to fill and to drain, and the kernel for its chunks, when the bytes take
  // `moving` seconds: with chunks of size c = amount / k it is stages * moving / k + k * cost, least where both are
  // equal.
  double fill(const Outline& way, double moving) const {
    if (way.stages == 0 || way.volume.amount <= 0) return 0;
    const double best = 2 * std::sqrt(moving * c_.chunk_cost() * way.stages);
    const double largest = c_.largest_chunk() * per_node() / way.volume.amount;
    return std::min(best, way.stages * largest * moving);
  }

  const NcclCall& call_;
  const GroupShape& shape_;
  const NcclOptions& options_;
  const NcclConstants& c_;
  std::vector<NcclWay> ways_;
};

}  // namespace

std::vector<NcclWay> nccl_ways(const NcclCall& call, const NcclOptions& options, const NcclConstants& constants) {
  return Ways(call, options, constants).all();
}

NcclWay fastest_nccl_way(const NcclCall& call, const NcclOptions& options, const NcclConstants& constants) {
  const std::vector<NcclWay> ways = nccl_ways(call, options, constants);
  if (ways.empty())
    throw InputError({}, fmt::format("NCCL {} cannot run {} over {} ranks on {} nodes with the algorithms and protocols "
                                     "that it is held to",
                                     to_text(options.version), name_of(call.kind), call.shape->ranks, call.shape->nodes),
                     "drop collectives.algo or collectives.proto, or name others: ring runs everywhere in ll and simple");
  const NcclWay& fastest = *std::ranges::min_element(ways, {}, &NcclWay::seconds);
  require_countable(fastest.seconds);
  return fastest;
}

NcclSend nccl_send(Bytes bytes, bool is_same_node, const MachineKind& machine, const NcclOptions& options,
                   const NcclConstants& constants) {
  NcclSend send;
  if (bytes <= kLargestLlSend && options.may_take(kLl)) send.protocol = kLl;
  const double factor = constants.latency_factor(machine.architecture);
  const double hop = is_same_node ? factor * constants.hop(kRing, send.protocol, machine.within)
                                  : constants.network_hop(kRing, send.protocol, machine.network);
  const double latency = constants.launch(options.launch, 1) + factor * constants.base(kRing, send.protocol) + hop;
  send.latency = duration(latency);
  double efficiency = send.protocol == kLl ? constants.ll_efficiency() : 1;
  if (!is_same_node) efficiency *= constants.network_efficiency();
  if (is_same_node && machine.within == NodeLinkKind::kHost) efficiency *= constants.host_efficiency();
  const double sent = static_cast<double>(bytes.count()) / efficiency;
  require_countable(sent < kMostBytes ? latency : std::numeric_limits<double>::infinity());
  send.bytes = whole(sent);
  return send;
}

}  // namespace orrery
