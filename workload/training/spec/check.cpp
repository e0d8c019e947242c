// SPDX-License-Identifier: MIT
// Checks of a training job: each meaningless combination of its numbers is an error that says what would work.
#include "workload/training/spec/check.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/units.h"
#include "workload/graph/execution_graph.h"
#include "workload/training/spec/mixer_sizes.h"

namespace orrery::workload {
namespace {

// Largest number of ranks: the number of devices that a fabric may have.
constexpr std::int64_t kMostRanks = 1 << 24;

class Check {
 public:
  Check(const TrainingSpec& training, std::int64_t devices, Diagnostics& diagnostics)
      : training_(training), parallel_(training.parallel), devices_(devices), diagnostics_(diagnostics) {}

  void run() {
    const std::size_t errors = diagnostics_.error_count();
    if (!check_ranks()) return;
    if (!training_.fills_devices) check_batch();
    check_sharing();
    check_exchange();
    check_beside_training();
    check_optimizer();
    check_offload();
    if (training_.precision == Precision::kFp64 && training_.software.gradients != Precision::kFp64)
      error("precision", fmt::format("gradients in {} of a job in fp64", name_of(training_.software.gradients)),
            "write workload.gradients: fp64");
    check_recipe();
    if (training_.transformer() != nullptr) {
      check_transformer(training_, diagnostics_);
    } else {
      check_data_parallel_only();
    }
    if (parallel_.ranks() <= devices_) check_training_size(training_, diagnostics_);
    // Replicas that the devices have room for follow from the other degrees: those are wrong first.
    if (training_.fills_devices && diagnostics_.error_count() == errors) check_batch();
  }

 private:
  void error(std::string_view key, std::string message, std::string hint) {
    diagnostics_.error(training_.where_of(key), std::move(message), std::move(hint));
  }

  void check_optimizer() {
    if (!training_.optimizer.matrices) return;
    const std::string name = printable(training_.optimizer.name, 40);
    const TransformerSpec* model = training_.transformer();
    if (model == nullptr)
      return error("optimizer", fmt::format("'{}' is of matrices of transformers, and the model is none", name),
                   "write workload.optimizer: adam");
    if (has_servers())
      return error("optimizer", fmt::format("'{}' needs whole matrices, which servers of parameters do not have", name),
                   "workload.parallel.exchange: collective, or workload.optimizer: adam");
  }

  void check_offload() {
    const OffloadSpec& offload = training_.offload;
    if (!offload.any()) return;
    if (!offload.host.to_device || !offload.host.from_device)
      return error("offload", "it is not known how fast devices reach the memory of their hosts",
                   "write cluster.node.host: {to_device: 25 GB/s, from_device: 25 GB/s}, or pcie of the device");
    if (offload.states > 0) check_offloaded_states();
    const bool is_one_by_one = !training_.overlaps() && !splits_all(training_.schedule);
    if (offload.activations > 0 && (!is_one_by_one || !training_.is_flushed()))
      error("offload.activations",
            "activations of passes side by side, of split ones and of unflushed pipelines stay on the device",
            "workload.schedule.kind: 1f1b, 1f1b-interleaved or gpipe, without overlap_passes");
    if (offload.activations > 0 && training_.transformer() != nullptr) check_offloaded_layers();
  }

  // Shares are rounded to whole layers of a virtual stage, of which the largest has at least one.
  void check_offloaded_layers() {
    const double share = training_.offload.activations;
    const std::int64_t layers = std::ranges::max(training_.layers_of_stages());
    if (layers == 0 || std::llround(share * static_cast<double>(layers)) > 0) return;
    error("offload.activations",
          fmt::format("{:.3g} % of the {} layers of a virtual stage is less than half a layer", 100 * share, layers),
          fmt::format("workload.offload.activations: {} %, or more", (50 + layers - 1) / layers));
  }

  void check_offloaded_states() {
    const OffloadSpec& offload = training_.offload;
    if (has_servers())
      return error("offload.states", "servers of parameters have the optimizer's states",
                   "leave it out, or write workload.parallel.exchange: collective");
    if (offload.on_host && training_.optimizer.matrices)
      error("offload.states", "the processors of hosts do not compute products of whole matrices",
            "workload.offload.update: device");
    if (offload.on_host && !offload.host.update)
      error("offload.states", "it is not known how fast hosts update states in their memory",
            "write cluster.node.host.update, such as 117 GB/s, or workload.offload.update: device");
  }

  // Layers that a recipe leaves in bf16 are those of a transformer, and not all of them.
  void check_recipe() {
    if (!training_.recipe) return;
    const Recipe& recipe = *training_.recipe;
    const TransformerSpec* model = training_.transformer();
    if (model == nullptr)
      return error("recipe", "only layers of transformers have a recipe of low precision",
                   "leave workload.recipe out, and write workload.precision: fp8 or bf16");
    if (recipe.first + recipe.last >= model->layers)
      error("recipe",
            fmt::format("the recipe leaves {} layers in bf16, and the model has {}", recipe.first + recipe.last,
                        model->layers),
            "fewer of workload.recipe.first and workload.recipe.last, or workload.precision: bf16");
  }

  bool has_servers() const { return parallel_.exchange == ExchangeKind::kParameterServer; }
  std::int64_t servers() const { return has_servers() ? parallel_.servers : 0; }

  // False if there are more ranks than can be counted.
  bool check_ranks() {
    Int128 ranks = 1;
    for (const std::int64_t degree : parallel_.degrees) ranks *= degree;
    ranks += servers();
    if (ranks <= devices_) return true;
    std::size_t widest = 0;
    for (std::size_t i = 1; i < kParallelDimensionCount; ++i)
      if (parallel_.degrees[i] > parallel_.degrees[widest]) widest = i;
    const std::string key = fmt::format("parallel.{}", name_of(static_cast<ParallelDimension>(widest)));
    const std::string degrees = fmt::format("tensor {} x context {} x data {} x pipeline {}{}", parallel_.tensor(),
                                            parallel_.context(), parallel_.data(), parallel_.pipeline(),
                                            has_servers() ? fmt::format(" + {} servers", servers()) : "");
    if (ranks > kMostRanks) {
      error(key, fmt::format("the job has more than {} ranks ({})", kMostRanks, degrees),
            "lower the degrees of workload.parallel");
      return false;
    }
    error(key,
          fmt::format("the job has {} ranks ({}), the cluster {} device{}", static_cast<std::int64_t>(ranks), degrees,
                      devices_, devices_ == 1 ? "" : "s"),
          fmt::format("take a cluster of {} devices (raise `nodes`, or a `size` of its `dims`){}",
                      static_cast<std::int64_t>(ranks), fewer_replicas()));
    return true;
  }

  // The most replicas that the cluster has room for and nothing else speaks against.
  std::string fewer_replicas() const {
    const std::int64_t others = parallel_.workers() / parallel_.data();
    TrainingSpec other = training_;
    for (std::int64_t data = std::min((devices_ - servers()) / others, parallel_.data() - 1); data > 0; --data) {
      if (training_.global_batch % (data * training_.micro_batch) != 0) continue;
      other.parallel.degrees[static_cast<std::size_t>(ParallelDimension::kData)] = data;
      Diagnostics problems;
      Check(other, devices_, problems).run();
      if (!problems.has_errors()) return fmt::format(", or workload.parallel.data: {}", data);
    }
    return ", or lower the degrees of workload.parallel";
  }

  void check_batch() {
    if (batch_divides(training_)) return;
    const std::int64_t step = parallel_.data() * training_.micro_batch;
    error("batch.global",
          fmt::format("a global batch of {} does not divide into {} replicas of micro-batches of {}",
                      training_.global_batch, parallel_.data(), training_.micro_batch),
          fmt::format("{}, or workload.parallel.data times workload.batch.micro one of {}", batches_near(training_),
                      divisors_text(training_.global_batch, training_.global_batch, step)));
  }

  void check_sharing() {
    if (parallel_.shard > 0 && parallel_.zero == 0)
      error("parallel.shard", fmt::format("shard: {} shares nothing without zero", parallel_.shard),
            "workload.parallel.zero: 1, 2 or 3, or leave workload.parallel.shard out");
    if (parallel_.shard > 0 && parallel_.replicas() % parallel_.shard != 0)
      error("parallel.shard",
            fmt::format("{} replicas (data times context) do not divide into shards of {}", parallel_.replicas(),
                        parallel_.shard),
            divisors_of("parallel.shard", parallel_.replicas(), parallel_.replicas(), parallel_.shard));
  }

  void check_exchange() {
    if (parallel_.asynchronous && !has_servers())
      error("parallel.asynchronous", "asynchronous: true needs exchange: parameter-server",
            "workload.parallel.exchange: parameter-server");
    if (parallel_.servers > 1 && !has_servers())
      error("parallel.servers", fmt::format("servers: {} needs exchange: parameter-server", parallel_.servers),
            "workload.parallel.exchange: parameter-server, or leave workload.parallel.servers out");
    if (!has_servers()) return;
    if (parallel_.workers() != parallel_.data() || parallel_.zero > 0 || parallel_.expert > 1)
      error("parallel.exchange",
            "parameter servers serve whole replicas: no tensor, context, pipeline, expert, zero beside them",
            "leave only workload.parallel.data and servers, or write workload.parallel.exchange: collective");
    if (std::holds_alternative<DlrmSpec>(training_.model.sizes))
      error("parallel.exchange", "a recommendation model keeps its tables on the workers, not on parameter servers",
            "workload.parallel.exchange: collective");
  }

  void check_beside_training() {
    if (training_.initial_broadcast && has_servers())
      error("initial_broadcast", "parameter servers hold the parameters, which workers get from them",
            "leave it out, or write workload.parallel.exchange: collective");
    if (training_.checkpoint && has_servers())
      error("checkpoint", "parameter servers hold the parameters and optimizer states, and write no checkpoints",
            "leave it out, or write workload.parallel.exchange: collective");
    if (training_.checkpoint && training_.checkpoint->every > training_.iterations)
      error(
          "checkpoint",
          fmt::format("no checkpoint falls into the simulated iterations: one every {}, of {}",
                      training_.checkpoint->every, training_.iterations),
          fmt::format("workload.iterations: {}, or a smaller workload.checkpoint.every", training_.checkpoint->every));
    if (training_.input) {
      const Bytes most(kMostNodeBytes.count() / std::max<std::int64_t>(1, training_.global_batch));
      if (training_.input->sample > most || training_.input->decoded.value_or(Bytes(0)) > most)
        error("input", fmt::format("a batch of {} samples has more bytes than can be counted", training_.global_batch),
              "a smaller workload.input.sample, workload.input.decoded or workload.batch.global");
    }
  }

  void check_data_parallel_only() {
    for (const ParallelDimension other :
         {ParallelDimension::kTensor, ParallelDimension::kContext, ParallelDimension::kPipeline})
      if (parallel_.degree(other) > 1) refuse_parallel(name_of(other));
    if (parallel_.expert > 1) refuse_parallel("expert");
    if (parallel_.expert_tensor > 1) refuse_parallel("expert_tensor");
    if (parallel_.expert_skew > 0) refuse_parallel("expert_skew");
    if (parallel_.expert_seed != Parallelism().expert_seed) refuse_parallel("expert_seed");
    if (parallel_.sequence) refuse_parallel("sequence");
    if (parallel_.context_inner > 0) refuse_parallel("context_inner");
    if (parallel_.context_balance != ContextBalance::kZigzag) refuse_parallel("context_balance");
    if (!training_.loss.is_plain())
      error("loss", "loss changes nothing: the model has no logits of a vocabulary", "leave it out");
    if (!training_.pipeline_layers.empty() || !training_.layer_rule.is_even())
      error("pipeline_layers", "only transformers have a pipeline", "leave it out");
    if (training_.virtual_stages > 1)
      error("schedule.virtual_stages", "only transformers have a pipeline", "leave it out");
    if (training_.schedule_group > 0) error("schedule.group", "only transformers have a pipeline", "leave it out");
    if (splits_all(training_.schedule))
      error("schedule.kind", "only transformers put weight gradients off", "workload.schedule.kind: 1f1b");
    if (training_.overlap_passes)
      error("schedule.overlap_passes", "only transformers run passes side by side", "leave it out");
    if (!training_.is_flushed() || runs_pairs(training_.schedule))
      error("schedule.kind", "only transformers have a pipeline", "workload.schedule.kind: 1f1b");
    const bool is_evoformer = std::holds_alternative<EvoformerSpec>(training_.model.sizes);
    if (training_.recompute == Recompute::kSelective || (training_.recompute == Recompute::kFull && !is_evoformer))
      error("recompute", "only transformers recompute activations",
            is_evoformer ? "workload.recompute: none or full" : "workload.recompute: none");
    const ExpertSpec& experts = training_.experts;
    for (const auto& [key, is_given] : {std::pair("capacity_factor", experts.capacity > 0),
                                        {"pad_to_capacity", experts.pads},
                                        {"redundant", experts.redundant > 0},
                                        {"row_multiple", experts.row_multiple > 1}})
      if (is_given)
        error(fmt::format("experts.{}", key), fmt::format("only transformers have '{}'", key), "leave it out");
    if (training_.recompute_modules.any())
      error("recompute_modules", "only transformers recompute modules", "leave it out");
    check_samples();
  }

  void refuse_parallel(std::string_view key) {
    error(fmt::format("parallel.{}", key), fmt::format("only transformers have '{}'", key),
          "leave it out; data, zero and shard are for every model");
  }

  void check_samples() {
    const bool is_dlrm = std::holds_alternative<DlrmSpec>(training_.model.sizes);
    constexpr std::int64_t kMostSamples = 1 << 18, kMostSamplesOfAll = 1 << 26;
    const std::int64_t most = is_dlrm ? std::min(kMostSamples, kMostSamplesOfAll / parallel_.data()) : kMostSamples;
    if (training_.micro_batch > most)
      error("batch.micro", fmt::format("{} samples at once are too many", training_.micro_batch),
            fmt::format("workload.batch.micro: at most {}", most));
    if (is_dlrm && batch_divides(training_) && training_.micro_batches() != 1)
      error("batch.micro",
            fmt::format("a recommendation model takes its whole batch at once, not in {} micro-batches",
                        training_.micro_batches()),
            fmt::format("workload.batch.micro: {}", training_.global_batch / parallel_.data()));
  }

  const TrainingSpec& training_;
  const Parallelism& parallel_;
  const std::int64_t devices_;
  Diagnostics& diagnostics_;
};

}  // namespace

// The divisors of `of` up to `most`, those about `wanted` if they are many.
std::string divisors_text(std::int64_t of, std::int64_t most, std::int64_t wanted) {
  constexpr std::size_t kShown = 12;
  std::vector<std::int64_t> small, divisors;
  for (std::int64_t d = 1; d * d <= of; ++d)
    if (of % d == 0) small.push_back(d);
  divisors = small;
  for (auto d = small.rbegin(); d != small.rend(); ++d)
    if (*d * *d != of) divisors.push_back(of / *d);
  std::erase_if(divisors, [&](std::int64_t d) { return d > most; });
  if (divisors.size() <= kShown) return fmt::format("{}", fmt::join(divisors, ", "));
  const auto above = static_cast<std::size_t>(std::ranges::lower_bound(divisors, wanted) - divisors.begin());
  const std::size_t first = std::min(divisors.size() - kShown, above < kShown / 2 ? 0 : above - kShown / 2);
  return fmt::format("{}", fmt::join(std::span(divisors).subspan(first, kShown), ", "));
}

std::string divisors_of(std::string_view key, std::int64_t of, std::int64_t most, std::int64_t wanted) {
  const std::string divisors = divisors_text(of, most, wanted);
  return fmt::format("workload.{}: {}{}", key, divisors.find(',') == std::string::npos ? "" : "one of ", divisors);
}

bool batch_divides(const TrainingSpec& training) {
  return training.global_batch % (training.parallel.data() * training.micro_batch) == 0;
}

std::int64_t batch_unit(const TrainingSpec& training) {
  const bool interleaves = training.schedule == ScheduleKind::kInterleaved && training.virtual_stages > 1;
  return training.parallel.data() * training.micro_batch * (interleaves ? training.group() : 1);
}

std::string batches_near(const TrainingSpec& training) {
  const std::int64_t unit = batch_unit(training);
  const std::int64_t below = training.global_batch / unit * unit;
  return fmt::format("workload.batch.global: {}{}", below > 0 ? fmt::format("{} or ", below) : "", below + unit);
}

void check_training(const TrainingSpec& training, std::int64_t devices, Diagnostics& diagnostics) {
  Check(training, devices, diagnostics).run();
}

}  // namespace orrery::workload
