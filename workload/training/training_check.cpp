// What cannot be: every combination of a training job's numbers that has no meaning, each with what would work.
#include <algorithm>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "workload/training/training_size.h"
#include "workload/training/training_spec.h"

namespace orrery {
namespace {

// The first dozen.
std::string divisors_text(std::int64_t of, std::int64_t most) {
  constexpr std::int64_t kMostTried = 1 << 20;
  std::vector<std::int64_t> divisors;
  for (std::int64_t d = 1; d <= std::min({of, most, kMostTried}) && divisors.size() < 12; ++d)
    if (of % d == 0) divisors.push_back(d);
  return fmt::format("{}", fmt::join(divisors, ", "));
}

class Check {
 public:
  Check(const TrainingSpec& training, std::int64_t devices, Diagnostics& diagnostics)
      : training_(training), parallel_(training.parallel), devices_(devices), diagnostics_(diagnostics) {}

  void run() {
    check_ranks();
    check_batch();
    check_sharing();
    check_exchange();
    if (const TransformerSpec* model = training_.transformer()) {
      check_heads(*model);
      check_sequence(*model);
      check_layers(*model);
      check_experts(*model);
      check_schedule();
    } else {
      check_data_parallel_only();
    }
    if (has_devices()) check_training_size(training_, diagnostics_);
  }

 private:
  void parallel_error(std::string message, std::string hint) {
    diagnostics_.error(training_.parallel_where, std::move(message), std::move(hint));
  }

  std::int64_t servers() const { return parallel_.exchange == ExchangeKind::kParameterServer ? parallel_.servers : 0; }
  // Ranks of one replica. Degrees that are each in bounds may make more than 64 bits hold.
  Int128 others() const { return Int128{parallel_.tensor()} * parallel_.context() * parallel_.pipeline(); }
  bool has_devices() const { return others() * parallel_.data() + servers() <= devices_; }

  void check_ranks() {
    if (has_devices()) return;
    const Int128 fits = (devices_ - servers()) / others();
    const std::string smaller = fits > 0 ? fmt::format(", or parallel.data: {}", static_cast<std::int64_t>(fits))
                                         : std::string(", or lower tensor, context or pipeline");
    constexpr Int128 kMostPrinted = std::int64_t{1} << 62;
    const Int128 all = others() * parallel_.data() + servers();
    const std::string ranks = all > kMostPrinted ? fmt::format("{:.1e}", static_cast<double>(all))
                                                 : fmt::format("{}", static_cast<std::int64_t>(all));
    parallel_error(
        fmt::format("the job has {} ranks (tensor {} x context {} x data {} x pipeline {}{}), the cluster {} devices",
                    ranks, parallel_.tensor(), parallel_.context(), parallel_.data(), parallel_.pipeline(),
                    servers() > 0 ? fmt::format(" + {} servers", servers()) : "", devices_),
        fmt::format("take a cluster of {} devices (more nodes){}", ranks, smaller));
  }

  void check_batch() {
    const std::int64_t step = parallel_.data() * training_.micro_batch;
    const std::int64_t global = training_.global_batch;
    if (global % step == 0) return;
    const std::int64_t below = global / step * step;
    diagnostics_.error(
        training_.batch_where,
        fmt::format("a global batch of {} does not divide into {} replicas of micro-batches of {}", global,
                    parallel_.data(), training_.micro_batch),
        fmt::format("batch.global: {}{}, or data times micro one of {}", below > 0 ? fmt::format("{} or ", below) : "",
                    below + step, divisors_text(global, global)));
  }

  void check_sharing() {
    if (parallel_.shard > 0 && parallel_.zero == 0)
      parallel_error(fmt::format("shard: {} shares nothing without zero", parallel_.shard), "add zero: 1, 2 or 3");
    if (parallel_.shard > 0 && parallel_.replicas() % parallel_.shard != 0)
      parallel_error(fmt::format("{} replicas (data times context) do not divide into shards of {}",
                                 parallel_.replicas(), parallel_.shard),
                     fmt::format("shard: one of {}", divisors_text(parallel_.replicas(), parallel_.replicas())));
  }

  void check_exchange() {
    const bool servers = parallel_.exchange == ExchangeKind::kParameterServer;
    if (parallel_.asynchronous && !servers)
      parallel_error("asynchronous: true needs somebody to hold the parameters", "add exchange: parameter-server");
    if (!servers) return;
    if (others() > 1 || parallel_.zero > 0 || parallel_.expert > 1)
      parallel_error(
          "parameter servers serve whole replicas: no tensor, context, pipeline, expert parallelism, no zero",
          "leave data alone, or exchange: collective");
    if (std::holds_alternative<DlrmSpec>(training_.model.sizes))
      parallel_error("a recommendation model keeps its tables on the workers, not on parameter servers",
                     "exchange: collective");
  }

  void check_divides(std::int64_t count, const char* what, const char* key) {
    if (count % parallel_.tensor() == 0) return;
    parallel_error(fmt::format("{} {} do not divide among {} tensor-parallel ranks", count, what, parallel_.tensor()),
                   fmt::format("tensor: one of {} ({})", divisors_text(count, 1024), key));
  }

  void check_heads(const TransformerSpec& model) {
    check_divides(model.heads, "attention heads", "the divisors of heads");
    check_divides(model.ffn_hidden, "columns of the perceptron", "the divisors of ffn_hidden");
    if (model.kv_heads % parallel_.tensor() != 0 && parallel_.tensor() % model.kv_heads != 0)
      parallel_error(
          fmt::format("{} heads of keys and values neither divide among {} tensor-parallel ranks nor repeat evenly",
                      model.kv_heads, parallel_.tensor()),
          fmt::format("tensor: one of {}, or a multiple of {}", divisors_text(model.kv_heads, 1024), model.kv_heads));
  }

  void check_sequence(const TransformerSpec& model) {
    if (model.sequence % parallel_.context() != 0)
      return parallel_error(fmt::format("a sequence of {} tokens does not divide among {} context-parallel ranks",
                                        model.sequence, parallel_.context()),
                            fmt::format("context: one of {}", divisors_text(model.sequence, 1024)));
    const std::int64_t tokens = training_.micro_batch * model.sequence / parallel_.context();
    if (parallel_.sequence && tokens % parallel_.tensor() != 0)
      parallel_error(
          fmt::format("sequence parallelism: {} tokens of a micro-batch do not divide among {} tensor-parallel ranks",
                      tokens, parallel_.tensor()),
          fmt::format("tensor: one of {}, or sequence: false", divisors_text(tokens, 1024)));
  }

  void check_layers(const TransformerSpec& model) {
    const std::int64_t stages = parallel_.pipeline() * training_.virtual_stages;
    const std::string what = training_.virtual_stages > 1
                                 ? fmt::format("{} stages of {} chunks", parallel_.pipeline(), training_.virtual_stages)
                                 : fmt::format("{} stages", stages);
    const std::vector<std::int64_t>& list = training_.pipeline_layers;
    if (list.empty()) {
      if (model.layers % stages == 0) return;
      return diagnostics_.error(
          training_.parallel_where, fmt::format("{} layers do not divide among {}", model.layers, what),
          fmt::format("pipeline: a divisor of {} ({}), or workload.pipeline_layers: {}", model.layers,
                      divisors_text(model.layers, 1024), split_text(model.layers, stages)));
    }
    std::int64_t sum = 0;
    for (const std::int64_t layers : list) sum += layers;
    if (static_cast<std::int64_t>(list.size()) == stages && sum == model.layers) return;
    diagnostics_.error(training_.where,
                       fmt::format("pipeline_layers has {} stages with {} layers in all, the job {} with {}",
                                   list.size(), sum, what, model.layers),
                       fmt::format("for example pipeline_layers: {}", split_text(model.layers, stages)));
  }

  // As even as can be, the longer ones in the middle: the first and last stage have the embedding and the head.
  static std::string split_text(std::int64_t layers, std::int64_t stages) {
    if (stages > 64) return fmt::format("{} numbers with a sum of {}", stages, layers);
    std::vector<std::int64_t> split(static_cast<std::size_t>(stages), layers / stages);
    const std::int64_t more = layers % stages;
    for (std::int64_t i = 0; i < more; ++i) ++split[static_cast<std::size_t>((stages - more) / 2 + i)];
    return fmt::format("[{}]", fmt::join(split, ", "));
  }

  void check_experts(const TransformerSpec& model) {
    const std::int64_t expert = parallel_.expert;
    if (model.experts == 0) {
      if (expert > 1)
        parallel_error(fmt::format("expert: {}, but the model has no experts", expert),
                       "expert: 1, or a model with experts");
      return;
    }
    if (model.experts % expert != 0)
      parallel_error(fmt::format("{} experts do not divide among {} expert-parallel ranks", model.experts, expert),
                     fmt::format("expert: one of {}", divisors_text(model.experts, 4096)));
    if (parallel_.replicas() % expert != 0)
      parallel_error(
          fmt::format("expert: {} does not divide the {} ranks of data times context", expert, parallel_.replicas()),
          fmt::format("expert: one of {}", divisors_text(parallel_.replicas(), 4096)));
    check_divides(model.expert_hidden, "columns of an expert", "the divisors of expert_hidden");
    if (parallel_.tensor() > 1 && !parallel_.sequence)
      parallel_error("experts with tensor parallelism need sequence parallelism, else every rank routes every token",
                     "add sequence: true");
    if (parallel_.shard > 0)
      parallel_error("hybrid sharding of a model with experts is not supported", "leave out shard");
  }

  void check_schedule() {
    const std::int64_t micro_batches = training_.micro_batches();
    if (training_.virtual_stages > 1 && training_.schedule != ScheduleKind::kInterleaved)
      diagnostics_.error(training_.where,
                         fmt::format("virtual_stages: {} has no meaning for the schedule {}", training_.virtual_stages,
                                     name_of(training_.schedule)),
                         "schedule: {kind: 1f1b-interleaved, ...}, or virtual_stages: 1");
    if (training_.schedule != ScheduleKind::kInterleaved || training_.virtual_stages == 1) return;
    if (parallel_.pipeline() == 1)
      diagnostics_.error(training_.where, "interleaving needs more than one pipeline stage", "schedule.kind: 1f1b");
    else if (micro_batches % parallel_.pipeline() != 0 &&
             training_.global_batch % (parallel_.data() * training_.micro_batch) == 0)
      diagnostics_.error(
          training_.batch_where,
          fmt::format("interleaving takes micro-batches {} at a time (one for each stage), and {} do not divide so",
                      parallel_.pipeline(), micro_batches),
          fmt::format("batch.global: a multiple of {}, or schedule.kind: 1f1b",
                      parallel_.pipeline() * parallel_.data() * training_.micro_batch));
  }

  void check_data_parallel_only() {
    if (others() > 1 || parallel_.expert > 1 || parallel_.sequence)
      parallel_error("only transformers have tensor, context, pipeline and expert parallelism",
                     "leave only data (and zero) for this model");
    if (!training_.pipeline_layers.empty() || training_.virtual_stages > 1)
      diagnostics_.error(training_.where, "only transformers have a pipeline",
                         "leave out pipeline_layers and virtual_stages");
    if (training_.schedule == ScheduleKind::kZeroBubble)
      diagnostics_.error(training_.where, "only transformers put weight gradients off", "schedule.kind: 1f1b");
    if (training_.recompute != Recompute::kNone)
      diagnostics_.error(training_.where, "only transformers recompute activations", "recompute: none");
    const auto* dlrm = std::get_if<DlrmSpec>(&training_.model.sizes);
    constexpr std::int64_t kMostSamples = 1 << 18, kMostSamplesOfAll = 1 << 26;
    if (training_.micro_batch > kMostSamples ||
        (dlrm != nullptr && training_.micro_batch > kMostSamplesOfAll / parallel_.data()))
      diagnostics_.error(
          training_.batch_where, fmt::format("{} samples at once are too many", training_.micro_batch),
          fmt::format("batch.micro: at most {}",
                      dlrm == nullptr ? kMostSamples : std::min(kMostSamples, kMostSamplesOfAll / parallel_.data())));
    if (dlrm != nullptr && training_.micro_batches() != 1 &&
        training_.global_batch % (parallel_.data() * training_.micro_batch) == 0)
      diagnostics_.error(training_.batch_where,
                         fmt::format("a recommendation model takes its whole batch at once, not {} micro-batches",
                                     training_.micro_batches()),
                         fmt::format("batch.micro: {}", training_.global_batch / parallel_.data()));
  }

  const TrainingSpec& training_;
  const Parallelism& parallel_;
  const std::int64_t devices_;
  Diagnostics& diagnostics_;
};

}  // namespace

std::vector<std::int64_t> TrainingSpec::layers_of_stages() const {
  if (!pipeline_layers.empty()) return pipeline_layers;
  const TransformerSpec* sizes = transformer();
  if (sizes == nullptr) return {1};
  const std::int64_t stages = parallel.pipeline() * virtual_stages;
  return std::vector<std::int64_t>(static_cast<std::size_t>(stages), sizes->layers / stages);
}

void check_training(const TrainingSpec& training, std::int64_t devices, Diagnostics& diagnostics) {
  Check(training, devices, diagnostics).run();
}

}  // namespace orrery
