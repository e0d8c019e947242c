// SPDX-License-Identifier: MIT
#include "workload/training/program/kernel_uses.h"

#include <map>
#include <tuple>

#include "workload/training/program/gradient_synchronisation.h"
#include "workload/training/program/host_offload.h"
#include "workload/training/program/optimizer_step.h"
#include "workload/training/program/parameter_gathers.h"

namespace orrery::workload {
namespace {

class Tally {
 public:
  explicit Tally(const TrainingSpec& training) : training_(training) {}

  void add(const Operator& op, std::int64_t times) { counts_[op] += times; }

  // Adds `times` passes of this kind over a layer, as LayerWriter writes them.
  void add(const LayerProgram& layer, PassKind kind, bool splits, std::int64_t times) {
    if (kind == PassKind::kForward) return add(layer.forward, kind, splits, times);
    if (kind == PassKind::kBackward) add(layer.recompute, kind, splits, times);
    add(layer.backward, kind, splits, times);
  }

  std::vector<KernelUse> take(const OperatorTimes& times) const {
    std::vector<KernelUse> uses;
    for (const auto& [op, count] : counts_) uses.push_back({op, count, times.time(op), times.measured(op)});
    return uses;
  }

 private:
  void add(const std::vector<Action>& actions, PassKind kind, bool splits, std::int64_t times) {
    for (const Action& action : actions) {
      if (!is_in_pass(action, kind, splits)) continue;
      if (const auto* compute = std::get_if<Compute>(&action)) add(*compute, times);
      if (const auto* ring = std::get_if<RingExchange>(&action)) {
        for (const Operator& op : ring->own) add(op, times);
        for (const Operator& op : ring->operators) add(op, (ring->blocks - 1) * times);
      }
    }
  }

  void add(const Compute& compute, std::int64_t times) {
    for (const Operator& op : compute.operators) add(op, times);
    const Bytes added_up = training_.software.accumulation * compute.finishes.total();
    if (added_up.count() > 0) add(ElementWise{ElementWiseKind::kAccumulate, added_up}, times);
  }

  const TrainingSpec& training_;
  std::map<Operator, std::int64_t> counts_;
};

}  // namespace

std::vector<KernelUse> kernel_uses(const StageRequest& request, const OperatorTimes& times) {
  const TrainingSpec& training = *request.training;
  // Layers that are alike share a program: how often each is run is soon counted.
  std::map<std::tuple<const LayerProgram*, PassKind, bool>, std::int64_t> runs;
  // A pipeline that is not flushed goes through all iterations at once, and updates after each micro-batch.
  const std::int64_t times_through = training.is_flushed() ? training.iterations : 1;
  std::int64_t backward_passes = 0;
  for (const StageUnit& unit : units_of_iteration(request)) {
    if (unit.last && unit.pass.kind != PassKind::kForward) ++backward_passes;
    if (unit.layer != nullptr) runs[{unit.layer->layer, unit.pass.kind, unit.pass.splits}] += times_through;
  }
  Tally tally(training);
  for (const auto& [run, count] : runs) tally.add(*std::get<0>(run), std::get<1>(run), std::get<2>(run), count);
  const std::int64_t steps = training.is_flushed() ? training.iterations : backward_passes;
  const OffloadedStep step = offloaded_step(request);
  if (step.rest.count() > 0) tally.add(ElementWise{ElementWiseKind::kOptimizer, step.rest}, steps);
  for (const DeviceUpdates& update : device_updates(step))
    tally.add(ElementWise{ElementWiseKind::kOptimizer, update.traffic}, update.times * steps);
  for (const RepeatedOperators& part : matrix_products(request))
    for (const Operator& op : part.operators) tally.add(op, part.times * steps);
  return tally.take(times);
}

}  // namespace orrery::workload
