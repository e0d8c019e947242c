// SPDX-License-Identifier: MIT
#include "workload/training/program/kernel_uses.h"

#include <map>
#include <tuple>

#include "workload/training/pipeline/schedule.h"
#include "workload/training/program/gradient_synchronisation.h"
#include "workload/training/program/host_offload.h"
#include "workload/training/program/optimizer_step.h"

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

StageRuns runs_of(const StageRequest& request) {
  const TrainingSpec& training = *request.training;
  std::map<std::tuple<std::uint32_t, std::uint32_t, PassKind, bool>, std::int64_t> counts;
  // A pipeline that is not flushed goes through all iterations at once, and updates after each micro-batch.
  const std::int64_t times_through = training.is_flushed() ? training.iterations : 1;
  std::map<std::tuple<std::uint32_t, PassKind, bool>, std::int64_t> passes;  // by chunk, and whether it splits
  StageRuns runs;
  for (const Pass& pass : pipeline_order(pipeline_shape(training), request.stage)) {
    if (pass.kind != PassKind::kForward) ++runs.backward_passes;
    passes[{pass.chunk, pass.kind, pass.splits}] += times_through;
  }
  for (const auto& [pass, count] : passes) {
    const auto& [chunk, kind, splits] = pass;
    for (std::uint32_t layer = 0; layer < request.chunks[chunk].size(); ++layer)
      counts[{chunk, layer, kind, splits}] += count;
  }
  for (const auto& [key, count] : counts) {
    const auto& [chunk, layer, kind, splits] = key;
    runs.layers.push_back({chunk, layer, kind, splits, count});
  }
  return runs;
}

std::vector<KernelUse> kernel_uses(const StageRequest& request, const StageRuns& runs, const OperatorTimes& times) {
  const TrainingSpec& training = *request.training;
  // Layers that are alike share a program: how often each is run is soon counted.
  std::map<std::tuple<const LayerProgram*, PassKind, bool>, std::int64_t> counts;
  for (const LayerRuns& of : runs.layers)
    counts[{request.chunks[of.chunk][of.layer].layer, of.kind, of.splits}] += of.count;
  Tally tally(training);
  for (const auto& [run, count] : counts) tally.add(*std::get<0>(run), std::get<1>(run), std::get<2>(run), count);
  const std::int64_t steps = training.is_flushed() ? training.iterations : runs.backward_passes;
  const OffloadedStep step = offloaded_step(request);
  if (step.rest.count() > 0) tally.add(ElementWise{ElementWiseKind::kOptimizer, step.rest}, steps);
  for (const DeviceUpdates& update : device_updates(step))
    tally.add(ElementWise{ElementWiseKind::kOptimizer, update.traffic}, update.times * steps);
  for (const RepeatedOperators& part : matrix_products(request))
    for (const Operator& op : part.operators) tally.add(op, part.times * steps);
  return tally.take(times);
}

}  // namespace orrery::workload
