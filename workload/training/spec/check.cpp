// What cannot be: every combination of a training job's numbers that has no meaning, each with what would work.
#include <algorithm>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/units.h"
#include "workload/training/spec/check.h"

namespace orrery {
namespace {

// As many ranks as a fabric may have devices.
constexpr std::int64_t kMostRanks = 1 << 24;

class Check {
 public:
  Check(const TrainingSpec& training, std::int64_t devices, Diagnostics& diagnostics)
      : training_(training), parallel_(training.parallel), devices_(devices), diagnostics_(diagnostics) {}

  void run() {
    if (!check_ranks()) return;
    check_batch();
    check_sharing();
    check_exchange();
    if (training_.transformer() != nullptr) {
      check_transformer(training_, diagnostics_);
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
    const std::string degrees = fmt::format("tensor {} x context {} x data {} x pipeline {}{}", parallel_.tensor(),
                                            parallel_.context(), parallel_.data(), parallel_.pipeline(),
                                            has_servers() ? fmt::format(" + {} servers", servers()) : "");
    if (ranks > kMostRanks) {
      error(key, fmt::format("the job has more than {} ranks ({})", kMostRanks, degrees), "lower degrees");
      return false;
    }
    error(key,
          fmt::format("the job has {} ranks ({}), the cluster {} device{}", static_cast<std::int64_t>(ranks), degrees,
                      devices_, devices_ == 1 ? "" : "s"),
          fmt::format("take a cluster of {} devices (raise `nodes`){}", static_cast<std::int64_t>(ranks),
                      fewer_replicas()));
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

  void check_batch() {
    if (batch_divides(training_)) return;
    const std::int64_t step = parallel_.data() * training_.micro_batch;
    error("batch.global",
          fmt::format("a global batch of {} does not divide into {} replicas of micro-batches of {}",
                      training_.global_batch, parallel_.data(), training_.micro_batch),
          fmt::format("{}, or data times micro one of {}", batches_near(training_),
                      divisors_text(training_.global_batch, training_.global_batch, step)));
  }

  void check_sharing() {
    if (parallel_.shard > 0 && parallel_.zero == 0)
      error("parallel.shard", fmt::format("shard: {} shares nothing without zero", parallel_.shard),
            "add zero: 1, 2 or 3, or leave shard out");
    if (parallel_.shard > 0 && parallel_.replicas() % parallel_.shard != 0)
      error(
          "parallel.shard",
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
      error("parallel.exchange",
            "parameter servers serve whole replicas: no tensor, context, pipeline, expert, zero beside them",
            "leave only data and servers, or write exchange: collective");
    if (std::holds_alternative<DlrmSpec>(training_.model.sizes))
      error("parallel.exchange", "a recommendation model keeps its tables on the workers, not on parameter servers",
            "exchange: collective");
  }

  void check_data_parallel_only() {
    for (const ParallelDimension other :
         {ParallelDimension::kTensor, ParallelDimension::kContext, ParallelDimension::kPipeline})
      if (parallel_.degree(other) > 1) refuse_parallel(name_of(other));
    if (parallel_.expert > 1) refuse_parallel("expert");
    if (parallel_.expert_skew > 0) refuse_parallel("expert_skew");
    if (parallel_.sequence) refuse_parallel("sequence");
    if (!training_.pipeline_layers.empty())
      error("pipeline_layers", "only transformers have a pipeline", "leave it out");
    if (training_.virtual_stages > 1)
      error("schedule.virtual_stages", "only transformers have a pipeline", "leave it out");
    if (training_.schedule == ScheduleKind::kZeroBubble)
      error("schedule.kind", "only transformers put weight gradients off", "schedule.kind: 1f1b");
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
    if (is_dlrm && batch_divides(training_) && training_.micro_batches() != 1)
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

bool batch_divides(const TrainingSpec& training) {
  return training.global_batch % (training.parallel.data() * training.micro_batch) == 0;
}

std::int64_t batch_unit(const TrainingSpec& training) {
  const bool interleaves = training.schedule == ScheduleKind::kInterleaved && training.virtual_stages > 1;
  return training.parallel.data() * training.micro_batch * (interleaves ? training.parallel.pipeline() : 1);
}

std::string batches_near(const TrainingSpec& training) {
  const std::int64_t unit = batch_unit(training);
  const std::int64_t below = training.global_batch / unit * unit;
  return fmt::format("batch.global: {}{}", below > 0 ? fmt::format("{} or ", below) : "", below + unit);
}

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

PipelineShape pipeline_shape(const TrainingSpec& training) {
  return {training.schedule, static_cast<std::uint32_t>(training.parallel.pipeline()),
          static_cast<std::uint32_t>(training.virtual_stages), static_cast<std::uint32_t>(training.micro_batches())};
}

AttentionKind attention_of(const TrainingSpec& training) {
  return training.transformer()->attention.value_or(training.software.attention);
}

void check_training(const TrainingSpec& training, std::int64_t devices, Diagnostics& diagnostics) {
  Check(training, devices, diagnostics).run();
}

}  // namespace orrery
