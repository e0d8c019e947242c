#include "collectives/nccl/model.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "core/error.h"

namespace orrery {
namespace {

// What Bytes and Duration hold, with room to add. More is cut off here and refused by whoever takes such a way.
constexpr double kMostBytes = 4e18;
constexpr double kMostSeconds = 9e6;

Bytes whole(double bytes) { return Bytes(std::llround(std::min(bytes, kMostBytes))); }
Duration duration(double seconds) { return Duration(std::llround(std::min(seconds, kMostSeconds) * 1e12)); }

void require_countable(double seconds) {
  if (!is_countable(seconds))
    throw InputError({}, "NCCL would take longer than 104 days, more than its times can hold",
                     "look for a size, bandwidth or constant that is off by orders of magnitude");
}

// How long the pipe takes to fill and to drain, and the kernel for its chunks, when the bytes take `moving` seconds:
// with k chunks stages * moving / k + k * cost, least where both are equal. Where that asks for larger chunks than
// there are, the kernel is done with a chunk before the next one has moved, and only the stages count.
double fill(const NcclOutline& way, double moving, const NcclCall& call, const NcclConstants& constants) {
  if (way.stages == 0 || way.volume.amount <= 0) return 0;
  const double best = 2 * std::sqrt(moving * constants.chunk_cost() * way.stages);
  const double largest = constants.largest_chunk() * call.shape->fullest / way.volume.amount;
  return std::min(best, way.stages * largest * moving);
}

// What a way puts on the wire, and how long it takes with nothing else on the links.
struct Timing {
  double within = 0;
  double between = 0;
  double latency = 0;
  double seconds = 0;
};

GroupTransfer transfer_of(const NcclOutline& way, double within, double between) {
  return {way.volume.pattern, whole(within), whole(between), {}};
}

Timing timing_of(const NcclOutline& way, const NcclCall& call, const NcclOptions& options,
                 const NcclConstants& constants) {
  const double host = call.machine.within == NodeLinkKind::kHost ? constants.host_efficiency() : 1;
  Timing timing;
  timing.within = way.volume.within / way.within_efficiency / host;
  timing.between = way.volume.between / way.between_efficiency / constants.network_efficiency();
  double moving = lone_seconds(transfer_of(way, timing.within, timing.between), *call.shape).together;
  if (way.cap > 0 && moving > 0 && way.volume.amount / way.cap > moving) {
    const double slower = way.volume.amount / way.cap / moving;
    timing.within *= slower;
    timing.between *= slower;
    moving *= slower;
  }
  timing.latency =
      constants.launch(options.launch, call.shape->fullest) + way.latency + fill(way, moving, call, constants);
  timing.seconds = std::max(timing.within, timing.between) < kMostBytes ? timing.latency + moving
                                                                        : std::numeric_limits<double>::infinity();
  return timing;
}

NcclWay timed(const NcclOutline& way, const NcclCall& call, const NcclOptions& options,
              const NcclConstants& constants) {
  const Timing timing = timing_of(way, call, options, constants);
  NcclWay done{way.algorithm, way.protocol, transfer_of(way, timing.within, timing.between), timing.seconds};
  done.transfer.latency = duration(timing.latency);
  return done;
}

}  // namespace

std::vector<NcclWay> nccl_ways(const NcclCall& call, const NcclOptions& options, const NcclConstants& constants) {
  std::vector<NcclWay> ways;
  for (const NcclOffer& offer : all_nccl_offers(call, options))
    ways.push_back(timed(nccl_outline(offer, call, options, constants), call, options, constants));
  return ways;
}

bool is_countable(double seconds) { return seconds < kMostSeconds; }

double lone_seconds(const NcclOutline& way, const NcclCall& call, const NcclOptions& options,
                    const NcclConstants& constants) {
  return timing_of(way, call, options, constants).seconds;
}

NcclWay fastest_nccl_way(const NcclCall& call, const NcclOptions& options, const NcclConstants& constants) {
  const std::vector<NcclWay> ways = nccl_ways(call, options, constants);
  if (ways.empty())
    throw InputError(
        {},
        fmt::format("NCCL {} cannot run {} over {} ranks on {} nodes with the algorithms and protocols "
                    "that it is held to",
                    to_text(options.version), name_of(call.kind), call.shape->ranks, call.shape->nodes),
        "drop collectives.algo or collectives.proto, or name others: ring runs everywhere in ll and simple");
  const NcclWay& fastest = *std::ranges::min_element(ways, {}, &NcclWay::seconds);
  require_countable(fastest.seconds);
  return fastest;
}

NcclSend nccl_send(Bytes bytes, bool is_same_node, const MachineKind& machine, const NcclOptions& options,
                   const NcclConstants& constants) {
  using enum NcclAlgorithm;
  const auto data = static_cast<double>(bytes.count());
  const NcclSendCosts costs = nccl_send_costs(data, options, constants);
  const double factor = constants.latency_factor(machine.architecture);
  const auto latency_of = [&](NcclProtocol protocol) {
    const double hop = is_same_node ? factor * constants.hop(kRing, protocol, machine.within)
                                    : constants.network_hop(kRing, protocol, machine.network);
    return factor * constants.base(kRing, protocol) + hop;
  };
  const double latency = constants.launch(options.launch, 1) +
                         std::lerp(latency_of(NcclProtocol::kLl), latency_of(NcclProtocol::kSimple), costs.simple);
  NcclSend send;
  send.protocol = nccl_protocol_of_send(data, options);
  send.latency = duration(latency);
  double efficiency = 1;
  if (!is_same_node) efficiency *= constants.network_efficiency();
  if (is_same_node && machine.within == NodeLinkKind::kHost) efficiency *= constants.host_efficiency();
  const double sent = costs.wire / efficiency;
  require_countable(sent < kMostBytes ? latency : std::numeric_limits<double>::infinity());
  send.bytes = whole(sent);
  return send;
}

}  // namespace orrery
