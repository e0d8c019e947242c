// SPDX-License-Identifier: MIT
#include "collectives/token_exchange.h"

#include <algorithm>
#include <cmath>

namespace orrery::collectives {
namespace {

// The chance that none of `drawn`, drawn without putting back from `all`, is one of the `marked` ones.
double chance_of_none(double all, double marked, double drawn) {
  double chance = 1;
  for (double i = 0; i < drawn; ++i) chance *= std::max(0.0, all - marked - i) / std::max(1.0, all - i);
  return chance;
}

// The chance that of `drawn`, drawn from `all`, exactly `hits` are among the `marked` ones.
double chance_of(double all, double marked, double drawn, double hits) {
  double chance = 1;
  for (double i = 0; i < hits; ++i) chance *= (drawn - i) / (hits - i) * (marked - i) / (all - i);
  return chance * chance_of_none(all - hits, marked - hits, drawn - hits);
}

double as_share(Efficiency efficiency) {
  return static_cast<double>(efficiency.count()) / static_cast<double>(kFullEfficiency.count());
}

Bytes whole(double bytes) { return Bytes(std::llround(std::min(bytes, 1e18))); }

Duration duration(double seconds) { return Duration(std::llround(std::min(seconds, 1e6) * 1e12)); }

}  // namespace

double units_reached(const TokenRouting& routing, std::uint32_t units) {
  const auto count = static_cast<double>(units), drawn = static_cast<double>(routing.experts_per_token);
  if (routing.balanced) return std::min(count, drawn);
  const auto groups = static_cast<double>(routing.groups), chosen = static_cast<double>(routing.groups_per_token);
  const double each = static_cast<double>(routing.experts) / count;  // experts of a unit
  const double of_group = static_cast<double>(routing.experts) / groups;
  const double possible = chosen * of_group;
  if (each <= of_group) return count * chosen / groups * (1 - chance_of_none(possible, each, drawn));
  const double own = std::round(each / of_group);  // groups of a unit
  double none = 0;
  for (double hits = 0; hits <= std::min(own, chosen); ++hits)
    none += chance_of(groups, own, chosen, hits) * chance_of_none(possible, hits * of_group, drawn);
  return count * (1 - none);
}

Aggregate token_exchange(const TokenExchange& exchange, Bytes bytes, const GroupShape& shape) {
  const DispatchLibrary& library = exchange.library;
  const double rows = static_cast<double>(bytes.count()) / static_cast<double>(exchange.routing.experts_per_token);
  const double ranks = units_reached(exchange.routing, shape.ranks);
  const double nodes = shape.nodes > 1 ? units_reached(exchange.routing, shape.nodes) : 0;
  const double rate = static_cast<double>(library.processor_rate.count()) * static_cast<double>(library.processors);
  Aggregate transfer;
  transfer.pattern = NodePattern::kAllPairs;
  transfer.within = whole(rows * ranks * (1 - 1.0 / std::max(1U, shape.fullest)) / as_share(library.within));
  transfer.between = whole(rows * nodes * (1 - 1.0 / shape.nodes) / as_share(library.between));
  transfer.latency =
      duration(seconds(library.launch) + seconds(library.doubling) * std::log2(std::max(1U, shape.nodes)));
  transfer.least = duration(rows * (1 + nodes + ranks) / rate);
  const double moving = std::max(seconds(transfer.least), lone_seconds(transfer, shape).together);
  transfer.takes = {static_cast<std::uint32_t>(library.processors),
                    moving > 0 ? std::llround(rows * (1 + nodes + ranks) / moving) : 0};
  return transfer;
}

}  // namespace orrery::collectives
