// SPDX-License-Identifier: MIT
#include "workload/training/program/least_time.h"

#include <algorithm>
#include <array>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include "workload/training/program/gradient_synchronisation.h"
#include "workload/training/program/host_offload.h"
#include "workload/training/program/optimizer_step.h"
#include "workload/training/program/parameter_gathers.h"
#include "workload/training/spec/training_spec.h"

namespace orrery::workload {
namespace {

// A LeastCollective of the groups of one stage.
using StageCollective = std::function<Duration(GroupFamily family, CollectiveKind kind, Bytes bytes)>;

using FamilyTimes = std::array<Duration, kGroupFamilyCount>;

// Least time of some actions: `computing` on the device, in line or overlapped; `exposed`, while the device has nothing
// to compute; `in_line`, of actions that wait for one another; `calling`, of a communicator of each family, whose calls
// wait for one another.
struct LeastWork {
  Duration computing{};
  Duration beside{};  // of these, not in line
  Duration exposed{};
  Duration in_line{};
  FamilyTimes calling{};

  void call(GroupFamily family, Duration time, std::int64_t times = 1) {
    Duration& sum = calling[static_cast<std::size_t>(family)];
    sum = saturating_multiply_add(sum, time, times);
  }
  void add(const LeastWork& other, std::int64_t times = 1) {
    computing = saturating_multiply_add(computing, other.computing, times);
    beside = saturating_multiply_add(beside, other.beside, times);
    exposed = saturating_multiply_add(exposed, other.exposed, times);
    in_line = saturating_multiply_add(in_line, other.in_line, times);
    for (std::size_t i = 0; i < calling.size(); ++i)
      calling[i] = saturating_multiply_add(calling[i], other.calling[i], times);
  }
};

class LayerWork {
 public:
  explicit LayerWork(const StageCollective& collectives) : collectives_(collectives) {}

  // Least work of a pass over a layer, as LayerWriter writes it.
  const LeastWork& of(const LayerProgram& layer, PassKind kind, bool splits) {
    const auto [known, is_new] = known_.try_emplace({&layer, kind, splits});
    if (is_new) {
      LeastWork& work = known->second;
      if (kind == PassKind::kForward) {
        add(work, layer.forward, kind, splits);
      } else {
        if (kind == PassKind::kBackward) add(work, layer.recompute, kind, splits);
        add(work, layer.backward, kind, splits);
      }
    }
    return known->second;
  }

 private:
  // A device computes what is ready in the order of the program: behind a computation in line nothing is left of what
  // came before it. So of a collective in line no more is hidden than what came beside since then, or comes beside it;
  // all, as far as we know, where actions begin with it.
  void add(LeastWork& work, const std::vector<Action>& actions, PassKind kind, bool splits) const {
    Duration left = Duration::max();  // that may hide what comes
    Duration open{};                  // exposed part of the collective just before
    for (const Action& action : actions) {
      if (!is_in_pass(action, kind, splits)) continue;
      if (const auto* compute = std::get_if<Compute>(&action)) {
        const bool is_beside = compute->beside_collective || (compute->weight_gradient && kind == PassKind::kBackward);
        work.computing = saturating_add(work.computing, compute->cost.time);
        const Duration hidden = compute->beside_collective ? std::min(open, compute->cost.time) : Duration{};
        work.exposed -= hidden;
        left = is_beside ? saturating_add(left, compute->cost.time - hidden) : Duration{};
        open = is_beside ? open - hidden : Duration{};
        Duration& where = is_beside ? work.beside : work.in_line;
        where = saturating_add(where, compute->cost.time);
      } else if (const auto* collective = std::get_if<Collective>(&action)) {
        const Duration time = collectives_(collective->family, collective->kind, collective->bytes);
        work.call(collective->family, time);
        if (collective->beside_next) continue;
        work.in_line = saturating_add(work.in_line, time);
        open = std::max(time, left) - left;
        work.exposed = saturating_add(work.exposed, open);
        left = std::max(time, left) - time;
      } else {
        const auto& ring = std::get<RingExchange>(action);
        work.add({ring.own_cost.time, {}, {}, ring.own_cost.time, {}}, 1);
        work.add({ring.cost.time, {}, {}, ring.cost.time, {}}, ring.blocks - 1);
        left = open = {};
      }
    }
  }

  const StageCollective& collectives_;
  std::map<std::tuple<const LayerProgram*, PassKind, bool>, LeastWork> known_;
};

// Exchanges of replicas in an iteration, as GradientSynchronisation and ParameterGathers make them.
class ReplicaWork {
 public:
  ReplicaWork(const StageRequest& request, const StageCollective& collectives)
      : request_(request),
        training_(*request.training),
        groups_(exchange_groups(training_.parallel, request.group_sizes)),
        collectives_(collectives) {}

  // One behind the other, in line or not.
  LeastWork gradients(ParameterCount parameters) const {
    LeastWork work;
    add_gradients(work, groups_.dense, parameters.dense);
    add_gradients(work, groups_.expert, parameters.expert);
    return work;
  }
  // Least time for the gradients of a stage's chunk: layer by layer, bucket by bucket, or all at once.
  LeastWork gradients_of(std::uint32_t chunk, bool in_buckets) const {
    LeastWork work;
    const std::vector<StageLayer>& layers = request_.chunks[chunk];
    if (training_.exchanges_layers()) {
      for (const StageLayer& layer : layers) work.add(gradients(layer.layer->parameters));
      return work;
    }
    const ParameterCount all = parameters_of(layers);
    if (!in_buckets || !training_.software.overlap_gradients) return gradients(all);
    const std::int64_t bucket = bucket_parameters(training_);
    add_gradients(work, groups_.dense, bucket, all.dense / bucket);
    add_gradients(work, groups_.dense, all.dense % bucket);
    add_gradients(work, groups_.expert, bucket, all.expert / bucket);
    add_gradients(work, groups_.expert, all.expert % bucket);
    return work;
  }

  LeastWork gather(ParameterCount parameters) const {
    LeastWork work;
    for (const auto& [groups, count] :
         {std::pair(&groups_.dense, parameters.dense), {&groups_.expert, parameters.expert}}) {
      if (groups->shards < 2 || count == 0) continue;
      const Bytes bytes = ceil_div(training_.gathered_parameters(count), groups->shards);
      const Duration time = collectives_(groups->shard, CollectiveKind::kAllGather, bytes);
      work.call(groups->shard, time);
      work.in_line = saturating_add(work.in_line, time);
    }
    return work;
  }
  // Layer by layer.
  LeastWork gather_layers(std::uint32_t chunk) const {
    LeastWork work;
    for (const StageLayer& layer : request_.chunks[chunk])
      work.add(gather(layer.layer->parameters + ParameterCount{layer.layer->frozen, 0}));
    return work;
  }

  // The last exchange of gradients where they go beside the backward pass: of what is complete last.
  Duration last_gradients(const Pass& last) const {
    const std::vector<StageLayer>& layers = request_.chunks[last.chunk];
    if (layers.empty() || layers.front().layer->parameters.dense == 0) return {};
    ParameterCount rest = layers.front().layer->parameters;
    rest.expert = 0;
    if (!training_.exchanges_layers()) {
      const bool by_chunk = training_.parallel.zero >= 2 || training_.software.bucket_first;
      rest.dense = by_chunk ? parameters_of(layers).dense : workload::parameters_of(request_).dense;
      const std::int64_t bucket = bucket_parameters(training_);
      if (has_buckets(training_, request_.stage, last.chunk) && rest.dense >= bucket)
        rest.dense = rest.dense % bucket == 0 ? bucket : rest.dense % bucket;
    }
    return gradients(rest).in_line;
  }

  // Time for the embedding that the first and the last stage share.
  Duration tied() const {
    const std::int64_t stage = request_.stage;
    if (request_.tied == 0 || (stage != 0 && stage + 1 != training_.parallel.pipeline())) return {};
    const Bytes bytes = ceil_div(size_of(training_.software.gradients) * request_.tied, groups_.dense.shards);
    return collectives_(GroupFamily::kEmbedding, CollectiveKind::kAllReduce, bytes);
  }

 private:
  static ParameterCount parameters_of(const std::vector<StageLayer>& layers) {
    ParameterCount parameters;
    for (const StageLayer& layer : layers) parameters += layer.layer->parameters;
    return parameters;
  }

  void add_gradients(LeastWork& work, const ReplicaGroups& groups, std::int64_t parameters,
                     std::int64_t times = 1) const {
    if (parameters == 0 || times == 0) return;
    const Bytes bytes = size_of(training_.software.gradients) * parameters;
    const auto add = [&](GroupFamily family, CollectiveKind kind, Bytes of_rank) {
      const Duration time = collectives_(family, kind, of_rank);
      work.call(family, time, times);
      work.in_line = saturating_multiply_add(work.in_line, time, times);
    };
    if (groups.shards > 1) add(groups.shard, CollectiveKind::kReduceScatter, bytes);
    if (groups.replicas > 1) add(groups.replicate, CollectiveKind::kAllReduce, ceil_div(bytes, groups.shards));
  }

  const StageRequest& request_;
  const TrainingSpec& training_;
  const ExchangeGroups groups_;
  const StageCollective& collectives_;
};

struct StageWork {
  LeastWork all;               // of the passes of an iteration
  Duration forward{};          // in line, of a micro-batch through the first chunk
  Duration backward{};         // likewise
  Duration exchange{};         // behind all passes: of gradients that do not go beside the backward pass
  Duration exchange_beside{};  // behind the last pass in line: what of the last exchange is left then, at least
  Duration update{};           // behind that: of the optimizer, and what follows it
  Duration left{};             // that the device may still compute when its last pass is through in line
  bool ends_backward = false;  // its last pass is the backward one of the last micro-batch through the first chunk

  Duration end() const { return saturating_add(std::max(exchange, exchange_beside), update); }
};

// Adds what replicas exchange beside or between the passes.
void add_exchanges(StageWork& work, const StageRequest& request, const std::vector<Pass>& order, LayerWork& layers,
                   const StageCollective& collectives) {
  const TrainingSpec& training = *request.training;
  const Parallelism& parallel = training.parallel;
  if (parallel.exchange != ExchangeKind::kCollective) return;
  const ReplicaWork replicas(request, collectives);
  const bool overlaps = training.software.overlap_gradients;
  LeastWork beside, in_line, at_end;
  const auto chunks = static_cast<std::uint32_t>(request.chunks.size());
  const bool by_pass = parallel.zero >= 2;
  std::vector<std::int64_t> exchanging(chunks), gathering(chunks);
  for (const Pass& pass : order) {
    exchanging[pass.chunk] += exchanges_in(pass, training);
    gathering[pass.chunk] += pass.kind != PassKind::kWeight &&
                             (!training.keeps_gathered() || (pass.kind == PassKind::kForward && pass.micro_batch == 0));
  }
  for (std::uint32_t chunk = 0; chunk < chunks; ++chunk) {
    if (overlaps || by_pass)
      (overlaps ? beside : in_line)
          .add(replicas.gradients_of(chunk, has_buckets(training, request.stage, chunk)), exchanging[chunk]);
    if (parallel.shares_parameters()) beside.add(replicas.gather_layers(chunk), gathering[chunk]);
  }
  const ParameterCount all = parameters_of(request);
  if (!overlaps && !by_pass) at_end = replicas.gradients(all);
  work.exchange = at_end.in_line;
  if (overlaps && !order.empty()) {
    const Pass& last = order.back();
    const Duration exchange = replicas.last_gradients(last);
    const Duration computed =
        request.chunks[last.chunk].empty()
            ? Duration{}
            : layers.of(*request.chunks[last.chunk].front().layer, last.kind, last.splits).in_line;
    work.exchange_beside = std::max(exchange, computed) - computed;
  }
  work.update = saturating_add(work.update, saturating_add(replicas.tied(), training.software.step));
  const LeastWork gathered = replicas.gather(all);
  if (parallel.updates_shares() && !ParameterGathers::is_overlapped(training)) {
    work.update = saturating_add(work.update, gathered.in_line);
    at_end.add(gathered);
  }
  work.all.in_line = saturating_add(work.all.in_line, in_line.in_line);
  for (std::size_t i = 0; i < kGroupFamilyCount; ++i)
    for (const LeastWork* part : {&beside, &in_line, &at_end})
      work.all.calling[i] = saturating_add(work.all.calling[i], part->calling[i]);
}

StageWork work_of(const StageRequest& request, const OperatorTimes& times, LayerWork& layers,
                  const StageCollective& collectives) {
  const TrainingSpec& training = *request.training;
  StageWork work;
  if (const Bytes traffic = offloaded_step(request).rest; traffic.count() > 0 && training.is_flushed())
    work.update = times.time(ElementWise{ElementWiseKind::kOptimizer, traffic});
  if (training.is_flushed()) work.update = std::max(work.update, offloaded_time(request));
  if (training.is_flushed()) work.update = saturating_add(work.update, matrix_time(request, times));
  const auto of_chunk = [&](std::uint32_t chunk, PassKind kind, bool splits) {
    LeastWork sum;
    for (const StageLayer& layer : request.chunks[chunk]) sum.add(layers.of(*layer.layer, kind, splits));
    return sum;
  };
  std::map<std::tuple<std::uint32_t, PassKind, bool>, std::int64_t> passes;
  const std::vector<Pass> order = pipeline_order(pipeline_shape(training), request.stage);
  bool is_beside = false;
  for (const Pass& pass : order) {
    ++passes[{pass.chunk, pass.kind, pass.splits}];
    is_beside |= pass.beside_next;
  }
  for (const auto& [pass, count] : passes) {
    const auto& [chunk, kind, splits] = pass;
    work.all.add(of_chunk(chunk, kind, splits), count);
  }
  if (!training.is_flushed()) {
    // It goes through all iterations at once.
    work.all = {work.all.computing / training.iterations, {}, {}, work.all.in_line / training.iterations, {}};
    return work;
  }
  add_exchanges(work, request, order, layers, collectives);
  if (is_beside) work.all.in_line = work.all.exposed = {};
  if (is_beside || is_v_shaped(training.schedule)) return work;
  const Pass& last = order.back();
  work.forward = of_chunk(0, PassKind::kForward, false).in_line;
  work.backward = of_chunk(0, PassKind::kBackward, last.splits).in_line;
  if (!request.chunks[last.chunk].empty())
    work.left = layers.of(*request.chunks[last.chunk].front().layer, last.kind, last.splits).beside;
  work.ends_backward =
      last.kind == PassKind::kBackward && last.chunk == 0 && last.micro_batch + 1 == training.chunk_micro_batches();
  return work;
}

// State shared by the stages whose groups lie alike.
struct StageGroups {
  StageGroups(std::uint32_t number, const LeastCollective& all)
      : collectives([number, &all](GroupFamily family, CollectiveKind kind, Bytes bytes) {
          return all(number, family, kind, bytes);
        }) {}

  const StageCollective collectives;
  LayerWork layers{collectives};
};

}  // namespace

Duration least_iteration(const StageRequests& requests, const OperatorTimes& times, const PipelineRanks& ranks,
                         const LeastCollective& collectives) {
  const TrainingSpec& training = *requests.all().front().training;
  std::map<std::uint32_t, StageGroups> by_groups;
  Duration least{}, head{};
  std::vector<StageWork> before;  // of every stage
  for (std::size_t stage = 0; stage < ranks.groups.size(); ++stage) {
    const std::uint32_t number = ranks.groups[stage];
    StageGroups& groups = by_groups.try_emplace(number, number, collectives).first->second;
    const StageRequest& request = requests.all()[stage * requests.loads() + ranks.load];
    const StageWork work = work_of(request, times, groups.layers, groups.collectives);
    // Behind its last pass it updates, while the stages before it go backward and then update, too.
    Duration others{}, backward{};
    for (std::size_t other = before.size(); work.ends_backward && other-- > 0;) {
      backward = saturating_add(backward, before[other].backward);
      others = std::max(others, saturating_add(backward, before[other].end()));
    }
    const auto iteration = [&](Duration passes, Duration end, Duration end_of_others) {
      const Duration repeated = saturating_multiply_add({}, end, training.iterations - 1);
      const Duration once = saturating_add(head, saturating_add(repeated, std::max(end, end_of_others)));
      return saturating_add(passes, once / training.iterations);
    };
    const Duration in_line = iteration(work.all.in_line, work.end(), others);
    const Duration on_device =
        iteration(saturating_add(work.all.computing, work.all.exposed), saturating_add(work.exchange, work.update),
                  std::max(others, work.left) - work.left);
    least = std::max({least, in_line, on_device, std::ranges::max(work.all.calling)});
    head = saturating_add(head, work.forward);
    before.push_back(work);
  }
  return least;
}

}  // namespace orrery::workload
