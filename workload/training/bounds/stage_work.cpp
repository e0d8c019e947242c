// SPDX-License-Identifier: MIT
#include "workload/training/bounds/stage_work.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "workload/training/program/gradient_synchronisation.h"
#include "workload/training/program/host_offload.h"
#include "workload/training/program/optimizer_step.h"
#include "workload/training/program/parameter_gathers.h"
#include "workload/training/spec/training_spec.h"

namespace orrery::workload {

void LeastWork::call(GroupFamily family, Duration time, std::int64_t times) {
  Duration& sum = calling[static_cast<std::size_t>(family)];
  sum = saturating_multiply_add(sum, time, times);
}

void LeastWork::add(const LeastWork& other, std::int64_t times) {
  computing = saturating_multiply_add(computing, other.computing, times);
  beside = saturating_multiply_add(beside, other.beside, times);
  exposed = saturating_multiply_add(exposed, other.exposed, times);
  in_line = saturating_multiply_add(in_line, other.in_line, times);
  for (std::size_t i = 0; i < calling.size(); ++i)
    calling[i] = saturating_multiply_add(calling[i], other.calling[i], times);
  computes_in_line = computes_in_line || other.computes_in_line;
}

const LeastWork& LayerWork::of(const LayerProgram& layer, PassKind kind, bool splits) {
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

// A device computes what is ready in the order of the program: behind a computation in line nothing is left of what
// came before it. So of a collective in line no more is hidden than what came beside since then, or comes beside it;
// all, as far as we know, where actions begin with it.
void LayerWork::add(LeastWork& work, const std::vector<Action>& actions, PassKind kind, bool splits) const {
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
      work.computes_in_line = work.computes_in_line || !is_beside;
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
      work.add({ring.own_cost.time, {}, {}, ring.own_cost.time, {}, true}, 1);
      work.add({ring.cost.time, {}, {}, ring.cost.time, {}, true}, ring.blocks - 1);
      left = open = {};
    }
  }
}

PassWork pass_work(const std::vector<StageLayer>& chunk, const PassStep& step, bool in_pair, LayerWork& layers) {
  PassWork work;
  bool is_behind = true;  // of the last computation in line
  const auto from_end = [&](std::size_t i) {
    const StageLayer& layer = chunk[step.kind == PassKind::kForward ? chunk.size() - 1 - i : i];
    return in_pair && layer.beside_another != nullptr ? layer.beside_another : layer.layer;
  };
  for (std::size_t first = 0, end = 0; first < chunk.size(); first = end) {
    while (end < chunk.size() && from_end(end) == from_end(first)) ++end;
    const LeastWork& of_layer = layers.of(*from_end(first), step.kind, step.splits);
    const auto alike = static_cast<std::int64_t>(end - first);
    work.all.add(of_layer, alike);
    if (is_behind)
      work.left = saturating_multiply_add(work.left, of_layer.beside, of_layer.computes_in_line ? 1 : alike);
    is_behind = is_behind && !of_layer.computes_in_line;
  }
  return work;
}

namespace {

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

  // The last exchange of gradients where they go beside the backward pass, the last one of the chunk: of what is
  // complete last.
  Duration last_gradients(std::uint32_t chunk) const {
    const std::vector<StageLayer>& layers = request_.chunks[chunk];
    if (layers.empty() || layers.front().layer->parameters.dense == 0) return {};
    ParameterCount rest = layers.front().layer->parameters;
    rest.expert = 0;
    if (!training_.exchanges_layers()) {
      const bool by_chunk = training_.parallel.zero >= 2 || training_.software.bucket_first;
      rest.dense = by_chunk ? parameters_of(layers).dense : workload::parameters_of(request_).dense;
      const std::int64_t bucket = bucket_parameters(training_);
      if (has_buckets(training_, request_.stage, chunk) && rest.dense >= bucket)
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

// How often a stage takes each kind of pass in an iteration, without the order of all.
class PassCounts {
 public:
  explicit PassCounts(const StageRequest& request)
      : training_(*request.training), counts_(request.chunks.size() * kKinds), last_of_(request.chunks.size()) {
    for (const PassPhase& phase : pipeline_phases(pipeline_shape(training_), request.stage))
      for (const PassRun& run : phase.runs) {
        bool is_second = false;  // of a pair
        for (const PassStep& step : run.steps()) {
          add(step, step.beside_next || is_second, std::int64_t{phase.times} * run.times());
          is_second = step.beside_next;
        }
      }
  }

  // Calls take(step, in_pair, count) for each kind, alone or beside another.
  template <typename Take>
  void each(const Take& take) const {
    for (std::size_t i = 0; i < counts_.size(); ++i)
      if (counts_[i] > 0) take(step_at(i), i % 2 == 1, counts_[i]);
  }
  // The last pass of the iteration, which is of the last micro-batch.
  const PassStep& last() const { return last_; }
  bool has_pairs() const { return has_pairs_; }

  // Passes over the chunk that exchange gradients, and those that gather parameters.
  std::int64_t exchanging(std::uint32_t chunk) const {
    std::int64_t of_any = 0, of_last = 0;
    each([&](const PassStep& step, bool, std::int64_t count) {
      if (step.chunk != chunk) return;
      if (exchanges_in(pass_of(step, 0), training_)) of_any += count;
      // The passes of a kind take the micro-batches in order, and a weight gradient is of the last one where the
      // backward pass of that puts it off.
      const bool splits = last_of_[chunk].splits;
      const bool is_of_last = step.kind == PassKind::kWeight ? splits : step.splits == splits;
      if (is_of_last && exchanges_in(pass_of(step, training_.chunk_micro_batches() - 1), training_)) of_last = 1;
    });
    return training_.chunk_micro_batches() > 1 && of_any > 0 ? of_any : of_last;
  }
  std::int64_t gathering(std::uint32_t chunk) const {
    if (training_.keeps_gathered()) return 1;
    std::int64_t sum = 0;
    each([&](const PassStep& step, bool, std::int64_t count) {
      if (step.chunk == chunk && step.kind != PassKind::kWeight) sum += count;
    });
    return sum;
  }

 private:
  static constexpr std::size_t kKinds = 12;  // whether in a pair, whether it splits, and the kind

  static PassStep step_at(std::size_t number) {
    return {static_cast<PassKind>(number % kKinds / 4), static_cast<std::uint32_t>(number / kKinds),
            number % 4 / 2 == 1};
  }
  static Pass pass_of(const PassStep& step, std::int64_t micro_batch) {
    return {step.kind, static_cast<std::uint32_t>(micro_batch), step.chunk, step.splits};
  }
  void add(const PassStep& step, bool in_pair, std::int64_t times) {
    const std::size_t kind = static_cast<std::size_t>(step.kind) * 4 + (step.splits ? 2 : 0) + (in_pair ? 1 : 0);
    counts_[step.chunk * kKinds + kind] += times;
    has_pairs_ = has_pairs_ || in_pair;
    last_ = step;
    if (step.kind == PassKind::kBackward) last_of_[step.chunk] = step;
  }

  const TrainingSpec& training_;
  std::vector<std::int64_t> counts_;  // by chunk and kind
  std::vector<PassStep> last_of_;     // backward, by chunk
  PassStep last_;
  bool has_pairs_ = false;
};

// Adds what replicas exchange beside or between the passes.
void add_exchanges(StageWork& work, const StageRequest& request, const PassCounts& passes, LayerWork& layers,
                   const StageCollective& collectives) {
  const TrainingSpec& training = *request.training;
  const Parallelism& parallel = training.parallel;
  if (parallel.exchange != ExchangeKind::kCollective) return;
  const ReplicaWork replicas(request, collectives);
  const bool overlaps = training.software.overlap_gradients;
  LeastWork beside, in_line, at_end;
  const bool by_pass = parallel.zero >= 2;
  for (std::uint32_t chunk = 0; chunk < request.chunks.size(); ++chunk) {
    if (overlaps || by_pass)
      (overlaps ? beside : in_line)
          .add(replicas.gradients_of(chunk, has_buckets(training, request.stage, chunk)), passes.exchanging(chunk));
    if (parallel.shares_parameters()) beside.add(replicas.gather_layers(chunk), passes.gathering(chunk));
  }
  const ParameterCount all = parameters_of(request);
  if (!overlaps && !by_pass) at_end = replicas.gradients(all);
  work.exchange = at_end.in_line;
  if (overlaps) {
    const PassStep& last = passes.last();
    const Duration exchange = replicas.last_gradients(last.chunk);
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

StageWork stage_work(const StageRequest& request, const OperatorTimes& times, LayerWork& layers,
                     const StageCollective& collectives) {
  const TrainingSpec& training = *request.training;
  StageWork work;
  if (const Bytes traffic = offloaded_step(request).rest; traffic.count() > 0 && training.is_flushed())
    work.update = times.time(ElementWise{ElementWiseKind::kOptimizer, traffic});
  if (training.is_flushed()) work.update = std::max(work.update, offloaded_time(request));
  if (training.is_flushed()) work.update = saturating_add(work.update, matrix_time(request, times));
  const PassCounts passes(request);
  passes.each([&](const PassStep& pass, bool in_pair, std::int64_t count) {
    work.all.add(pass_work(request.chunks[pass.chunk], pass, in_pair, layers).all, count);
  });
  if (!training.is_flushed()) {
    // It goes through all iterations at once.
    work.all = {work.all.computing / training.iterations, {}, {}, work.all.in_line / training.iterations, {}};
    return work;
  }
  add_exchanges(work, request, passes, layers, collectives);
  if (passes.has_pairs()) work.all.in_line = work.all.exposed = {};
  if (passes.has_pairs() || is_v_shaped(training.schedule)) return work;
  const PassStep& last = passes.last();
  work.forward = pass_work(request.chunks[0], {PassKind::kForward, 0}, false, layers).all.in_line;
  work.backward = pass_work(request.chunks[0], {PassKind::kBackward, 0, last.splits}, false, layers).all.in_line;
  work.left = pass_work(request.chunks[last.chunk], last, false, layers).left;
  work.ends_backward = last.kind == PassKind::kBackward && last.chunk == 0;
  return work;
}

}  // namespace

PipelineWork::PipelineWork(const StageRequests& requests, const OperatorTimes& times, const PipelineRanks& ranks,
                           const LeastCollective& collectives)
    : requests_(requests), ranks_(ranks) {
  for (std::size_t stage = 0; stage < ranks.groups.size(); ++stage) {
    const std::uint32_t number = ranks.groups[stage];
    groups_.try_emplace(number, [number, &collectives](GroupFamily family, CollectiveKind kind, Bytes bytes) {
      return collectives(number, family, kind, bytes);
    });
    if (is_like_before(stage))
      stages_.push_back(stages_.back());
    else
      stages_.push_back(stage_work(request(stage), times, groups_of(stage).layers, groups_of(stage).collectives));
  }
}

// Ranks of a pipeline both ways have the layers of its first half.
const StageRequest& PipelineWork::request(std::size_t stage) const {
  const Parallelism& parallel = requests_.all().front().training->parallel;
  const auto depth = static_cast<std::size_t>(parallel.depth_of(static_cast<std::int64_t>(stage)));
  return requests_.all()[depth * requests_.loads() + ranks_.load];
}

// Stages between the ends with the same layers do the same, where their passes are of the same kinds, too.
bool PipelineWork::is_like_before(std::size_t stage) const {
  if (stage < 2 || stage + 1 == ranks_.groups.size() || ranks_.groups[stage] != ranks_.groups[stage - 1]) return false;
  const StageRequest &one = request(stage), &other = request(stage - 1);
  if (one.training->overlaps()) return false;
  const auto is_same = [](const StageLayer& a, const StageLayer& b) {
    return a.layer == b.layer && a.is_offloaded == b.is_offloaded;
  };
  return std::ranges::equal(one.chunks, other.chunks, [&](const auto& chunk, const auto& before) {
    return std::ranges::equal(chunk, before, is_same);
  });
}

}  // namespace orrery::workload
