#include "collectives/nccl_model.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "collectives/nccl_outline.h"
#include "core/error.h"

namespace orrery {
namespace {

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

// How long the pipe takes to fill and to drain, and the kernel for its chunks, when the bytes take `moving` seconds:
// with k chunks stages * moving / k + k * cost, least where both are equal. Where that asks for larger chunks than
// there are, the kernel is done with a chunk before the next one has moved, and only the stages count.
double fill(const NcclOutline& way, double moving, const NcclCall& call, const NcclConstants& constants) {
  if (way.stages == 0 || way.volume.amount <= 0) return 0;
  const double best = 2 * std::sqrt(moving * constants.chunk_cost() * way.stages);
  const double largest = constants.largest_chunk() * call.shape->fullest / way.volume.amount;
  return std::min(best, way.stages * largest * moving);
}

NcclWay timed(const NcclOutline& way, const NcclCall& call, const NcclOptions& options,
              const NcclConstants& constants) {
  const double host = call.machine.within == NodeLinkKind::kHost ? constants.host_efficiency() : 1;
  double within = way.volume.within / way.within_efficiency / host;
  double between = way.volume.between / way.between_efficiency / constants.network_efficiency();
  const auto transfer = [&] { return GroupTransfer{way.volume.pattern, whole(within), whole(between), {}}; };
  double moving = lone_seconds(transfer(), *call.shape).together;
  if (way.cap > 0 && moving > 0 && way.volume.amount / way.cap > moving) {
    const double slower = way.volume.amount / way.cap / moving;
    within *= slower;
    between *= slower;
    moving *= slower;
  }
  NcclWay done{way.algorithm, way.protocol, transfer(), 0};
  const double latency =
      constants.launch(options.launch, call.shape->fullest) + way.latency + fill(way, moving, call, constants);
  done.transfer.latency = duration(latency);
  done.seconds = std::max(within, between) < kMostBytes ? latency + moving : std::numeric_limits<double>::infinity();
  return done;
}

}  // namespace

std::vector<NcclWay> nccl_ways(const NcclCall& call, const NcclOptions& options, const NcclConstants& constants) {
  std::vector<NcclWay> ways;
  for (const NcclOutline& outline : nccl_outlines(call, options, constants))
    ways.push_back(timed(outline, call, options, constants));
  return ways;
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
  NcclSend send;
  send.protocol = nccl_protocol_of_send(bytes, options);
  const double factor = constants.latency_factor(machine.architecture);
  const double hop = is_same_node ? factor * constants.hop(kRing, send.protocol, machine.within)
                                  : constants.network_hop(kRing, send.protocol, machine.network);
  const double latency = constants.launch(options.launch, 1) + factor * constants.base(kRing, send.protocol) + hop;
  send.latency = duration(latency);
  double efficiency = constants.protocol_efficiency(send.protocol);
  if (!is_same_node) efficiency *= constants.network_efficiency();
  if (is_same_node && machine.within == NodeLinkKind::kHost) efficiency *= constants.host_efficiency();
  const double sent = static_cast<double>(bytes.count()) / efficiency;
  require_countable(sent < kMostBytes ? latency : std::numeric_limits<double>::infinity());
  send.bytes = whole(sent);
  return send;
}

}  // namespace orrery
