#include "workload/training/spec/check.h"

#include <algorithm>

#include <fmt/format.h>

namespace orrery {
namespace {

// One operation takes about 170 bytes when it is generated, so that no job takes more than 17 GB; the bound is two to
// fifteen times what there are.
constexpr double kMostOperations = 1e8;

// What sums of a few may reach and still fit 64 bits.
constexpr double kMostCount = 2e18;

double real(std::int64_t count) { return static_cast<double>(count); }

// Per token, in units of values: what a layer keeps or moves, and the products it takes.
struct TokenWork {
  double values = 0;
  double products = 0;
};

TokenWork token_work(const TrainingSpec& training, const TransformerSpec& model) {
  const double hidden = real(model.hidden), inner = 3 * real(model.ffn_hidden), vocab = real(model.vocab);
  const double heads = real(model.heads);
  double head = real(model.head_size), ranks = 0;
  if (model.latent) {
    head = real(model.latent->head + model.latent->rotary_head + model.latent->value_head);
    ranks = real(model.latent->query_rank + model.latent->key_value_rank + model.latent->rotary_head);
  }
  const double busiest = training.parallel.expert_skew > 0 ? real(training.parallel.expert) : 1;
  const double copies = real(model.experts_per_token) * busiest + real(model.shared_experts);
  const double expert = 3 * real(model.expert_hidden);
  TokenWork work;
  work.values =
      4 * hidden + inner + vocab + 6 * heads * head + ranks + copies * (hidden + expert) + real(model.experts);
  work.products = hidden * (inner + vocab + 4 * heads * head + ranks + copies * expert + real(model.experts)) +
                  2 * ranks * heads * head;
  return work;
}

// Gradients exchanged together, bucket by bucket.
double exchanges(const TrainingSpec& training) {
  const double bucket = real(std::max<std::int64_t>(1, training.software.bucket.count() / 4));
  const double once = training.software.overlap_gradients ? real(parameter_count(training.model)) / bucket + 2 : 2;
  if (training.parallel.exchange != ExchangeKind::kParameterServer)
    return 2 * once * (training.parallel.zero >= 2 ? real(training.micro_batches()) : 1);
  const double pushes = std::max(once, real(training.parallel.servers));
  return (pushes + 3 * real(training.parallel.servers)) * (1 + real(training.parallel.data()));
}

double layers_of(const TrainingSpec& training) {
  if (const TransformerSpec* model = training.transformer())
    return real(model->layers + training.parallel.pipeline() * training.virtual_stages);
  double layers = 3;
  if (const auto* dlrm = std::get_if<DlrmSpec>(&training.model.sizes))
    layers += real(static_cast<std::int64_t>(dlrm->bottom.size() + dlrm->top.size()));
  if (const auto* convolutional = std::get_if<ConvolutionalSpec>(&training.model.sizes))
    for (const Convolution& c : convolutional->convolutions) layers += real(c.repeat);
  return layers;
}

void check_work(const TrainingSpec& training, const TransformerSpec& model, Diagnostics& diagnostics) {
  const Parallelism& parallel = training.parallel;
  const double tokens = real(training.micro_batch) * real(model.sequence) / real(parallel.context());
  const double head = model.latent ? real(model.latent->head + model.latent->rotary_head + model.latent->value_head)
                                   : real(model.head_size);
  const double scores = tokens * real(model.heads) * real(model.sequence);
  const TokenWork work = token_work(training, model);
  const double rows = tokens + real(model.experts);  // an expert without tokens has a row of padding
  const double flops = 8 * rows * work.products + 20 * scores * head;
  const bool keeps_scores = attention_of(training) == AttentionKind::kPlain;
  const double kept = (16 * rows * work.values + (keeps_scores ? 16 * scores : 0)) * layers_of(training);
  if (flops > kMostCount || kept > kMostCount)
    return diagnostics.error(training.where_of("batch.micro"),
                             fmt::format("a micro-batch of {:.3g} tokens makes more work than can be counted", tokens),
                             "a smaller batch.micro or model.sequence, or more context parallelism");
  const std::int64_t micro_batches = std::max<std::int64_t>(1, training.micro_batches());
  if (kept * real(micro_batches) > kMostCount && operations_of(training) <= kMostOperations)
    diagnostics.error(training.where_of("batch.global"),
                      fmt::format("{} micro-batches keep more bytes than can be counted", micro_batches),
                      "a smaller batch.global");
}

void check_parameters(const TrainingSpec& training, Diagnostics& diagnostics) {
  const SoftwareSpec& software = training.software;
  const double each = 40 + real(software.optimizer.count()) + real(software.accumulation.count());
  const double workers =
      training.parallel.exchange == ExchangeKind::kParameterServer ? real(training.parallel.data()) : 1;
  if (each * workers * real(parameter_count(training.model)) > kMostCount)
    diagnostics.error(
        training.where_of("model"), "the parameters' gradients and updates are more bytes than can be counted",
        "fewer workers of the parameter servers, or less of software.optimizer and software.accumulation");
}

}  // namespace

double operations_of(const TrainingSpec& training) {
  const Parallelism& parallel = training.parallel;
  const bool ring = parallel.context() > 1 && parallel.context_kind == ContextKind::kRing;
  const double passes = real(std::max<std::int64_t>(1, training.micro_batches()));
  const double programs = parallel.expert_skew > 0 ? real(parallel.expert) : 1;
  double program = layers_of(training) * passes * (60 + (ring ? 12 * real(parallel.context()) : 0));
  program += exchanges(training) + 10;
  // Between two stages of several chunks each transfer has a tag of its own, on every rank.
  const bool tagged = parallel.pipeline() == 2 && training.virtual_stages > 1;
  const double tags = tagged ? real(parallel.ranks()) * program / 10 : 0;
  return (programs * program + tags) * real(training.iterations);
}

void check_training_size(const TrainingSpec& training, Diagnostics& diagnostics) {
  if (const TransformerSpec* model = training.transformer()) check_work(training, *model, diagnostics);
  check_parameters(training, diagnostics);
  const double operations = operations_of(training);
  if (operations <= kMostOperations) return;
  diagnostics.error(
      training.where_of("batch.global"),
      fmt::format("the job has programs of about {:.1g} operations ({} micro-batches, {} iterations), more "
                  "than the {:.0g} that fit in memory",
                  operations, training.micro_batches(), training.iterations, kMostOperations),
      "a smaller batch.global, a larger batch.micro, larger overlap.bucket, or fewer iterations or servers");
}

}  // namespace orrery
