// SPDX-License-Identifier: MIT
#include "workload/training/layers/layer_program.h"

#include <algorithm>
#include <array>

namespace orrery::workload {

std::string_view name_of(GroupFamily family) {
  constexpr std::array<std::string_view, kGroupFamilyCount> kNames = {
      "tensor",      "context",      "expert",           "data",      "shard", "replicate",
      "expert-data", "expert-shard", "expert-replicate", "embedding", "world", "context-inner"};
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

// Kernels of equal length, each launched by itself.
HostWork launched(std::int64_t kernels, Duration launch, Duration time) {
  if (kernels == 0 || launch == Duration::zero()) return {Duration::zero(), time};
  const Duration all = saturating_multiply_add(Duration::zero(), launch, kernels);
  return {all, std::max(saturating_add(launch, time), saturating_add(all, time / kernels))};
}

// The compute of a captured graph: one launch.
void capture(Duration launch, Cost& cost) {
  cost.host.launches = launch;
  cost.host.span = saturating_add(launch, cost.time);
}

}  // namespace

Cost cost_of(const std::vector<Operator>& operators, const OperatorTimes& times, const HostSpec* host,
             std::int64_t taken) {
  Cost cost;
  const Operator* before = nullptr;
  for (const Operator& op : operators) {
    const Duration time = time_of(op, times, taken);
    const bool is_processor_bound = !std::holds_alternative<ElementWise>(op);
    const bool is_next_piece = before != nullptr && *before == op && std::holds_alternative<Gemm>(op);
    before = &op;
    HostWork work{Duration::zero(), time};
    if (host != nullptr) work = launched(is_next_piece ? 1 : host->kernels_of(op), host->launch_alone(), time);
    cost = cost + Cost{time, flops_of(op), bytes_of(op), work, is_processor_bound ? time : Duration::zero(), taken > 0};
  }
  return cost;
}

LayerProgram price(LayerProgram layer, const SoftwareSpec& software, const OperatorTimes& times, std::int64_t taken) {
  const HostSpec& host = software.host;
  for (std::vector<Action>* actions : {&layer.forward, &layer.recompute, &layer.backward})
    for (Action& action : *actions) {
      if (auto* ring = std::get_if<RingExchange>(&action)) {
        ring->own_cost = cost_of(ring->own, times, &host, taken);
        ring->cost = cost_of(ring->operators, times, &host, taken);
        for (Cost* cost : {&ring->own_cost, &ring->cost})
          if (host.graphs == GraphScope::kDense) cost->host = {Duration::zero(), cost->time};  // all of one graph
      }
      auto* compute = std::get_if<Compute>(&action);
      if (compute == nullptr) continue;
      compute->cost = cost_of(compute->operators, times, &host, taken);
      const Bytes added_up = software.accumulation * compute->finishes.total();
      if (added_up.count() > 0)
        compute->cost = compute->cost + cost_of({ElementWise{ElementWiseKind::kAccumulate, added_up}}, times, &host);
      if (host.graphs == GraphScope::kDense && !compute->of_varying_sizes) capture(host.launch, compute->cost);
      compute->cost.host.synchronises = compute->synchronises;
    }
  return layer;
}

}  // namespace orrery::workload
