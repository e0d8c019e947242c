// What cannot be: every combination of a training job's numbers that has no meaning, each with what would work.
#include <algorithm>
#include <cstddef>
#include <numeric>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "core/units.h"
#include "workload/training/training_size.h"
#include "workload/training/training_spec.h"

namespace orrery {
namespace {

// As many ranks as a fabric may have devices.
constexpr std::int64_t kMostRanks = 1 << 24;

// The divisors of `of` up to `most`, those about `wanted` if they are many.
std::string divisors_text(std::int64_t of, std::int64_t most, std::int64_t wanted = 1) {
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

class Check {
 public:
  Check(const TrainingSpec& training, std::int64_t devices, Diagnostics& diagnostics)
      : training_(training), parallel_(training.parallel), devices_(devices), diagnostics_(diagnostics) {}

  void run() {
    if (!check_ranks()) return;
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
    if (parallel_.ranks() <= devices_) check_training_size(training_, diagnostics_);
  }

 private:
  void error(std::string_view key, std::string message, std::string hint) {
    diagnostics_.error(training_.where_of(key), std::move(message), std::move(hint));
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
    const std::string degrees =
        fmt::format("tensor {} x context {} x data {} x pipeline {}{}", parallel_.tensor(), parallel_.context(),
                    parallel_.data(), parallel_.pipeline(), has_servers() ? fmt::format(" + {} servers", servers()) : "");
    if (ranks > kMostRanks) {
      error(key, fmt::format("the job has more than {} ranks ({})", kMostRanks, degrees), "lower degrees");
      return false;
    }
    error(key,
          fmt::format("the job has {} ranks ({}), the cluster {} device{}", static_cast<std::int64_t>(ranks), degrees,
                      devices_, devices_ == 1 ? "" : "s"),
          fmt::format("take a cluster of {} devices (raise `nodes`){}", static_cast<std::int64_t>(ranks), fewer_replicas()));
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
      if (!problems.has_errors()) return fmt::format(", or parallel.data: {}", data);
    }
    return ", or lower the degrees";
  }

  // Sequences that a step of the schedule takes from all replicas: the interleaved one takes a micro-batch per stage.
  std::int64_t batch_unit() const {
    const bool interleaves = training_.schedule == ScheduleKind::kInterleaved && training_.virtual_stages > 1;
    return parallel_.data() * training_.micro_batch * (interleaves ? parallel_.pipeline() : 1);
  }

  std::string batches_near() const {
    const std::int64_t below = training_.global_batch / batch_unit() * batch_unit();
    return fmt::format("batch.global: {}{}", below > 0 ? fmt::format("{} or ", below) : "", below + batch_unit());
  }

  bool batch_divides() const { return training_.global_batch % (parallel_.data() * training_.micro_batch) == 0; }

  void check_batch() {
    if (batch_divides()) return;
    const std::int64_t step = parallel_.data() * training_.micro_batch;
    error("batch.global",
          fmt::format("a global batch of {} does not divide into {} replicas of micro-batches of {}",
                      training_.global_batch, parallel_.data(), training_.micro_batch),
          fmt::format("{}, or data times micro one of {}", batches_near(),
                      divisors_text(training_.global_batch, training_.global_batch, step)));
  }

  void check_sharing() {
    if (parallel_.shard > 0 && parallel_.zero == 0)
      error("parallel.shard", fmt::format("shard: {} shares nothing without zero", parallel_.shard),
            "add zero: 1, 2 or 3, or leave shard out");
    if (parallel_.shard > 0 && parallel_.replicas() % parallel_.shard != 0)
      error("parallel.shard",
            fmt::format("{} replicas (data times context) do not divide into shards of {}", parallel_.replicas(),
                        parallel_.shard),
            fmt::format("shard: one of {}", divisors_text(parallel_.replicas(), parallel_.replicas(), parallel_.shard)));
  }

  void check_exchange() {
    if (parallel_.asynchronous && !has_servers())
      error("parallel.asynchronous", "asynchronous: true needs somebody to hold the parameters",
            "add exchange: parameter-server");
    if (parallel_.servers > 1 && !has_servers())
      error("parallel.servers", fmt::format("servers: {} serve nobody", parallel_.servers),
            "add exchange: parameter-server, or leave servers out");
    if (!has_servers()) return;
    if (parallel_.workers() != parallel_.data() || parallel_.zero > 0 || parallel_.expert > 1)
      error("parallel.exchange", "parameter servers serve whole replicas: no tensor, context, pipeline, expert, zero beside them",
            "leave only data and servers, or write exchange: collective");
    if (std::holds_alternative<DlrmSpec>(training_.model.sizes))
      error("parallel.exchange", "a recommendation model keeps its tables on the workers, not on parameter servers",
            "exchange: collective");
  }

  void check_divides(std::int64_t count, const char* what, const char* key) {
    if (count % parallel_.tensor() == 0) return;
    error("parallel.tensor",
          fmt::format("{} {} do not divide among {} tensor-parallel ranks", count, what, parallel_.tensor()),
          fmt::format("tensor: one of {} ({})", divisors_text(count, 1024, parallel_.tensor()), key));
  }

  void check_heads(const TransformerSpec& model) {
    check_divides(model.heads, "attention heads", "the divisors of heads");
    check_divides(model.ffn_hidden, "columns of the perceptron", "the divisors of ffn_hidden");
    if (model.kv_heads % parallel_.tensor() != 0 && parallel_.tensor() % model.kv_heads != 0)
      error("parallel.tensor",
            fmt::format("{} heads of keys and values neither divide among {} tensor-parallel ranks nor repeat evenly",
                        model.kv_heads, parallel_.tensor()),
            fmt::format("tensor: one of {}, or a multiple of {}", divisors_text(model.kv_heads, 1024), model.kv_heads));
  }

  void check_sequence(const TransformerSpec& model) {
    if (model.sequence % parallel_.context() != 0)
      return error("parallel.context",
                   fmt::format("a sequence of {} tokens does not divide among {} context-parallel ranks", model.sequence,
                               parallel_.context()),
                   fmt::format("context: one of {}", divisors_text(model.sequence, 1024, parallel_.context())));
    const std::int64_t tokens = training_.micro_batch * model.sequence / parallel_.context();
    if (parallel_.sequence && tokens % parallel_.tensor() != 0)
      error("parallel.sequence",
            fmt::format("sequence parallelism: {} tokens of a micro-batch do not divide among {} tensor-parallel ranks",
                        tokens, parallel_.tensor()),
            fmt::format("sequence: false, or tensor: one of {}", divisors_text(tokens, 1024, parallel_.tensor())));
  }

  std::string stages_text() const {
    if (training_.virtual_stages == 1) return fmt::format("{} stages", parallel_.pipeline());
    return fmt::format("{} stages of {} chunks", parallel_.pipeline(), training_.virtual_stages);
  }

  void check_layers(const TransformerSpec& model) {
    const std::int64_t stages = parallel_.pipeline() * training_.virtual_stages;
    const std::vector<std::int64_t>& list = training_.pipeline_layers;
    if (list.empty()) {
      if (model.layers % stages == 0) return;
      return error("parallel.pipeline", fmt::format("{} layers do not divide among {}", model.layers, stages_text()),
                   fmt::format("{}: one of {}, or workload.pipeline_layers: {}",
                               training_.virtual_stages == 1 ? "pipeline" : "pipeline times virtual_stages",
                               divisors_text(model.layers, 1024, stages), split_text(model.layers, stages)));
    }
    std::int64_t sum = 0;
    for (const std::int64_t layers : list) sum += layers;
    if (static_cast<std::int64_t>(list.size()) == stages && sum == model.layers) return;
    error("pipeline_layers",
          fmt::format("pipeline_layers lists {} stage{} with {} layers in all; the job has {} with {}", list.size(),
                      list.size() == 1 ? "" : "s", sum, stages_text(), model.layers),
          fmt::format("for example pipeline_layers: {}", split_text(model.layers, stages)));
  }

  // As even as can be, the longer ones in the middle: the first and last stage have the embedding and the head.
  static std::string split_text(std::int64_t layers, std::int64_t stages) {
    constexpr std::int64_t kShown = 64;
    if (stages > kShown) return fmt::format("a list of {} numbers with a sum of {}", stages, layers);
    std::vector<std::int64_t> split(static_cast<std::size_t>(stages), layers / stages);
    const std::int64_t more = layers % stages;
    for (std::int64_t i = 0; i < more; ++i) ++split[static_cast<std::size_t>((stages - more) / 2 + i)];
    return fmt::format("[{}]", fmt::join(split, ", "));
  }

  void check_experts(const TransformerSpec& model) {
    const std::int64_t expert = parallel_.expert;
    if (parallel_.expert_skew > 0 && (model.experts == 0 || expert == 1))
      error("parallel.expert_skew", "expert_skew changes nothing: experts are not spread over ranks",
            model.experts == 0 ? "leave it out" : "leave it out, or give expert, the ranks that share the experts");
    if (model.experts == 0) {
      if (expert > 1)
        error("parallel.expert", fmt::format("expert: {}, but the model has no experts", expert),
              "leave it out, or take a model with experts");
      return;
    }
    const std::int64_t possible = std::gcd(model.experts, parallel_.replicas());
    const std::string hint = fmt::format("expert: one of {}", divisors_text(possible, 4096, expert));
    if (model.experts % expert != 0)
      error("parallel.expert", fmt::format("{} experts do not divide among {} expert-parallel ranks", model.experts, expert),
            hint);
    if (parallel_.replicas() % expert != 0)
      error("parallel.expert",
            fmt::format("expert: {} does not divide the {} ranks of data times context", expert, parallel_.replicas()), hint);
    check_divides(model.expert_hidden, "columns of an expert", "the divisors of expert_hidden");
    if (parallel_.tensor() > 1 && !parallel_.sequence)
      error("parallel.sequence", "experts with tensor parallelism need sequence parallelism, else every rank routes every token",
            "add sequence: true to parallel");
    if (parallel_.shard > 0)
      error("parallel.shard", "hybrid sharding of a model with experts is not supported", "leave shard out");
  }

  void check_schedule() {
    if (training_.virtual_stages > 1 && training_.schedule != ScheduleKind::kInterleaved)
      error("schedule.virtual_stages",
            fmt::format("virtual_stages: {} has no meaning for the schedule {}", training_.virtual_stages,
                        name_of(training_.schedule)),
            "write kind: 1f1b-interleaved beside it, or virtual_stages: 1");
    if (training_.schedule != ScheduleKind::kInterleaved || training_.virtual_stages == 1) return;
    if (parallel_.pipeline() == 1)
      error("schedule.virtual_stages", "interleaving needs more than one pipeline stage",
            "leave virtual_stages out, or raise parallel.pipeline");
    else if (batch_divides() && training_.global_batch % batch_unit() != 0)
      error("batch.global",
            fmt::format("interleaving takes micro-batches {} at a time (one for each stage), and {} do not divide so",
                        parallel_.pipeline(), training_.micro_batches()),
            fmt::format("{}, or schedule: {{kind: 1f1b}}", batches_near()));
  }

  void check_data_parallel_only() {
    for (const ParallelDimension other :
         {ParallelDimension::kTensor, ParallelDimension::kContext, ParallelDimension::kPipeline})
      if (parallel_.degree(other) > 1) refuse_parallel(name_of(other));
    if (parallel_.expert > 1) refuse_parallel("expert");
    if (parallel_.expert_skew > 0) refuse_parallel("expert_skew");
    if (parallel_.sequence) refuse_parallel("sequence");
    if (!training_.pipeline_layers.empty()) error("pipeline_layers", "only transformers have a pipeline", "leave it out");
    if (training_.virtual_stages > 1)
      error("schedule.virtual_stages", "only transformers have a pipeline", "leave it out");
    if (training_.schedule == ScheduleKind::kZeroBubble)
      error("schedule.kind", "only transformers put weight gradients off", "schedule: {kind: 1f1b}");
    if (training_.recompute != Recompute::kNone)
      error("recompute", "only transformers recompute activations", "recompute: none");
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
            fmt::format("batch.micro: at most {}", most));
    if (is_dlrm && batch_divides() && training_.micro_batches() != 1)
      error("batch.micro",
            fmt::format("a recommendation model takes its whole batch at once, not in {} micro-batches",
                        training_.micro_batches()),
            fmt::format("batch.micro: {}", training_.global_batch / parallel_.data()));
  }

  const TrainingSpec& training_;
  const Parallelism& parallel_;
  const std::int64_t devices_;
  Diagnostics& diagnostics_;
};

}  // namespace

const Location& TrainingSpec::where_of(std::string_view path) const {
  const auto found = locations.find(path);
  return found == locations.end() ? where : found->second;
}

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
