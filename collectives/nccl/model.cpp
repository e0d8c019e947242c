// SPDX-License-Identifier: MIT
#include "collectives/nccl/model.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "collectives/nccl/tuner.h"
#include "core/error.h"

namespace orrery::collectives {
namespace {

// Largest values that Bytes and Duration hold with room to add. More is cut off here and refused by whoever takes such
// a candidate.
constexpr double kMostBytes = 4e18;
constexpr double kMostSeconds = 9e6;

Bytes whole(double bytes) { return Bytes(std::llround(std::min(bytes, kMostBytes))); }
Duration duration(double seconds) { return Duration(std::llround(std::min(seconds, kMostSeconds) * 1e12)); }

void require_countable(double seconds) {
  if (!is_countable(seconds))
    throw InputError({}, "NCCL would take longer than 104 days, more than its times can hold",
                     "look for a size, bandwidth or constant that is off by orders of magnitude");
}

// Time to fill and drain the pipe, and the kernel's time for its chunks, when the bytes take `moving` seconds: with k
// chunks stages * moving / k + k * cost, least where both terms are equal. Where that asks for larger chunks than there
// are, the kernel is done with a chunk before the next one has moved, and only the stages count.
double fill(const NcclCost& cost, double moving) {
  if (cost.stages == 0 || moving <= 0) return 0;
  return std::min(2 * std::sqrt(moving * cost.chunk_cost * cost.stages), cost.stages * cost.largest_chunk * moving);
}

// Timing of a candidate: its bytes on the wire, and its time with nothing else on the links.
struct Timing {
  DeviceShare takes;
  double within = 0;
  double between = 0;
  double latency = 0;
  double least = 0;  // that the bytes take, whatever the links
  double seconds = 0;
  double device = 0;
};

Aggregate transfer_of(const NcclCost& cost, const Timing& timing) {
  return {cost.volume.pattern,      whole(timing.within),   whole(timing.between),
          duration(timing.latency), duration(timing.least), timing.takes};
}

std::uint32_t channels(double number) { return static_cast<std::uint32_t>(std::clamp(number, 0.0, 1024.0)); }

// All that a rank gets comes as evenly as it sends.
DeviceShare share_of(const NcclCost& cost, const NcclCall& call, double moving, const NcclConstants& constants) {
  const double bytes = constants.memory_traffic() * (cost.volume.within + cost.volume.between);
  return {channels(constants.channels(cost.algorithm, *call.shape, call.machine)),
          moving > 0 ? std::llround(std::min(bytes / moving, kMostBytes)) : 0};
}

Timing timing_of(const NcclCost& cost, const NcclCall& call, const NcclOptions& options,
                 const NcclConstants& constants) {
  const double copies = call.machine.within == NodeLinkKind::kHost ? constants.host_efficiency() : 1;
  Timing timing;
  timing.within = cost.volume.within / cost.within_efficiency / copies;
  timing.between = cost.volume.between / cost.between_efficiency / constants.network_efficiency();
  double moving = lone_seconds(transfer_of(cost, timing), *call.shape).together;
  if (cost.least > moving) moving = timing.least = cost.least;
  timing.takes = share_of(cost, call, moving, constants);
  const bool is_whole = std::max(timing.within, timing.between) < kMostBytes;
  const auto time_of = [&](double latency) {
    return is_whole ? latency + moving : std::numeric_limits<double>::infinity();
  };
  const double launch = constants.launch(options.launch);
  const double host = constants.host_pace(options, call.shape->fullest, cost.sends);
  const double with_bytes = cost.local / constants.copy_rate(call.machine.architecture) + fill(cost, moving);
  timing.latency = launch + std::max(cost.latency, host) + with_bytes;
  timing.seconds = time_of(timing.latency);
  timing.device = time_of(launch + cost.latency + with_bytes);
  return timing;
}

NcclTiming timed(const NcclCost& cost, const NcclCall& call, const NcclOptions& options,
                 const NcclConstants& constants) {
  const Timing timing = timing_of(cost, call, options, constants);
  return {cost.algorithm, cost.protocol, transfer_of(cost, timing), timing.seconds, timing.device};
}

// Demands of a tuner's row.
NcclTiming tuned_timing(const NcclTunerRow& row, const NcclCall& call, const NcclOptions& options,
                        const NcclConstants& constants) {
  NcclOptions held = options;
  held.algorithms.reset();
  held.algorithms.set(static_cast<std::size_t>(row.algorithm));
  held.protocols.reset();
  held.protocols.set(static_cast<std::size_t>(row.protocol));
  std::vector<NcclTiming> timings;
  if (options.may_take(row.algorithm) && options.may_take(row.protocol)) timings = nccl_timings(call, held, constants);
  if (timings.empty() || timings.front().algorithm != row.algorithm)
    throw InputError({options.tuner->file, row.line, 1},
                     fmt::format("NCCL {} cannot run {} over {} ranks on {} nodes by {} in {}",
                                 to_text(options.version), name_of(call.kind), call.shape->ranks, call.shape->nodes,
                                 name_of(row.algorithm), name_of(row.protocol)),
                     "give this row other nodes or ranks, or another algorithm: ring runs everywhere in ll and simple");
  NcclTiming timing = timings.front();
  if (row.channels > 0) timing.transfer.takes.processors = static_cast<std::uint32_t>(row.channels);
  return timing;
}

}  // namespace

std::vector<NcclTiming> nccl_timings(const NcclCall& call, const NcclOptions& options, const NcclConstants& constants) {
  std::vector<NcclTiming> timings;
  for (const NcclCandidate& candidate : nccl_candidates(call, options))
    timings.push_back(timed(nccl_cost(candidate, call, options, constants), call, options, constants));
  return timings;
}

bool is_countable(double seconds) { return seconds < kMostSeconds; }

double lone_seconds(const NcclCost& cost, const NcclCall& call, const NcclOptions& options,
                    const NcclConstants& constants) {
  return timing_of(cost, call, options, constants).seconds;
}

NcclTiming fastest_nccl_timing(const NcclCall& call, const NcclOptions& options, const NcclConstants& constants) {
  const GroupShape& shape = *call.shape;
  if (const NcclTunerRow* row =
          options.tuner ? options.tuner->row_of(call.kind, call.bytes, shape.nodes, shape.ranks) : nullptr) {
    NcclTiming timing = tuned_timing(*row, call, options, constants);
    require_countable(timing.seconds);
    return timing;
  }
  const std::vector<NcclTiming> timings = nccl_timings(call, options, constants);
  if (timings.empty())
    throw InputError(
        {},
        fmt::format("NCCL {} cannot run {} over {} ranks on {} nodes with the algorithms and protocols "
                    "that it is held to",
                    to_text(options.version), name_of(call.kind), call.shape->ranks, call.shape->nodes),
        "drop collectives.algo or collectives.proto, or name others: ring runs everywhere in ll and simple");
  const NcclTiming& fastest = *std::ranges::min_element(timings, {}, &NcclTiming::device);
  require_countable(fastest.seconds);
  return fastest;
}

NcclSend nccl_send(Bytes bytes, bool is_same_node, const MachineKind& machine, const NcclOptions& options,
                   const NcclConstants& constants) {
  using enum NcclAlgorithm;
  const auto data = static_cast<double>(bytes.count());
  const NcclSendCosts costs = nccl_send_costs(data, options, constants);
  const auto latency_of = [&](NcclProtocol protocol) {
    return constants.base(kRing, protocol, machine) +
           (is_same_node ? constants.hop(kRing, protocol, machine) : constants.network_hop(kRing, protocol, machine));
  };
  const double latency = constants.launch(options.launch) +
                         costs.latency(latency_of(NcclProtocol::kLl), latency_of(NcclProtocol::kSimple));
  NcclSend send;
  send.protocol = nccl_protocol_of_send(data, options);
  send.latency = duration(latency);
  send.processors = channels(constants.channels_of_send(is_same_node));
  send.exceeds_buffer = data > constants.send_buffer();
  double efficiency = 1;
  if (!is_same_node) efficiency *= constants.network_efficiency();
  if (is_same_node && machine.within == NodeLinkKind::kHost) efficiency *= constants.host_efficiency();
  const double sent = costs.wire / efficiency;
  require_countable(sent < kMostBytes ? latency : std::numeric_limits<double>::infinity());
  send.bytes = whole(sent);
  return send;
}

}  // namespace orrery::collectives
