// SPDX-License-Identifier: MIT
#include "workload/training/program/least_time.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include "workload/training/spec/training_spec.h"

namespace orrery::workload {
namespace {

// Of some actions: `computing` on the device, whether in line or beside; `in_line` of what waits for one another.
struct LeastWork {
  Duration computing{};
  Duration in_line{};

  LeastWork operator+(const LeastWork& other) const {
    return {saturating_add(computing, other.computing), saturating_add(in_line, other.in_line)};
  }
  LeastWork operator*(std::int64_t times) const {
    return {saturating_multiply_add({}, computing, times), saturating_multiply_add({}, in_line, times)};
  }
};

class LayerWork {
 public:
  explicit LayerWork(const LeastCollective& collectives) : collectives_(collectives) {}

  // What a pass does of a layer, as LayerWriter writes it.
  LeastWork of(const LayerProgram& layer, PassKind kind, bool splits) {
    const auto [known, is_new] = known_.try_emplace({&layer, kind, splits});
    if (is_new) {
      if (kind == PassKind::kForward) {
        known->second = of(layer.forward, kind, splits);
      } else {
        if (kind == PassKind::kBackward) known->second = of(layer.recompute, kind, splits);
        known->second = known->second + of(layer.backward, kind, splits);
      }
    }
    return known->second;
  }

 private:
  LeastWork of(const std::vector<Action>& actions, PassKind kind, bool splits) const {
    LeastWork work;
    for (const Action& action : actions) {
      if (!is_in_pass(action, kind, splits)) continue;
      if (const auto* compute = std::get_if<Compute>(&action)) {
        const bool is_beside = compute->beside_collective || (compute->weight_gradient && kind == PassKind::kBackward);
        work = work + LeastWork{compute->cost.time, is_beside ? Duration{} : compute->cost.time};
      } else if (const auto* collective = std::get_if<Collective>(&action)) {
        if (!collective->beside_next)
          work.in_line =
              saturating_add(work.in_line, collectives_(collective->family, collective->kind, collective->bytes));
      } else {
        const auto& ring = std::get<RingExchange>(action);
        work = work + LeastWork{ring.cost.time, ring.cost.time} * ring.blocks;
      }
    }
    return work;
  }

  const LeastCollective& collectives_;
  std::map<std::tuple<const LayerProgram*, PassKind, bool>, LeastWork> known_;
};

struct StageWork {
  LeastWork all;               // of the passes of an iteration
  Duration forward{};          // in line, of a micro-batch through the first chunk
  Duration backward{};         // likewise
  Duration update{};           // of the optimizer
  bool ends_backward = false;  // its last pass is the backward one of the last micro-batch through the first chunk
};

StageWork work_of(const StageRequest& request, const OperatorTimes& times, LayerWork& layers) {
  const TrainingSpec& training = *request.training;
  StageWork work;
  if (const Bytes traffic = optimizer_traffic(request); traffic.count() > 0 && training.is_flushed())
    work.update = times.time(ElementWise{ElementWiseKind::kOptimizer, traffic});
  const auto of_chunk = [&](std::uint32_t chunk, PassKind kind, bool splits) {
    LeastWork sum;
    for (const StageLayer& layer : request.chunks[chunk]) sum = sum + layers.of(*layer.layer, kind, splits);
    return sum;
  };
  std::map<std::tuple<std::uint32_t, PassKind, bool>, std::int64_t> passes;
  const std::vector<Pass> order = pipeline_order(pipeline_shape(training), request.stage);
  bool is_beside = false;
  for (const Pass& pass : order) {
    ++passes[{pass.chunk, pass.kind, pass.splits}];
    is_beside |= pass.beside_next;
  }
  // A pipeline that is not flushed goes through all iterations at once.
  const std::int64_t iterations = training.is_flushed() ? 1 : training.iterations;
  for (const auto& [pass, count] : passes) {
    const auto& [chunk, kind, splits] = pass;
    work.all = work.all + of_chunk(chunk, kind, splits) * count;
  }
  work.all = {work.all.computing / iterations, is_beside ? Duration{} : work.all.in_line / iterations};
  if (is_beside || !training.is_flushed() || is_v_shaped(training.schedule)) return work;
  const Pass& last = order.back();
  work.forward = of_chunk(0, PassKind::kForward, false).in_line;
  work.backward = of_chunk(0, PassKind::kBackward, last.splits).in_line;
  work.ends_backward =
      last.kind == PassKind::kBackward && last.chunk == 0 && last.micro_batch + 1 == training.chunk_micro_batches();
  return work;
}

}  // namespace

Duration least_iteration(const StageRequests& requests, const OperatorTimes& times,
                         const LeastCollective& collectives) {
  const TrainingSpec& training = *requests.all().front().training;
  // The time is counted from the last rank's broadcast on, when others are at work already.
  if (training.initial_broadcast) return {};
  LayerWork layers(collectives);
  const std::size_t loads = requests.loads();
  Duration least{}, head{};
  std::vector<StageWork> before;  // of every stage, the least of its loads: ranks of other stages may have any
  for (std::size_t first = 0; first < requests.all().size(); first += loads) {
    StageWork lightest;
    for (const StageRequest& request : requests.all().subspan(first, loads)) {
      const StageWork work = work_of(request, times, layers);
      // Behind its last pass it updates, while the stages before it go backward and then update, too.
      Duration end = work.update;
      Duration backward{};
      for (std::size_t stage = before.size(); work.ends_backward && stage-- > 0;) {
        backward = saturating_add(backward, before[stage].backward);
        end = std::max(end, saturating_add(backward, before[stage].update));
      }
      const std::int64_t others = training.iterations - 1;
      const Duration updates = saturating_multiply_add({}, work.update, others);
      const Duration in_line =
          saturating_add(work.all.in_line, saturating_add(head, saturating_add(updates, end)) / training.iterations);
      const Duration computing =
          saturating_add(work.all.computing, saturating_add(head / training.iterations, work.update));
      least = std::max({least, in_line, computing});
      const bool is_first = &request == &requests.all()[first];
      lightest.forward = is_first ? work.forward : std::min(lightest.forward, work.forward);
      lightest.backward = is_first ? work.backward : std::min(lightest.backward, work.backward);
      lightest.update = is_first ? work.update : std::min(lightest.update, work.update);
    }
    before.push_back(lightest);
    head = saturating_add(head, lightest.forward);
  }
  return least;
}

}  // namespace orrery::workload
