// SPDX-License-Identifier: MIT
#include "workload/training/layers/layer_program.h"

#include <array>

namespace orrery::workload {

std::string_view name_of(GroupFamily family) {
  constexpr std::array<std::string_view, 9> kNames = {"tensor",    "context",     "expert",    "data", "shard",
                                                      "replicate", "expert-data", "embedding", "world"};
  return kNames[static_cast<std::size_t>(family)];
}

namespace {

// Element-wise kernels are bound by memory, which the other multiprocessors fill as well.
Duration time_of(const Operator& op, const OperatorTimes& times, std::int64_t taken) {
  const Duration time = times.time(op);
  const std::int64_t all = times.processors();
  if (taken == 0 || all <= taken || std::holds_alternative<ElementWise>(op)) return time;
  return Duration(static_cast<std::int64_t>(Int128{time.count()} * all / (all - taken)));
}

}  // namespace

Cost cost_of(const std::vector<Operator>& operators, const OperatorTimes& times, std::int64_t taken) {
  Cost cost;
  for (const Operator& op : operators) cost = cost + Cost{time_of(op, times, taken), flops_of(op), bytes_of(op)};
  return cost;
}

LayerProgram price(LayerProgram layer, Bytes accumulation, const OperatorTimes& times, std::int64_t taken) {
  for (std::vector<Action>* actions : {&layer.forward, &layer.recompute, &layer.backward})
    for (Action& action : *actions) {
      if (auto* ring = std::get_if<RingExchange>(&action)) ring->cost = cost_of(ring->operators, times, taken);
      auto* compute = std::get_if<Compute>(&action);
      if (compute == nullptr) continue;
      compute->cost = cost_of(compute->operators, times, taken) + Cost{compute->host, {}, {}};
      const Bytes added_up = accumulation * compute->finishes.total();
      if (added_up.count() > 0)
        compute->cost = compute->cost + cost_of({ElementWise{ElementWiseKind::kAccumulate, added_up}}, times);
    }
  return layer;
}

}  // namespace orrery::workload
