// SPDX-License-Identifier: MIT
// Checks that a training job is small enough: its sums fit their types, its operations memory.
#include <algorithm>
#include <cstddef>

#include <fmt/format.h>

#include "core/units.h"
#include "workload/training/spec/check.h"
#include "workload/training/spec/mixer_sizes.h"

namespace orrery::workload {
namespace {

// One operation takes about 170 bytes when it is generated, so that no job takes more than 17 GB; the bound is two to
// fifteen times what there are.
constexpr double kMostOperations = 1e8;

// Limit to sums of a few terms, so that they fit 64 bits.
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
  const double rows_of_token = real(model.experts_per_token) * std::max(busiest, training.experts.capacity);
  const double copies = rows_of_token + real(model.shared_experts);
  const double expert = 3 * real(model.expert_hidden);
  TokenWork work;
  work.values =
      4 * hidden + inner + vocab + 6 * heads * head + ranks + copies * (hidden + expert) + real(model.experts);
  work.products = hidden * (inner + vocab + 4 * heads * head + ranks + copies * expert + real(model.experts)) +
                  2 * ranks * heads * head;
  for (const LayerKind& kind : model.kinds) {
    for (const WeightMatrix& matrix : mixer_sizes(model, kind).products) {
      work.values += 4 * real(matrix.outputs);
      work.products += real(matrix.inputs) * real(matrix.outputs);
    }
    if (kind.mixer == MixerKind::kAttention) continue;
    const LinearAttention& own = kind.linear;
    work.values += 4 * real(own.convolved()) + real(own.chunk * own.value_heads);
    work.products += real(own.value_heads) * real(own.chunk + own.key_size) * real(own.chunk + own.value_size);
  }
  return work;
}

// Gradients exchanged together, bucket by bucket.
double exchanges(const TrainingSpec& training) {
  const double bucket = real(std::max<std::int64_t>(1, training.software.bucket.count() / 4));
  const double once = training.software.overlap_gradients ? real(parameter_count(training.model)) / bucket + 2 : 2;
  if (training.parallel.exchange != ExchangeKind::kParameterServer)
    return 2 * once * (training.parallel.zero >= 2 || !training.is_flushed() ? real(training.micro_batches()) : 1);
  const double pushes = std::max(once, real(training.parallel.servers));
  return (pushes + 3 * real(training.parallel.servers)) * (1 + real(training.parallel.data()));
}

// Values of queries, keys and values that score a key, in the kind of layers that has most.
double score_values(const TransformerSpec& model) {
  double most = 0;
  for (std::size_t i = 0; i < std::max<std::size_t>(1, model.kinds.size()); ++i) {
    const AttentionSpec own = model.kind(i).attention;
    double values = real(own.heads) * (own.latent ? real(own.key_size() + own.value_size())
                                                  : real(std::max(own.key_size(), own.value_size())));
    if (own.indexer)
      values = real(own.heads) * real(own.latent->key_value_rank + own.key_size()) +
               real(own.indexer->heads * own.indexer->head);
    most = std::max(most, values);
  }
  return most;
}

double layers_of(const TrainingSpec& training) {
  if (const TransformerSpec* model = training.transformer()) return real(model->layers + training.model_stages());
  double layers = 3;
  if (const auto* dlrm = std::get_if<DlrmSpec>(&training.model.sizes))
    layers += real(static_cast<std::int64_t>(dlrm->bottom.size() + dlrm->top.size()));
  if (const auto* recurrent = std::get_if<RecurrentSpec>(&training.model.sizes))
    layers += real(recurrent->encoder + recurrent->decoder);
  if (const auto* evoformer = std::get_if<EvoformerSpec>(&training.model.sizes))
    for (const EvoformerStack& stack : evoformer->stacks) layers += real(stack.blocks * (1 + evoformer->recycles));
  if (const auto* convolutional = std::get_if<ConvolutionalSpec>(&training.model.sizes))
    for (const Convolution& c : convolutional->convolutions) layers += real(c.repeat);
  return layers;
}

void check_work(const TrainingSpec& training, const TransformerSpec& model, Diagnostics& diagnostics) {
  const Parallelism& parallel = training.parallel;
  const double tokens = real(training.micro_batch) * real(model.sequence) / real(parallel.context());
  const double scores = tokens * real(model.heads) * real(model.sequence);
  const TokenWork work = token_work(training, model);
  // An expert has as many rows of padding.
  const double rows = tokens + real(model.experts) * real(training.experts.row_multiple);
  const double flops = 8 * rows * work.products + 20 * tokens * real(model.sequence) * score_values(model);
  const bool keeps_scores = attention_of(training) == AttentionKind::kPlain;
  const double kept = (16 * rows * work.values + (keeps_scores ? 16 * scores : 0)) * layers_of(training);
  if (flops > kMostCount || kept > kMostCount)
    return diagnostics.error(
        training.where_of("batch.micro"),
        fmt::format("a micro-batch of {:.3g} tokens makes more work than can be counted", tokens),
        "a smaller workload.batch.micro or workload.model.sequence, or a larger workload.parallel.context");
  const std::int64_t micro_batches = std::max<std::int64_t>(1, training.micro_batches());
  const Recipe& casts = training.recipe_of_casts();
  const double cast =
      is_of_products_only(training.precision) ? real(std::max(casts.operand.count(), casts.normalised.count())) : 0;
  if (16 * rows * work.values * layers_of(training) * real(micro_batches) * cast > kMostCount)
    return diagnostics.error(
        training.where_of(training.recipe ? "recipe" : "software"),
        fmt::format("the casts of operands to {} move more bytes than can be counted", name_of(training.precision)),
        fmt::format("less of {0}.operand and {0}.normalised",
                    training.recipe ? "workload.recipe" : "workload.software.fp8"));
  if (kept * real(micro_batches) > kMostCount && operations_of(training) <= kMostOperations)
    diagnostics.error(training.where_of("batch.global"),
                      fmt::format("{} micro-batches keep more bytes than can be counted", micro_batches),
                      "a smaller workload.batch.global");
}

// Products of an optimizer on whole matrices: none has a side beyond that of queries, keys and values or of a gated
// perceptron.
void check_matrices(const TrainingSpec& training, const TransformerSpec& model, Diagnostics& diagnostics) {
  if (!training.optimizer.matrices) return;
  const double longest = std::max({real(model.hidden), 2 * real(model.ffn_hidden), 2 * real(model.expert_hidden),
                                   3 * real(model.heads) * real(model.head_size)});
  const double counted = 6 * longest * longest * longest * std::max(1.0, real(model.experts)) *
                         real(training.optimizer.matrices->iterations);
  if (counted > kMostCount)
    diagnostics.error(training.where_of("optimizer"),
                      fmt::format("the products of '{}' are more operations than can be counted",
                                  printable(training.optimizer.name, 40)),
                      "a smaller workload.model.hidden, or fewer workload.optimizer.matrices.iterations");
}

void check_parameters(const TrainingSpec& training, Diagnostics& diagnostics) {
  const SoftwareSpec& software = training.software;
  const double each = 40 + real(software.optimizer.count()) +
                      real(training.optimizer.traffic.value_or(Bytes(0)).count()) +
                      real(software.accumulation.count()) + real(software.reduction.count());
  const double workers =
      training.parallel.exchange == ExchangeKind::kParameterServer ? real(training.parallel.data()) : 1;
  if (each * workers * real(parameter_count(training.model)) > kMostCount)
    diagnostics.error(
        training.where_of("model"), "the parameters' gradients and updates are more bytes than can be counted",
        "a smaller workload.parallel.data, or less of workload.software.optimizer, accumulation and reduction");
}

}  // namespace

double operations_of(const TrainingSpec& training) {
  const Parallelism& parallel = training.parallel;
  const std::int64_t ring = parallel.context_ring();
  const double passes = real(std::max<std::int64_t>(1, training.micro_batches()));
  const double programs = parallel.expert_skew > 0 ? real(parallel.expert) : 1;
  double program = layers_of(training) * passes * (60 + (ring > 1 ? 12 * real(ring) : 0));
  program += exchanges(training) + 10;
  // Between two stages of several chunks each transfer has a tag of its own, on every rank.
  const bool tagged = parallel.pipeline() == 2 && training.virtual_stages > 1;
  const double tags = tagged ? real(parallel.ranks()) * program / 10 : 0;
  return (programs * program + tags) * real(training.iterations);
}

void check_training_size(const TrainingSpec& training, Diagnostics& diagnostics) {
  if (const TransformerSpec* model = training.transformer()) check_work(training, *model, diagnostics);
  if (const TransformerSpec* model = training.transformer()) check_matrices(training, *model, diagnostics);
  check_parameters(training, diagnostics);
  const double operations = operations_of(training);
  if (operations <= kMostOperations) return;
  diagnostics.error(
      training.where_of("batch.global"),
      fmt::format("the job has programs of about {:.1g} operations ({} micro-batches, {} iterations), more "
                  "than the {:.0g} that fit in memory",
                  operations, training.micro_batches(), training.iterations, kMostOperations),
      "a smaller workload.batch.global, a larger workload.batch.micro or workload.overlap.bucket, or fewer "
      "workload.iterations or workload.parallel.servers");
}

}  // namespace orrery::workload
