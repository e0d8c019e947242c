// SPDX-License-Identifier: MIT
// Number of parameters of a model, from its sizes alone.
#include "workload/training/spec/model.h"

#include <limits>

#include "workload/training/spec/mixer_sizes.h"

namespace orrery::workload {
namespace {

// Products of sizes that are each in bounds may still be beyond 64 bits.
std::int64_t saturated(Int128 count) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  return count > kMost ? kMost : static_cast<std::int64_t>(count);
}

Int128 linear(std::int64_t inputs, std::int64_t outputs, bool bias) {
  return Int128{inputs} * outputs + (bias ? outputs : 0);
}

Int128 norm(const TransformerSpec& model) { return Int128{model.hidden} * (model.biases ? 2 : 1); }

Int128 mixer(const TransformerSpec& model, const LayerKind& kind) {
  const MixerSizes sizes = mixer_sizes(model, kind);
  Int128 sum = sizes.vectors;
  for (const WeightMatrix& matrix : sizes.products) sum += linear(matrix.inputs, matrix.outputs, matrix.bias);
  return sum;
}

Int128 mlp(const TransformerSpec& model, std::int64_t inner) {
  return linear(model.hidden, inner, model.biases) * (model.gated_mlp ? 2 : 1) +
         linear(inner, model.hidden, model.biases);
}

struct Part {
  const char* name;
  Int128 count;
  Int128 active;
};
using Parts = std::vector<Part>;

// Layers and modules of multi-token prediction that have parts, and the weights of what mixes tokens in them.
struct LayerCounts {
  Int128 attention = 0, linear = 0;
  std::int64_t dense = 0, experts = 0;
  std::int64_t halves = 0;  // with a norm each
};

LayerCounts layer_counts(const TransformerSpec& model) {
  std::vector<Int128> mixers;
  for (std::size_t i = 0; i < std::max<std::size_t>(1, model.kinds.size()); ++i)
    mixers.push_back(mixer(model, model.kind(i)));
  LayerCounts counts;
  for (std::int64_t layer = 0; layer < model.layers + model.mtp_layers; ++layer) {
    const std::size_t number = model.kind_number(layer);
    const MixerKind kind = model.kinds.empty() ? MixerKind::kAttention : model.kinds[number].mixer;
    (kind == MixerKind::kAttention ? counts.attention : counts.linear) += mixers[number];
    const FeedForward second = model.feed_forward(layer);
    counts.dense += second == FeedForward::kDense;
    counts.experts += second == FeedForward::kExperts;
    counts.halves += (kind != MixerKind::kNone) + (second != FeedForward::kNone);
  }
  return counts;
}

// The router has no bias.
Parts parts_of(const TransformerSpec& model) {
  const LayerCounts counts = layer_counts(model);
  const std::int64_t modules = model.mtp_layers;
  const auto whole = [](const char* name, Int128 count) { return Part{name, count, count}; };
  const Int128 expert = counts.experts * mlp(model, model.expert_hidden);
  const Int128 table = Int128{model.hidden} * model.vocab;
  const ImagePatches images = model.patches.value_or(ImagePatches{});
  // A model of images starts with parameters for the token that is classified.
  const Int128 ends = model.patches ? linear(images.values(), model.hidden, true) + model.hidden : table;
  const Int128 classifier = model.patches ? linear(model.hidden, images.classes, true) : 0;
  return {whole("embedding", ends),
          whole("positions", model.position == PositionKind::kLearned ? Int128{model.hidden} * model.sequence : 0),
          whole("attention", counts.attention),
          whole("linear attention", counts.linear),
          whole("mlp", counts.dense * mlp(model, model.ffn_hidden)),
          whole("router", counts.experts * linear(model.hidden, model.experts, false)),
          {"experts", model.experts * expert, model.experts_per_token * expert},
          whole("shared experts", model.shared_experts * expert),
          whole("norms", norm(model) * (counts.halves + 3 * modules + (model.embedding_norm ? 2 : 1))),
          whole("prediction", modules * linear(2 * model.hidden, model.hidden, false)),
          whole("head", model.patches           ? classifier
                        : model.tied_embeddings ? 0
                                                : table)};
}

Int128 chain(std::int64_t inputs, const std::vector<std::int64_t>& widths) {
  Int128 total = 0;
  for (const std::int64_t outputs : widths) {
    total += linear(inputs, outputs, true);
    inputs = outputs;
  }
  return total;
}

// The top takes the bottom's result and the dot product of every pair of vectors: the tables' and the bottom's.
Parts parts_of(const DlrmSpec& model) {
  const std::int64_t pairs = (model.tables + 1) * model.tables / 2;
  const Int128 row = Int128{model.tables} * model.dimension;
  const Int128 bottom = chain(model.dense_features, model.bottom), top = chain(model.dimension + pairs, model.top);
  return {{"tables", row * model.rows, row * model.lookups}, {"bottom mlp", bottom, bottom}, {"top mlp", top, top}};
}

// A convolution has no bias: its batch norm has one, and a scale.
Parts parts_of(const ConvolutionalSpec& model) {
  const Int128 classifier = linear(model.features, model.classes, true);
  Int128 convolutions = 0, norms = 0;
  for (const Convolution& c : model.convolutions) {
    convolutions += c.repeat * linear(c.inputs * c.kernel * c.kernel, c.outputs, false);
    norms += c.repeat * 2 * c.outputs;
  }
  return {{"convolutions", convolutions, convolutions},
          {"batch norms", norms, norms},
          {"classifier", classifier, classifier}};
}

// Four gates with weights for the input and for the state before, and two biases each, as cuDNN has them.
Int128 lstm(std::int64_t inputs, std::int64_t hidden) { return 4 * (Int128{hidden} * (inputs + hidden) + 2 * hidden); }

// Attention projects words and states, adds them up and weights the sum, which is normalised: a scale and a bias.
Parts parts_of(const RecurrentSpec& model) {
  Int128 encoder = 0, decoder = 0;
  for (std::int64_t i = 0; i < model.encoder; ++i)
    encoder += model.directions(i) * lstm(model.encoder_inputs(i), model.hidden);
  for (std::int64_t i = 0; i < model.decoder; ++i) decoder += lstm(model.decoder_inputs(i), model.hidden);
  const Int128 table = Int128{model.vocab} * model.hidden;
  const Int128 attention = 2 * linear(model.hidden, model.hidden, false) + 2 * model.hidden + 1;
  const Int128 classifier = linear(model.hidden, model.vocab, true);
  return {{"embedding", table, model.hidden},
          {"encoder", encoder, encoder},
          {"decoder", decoder, decoder},
          {"attention", attention, attention},
          {"classifier", classifier, classifier}};
}

// Norms have a scale and a bias; queries, keys and values have no biases, gates and results have.
Parts parts_of(const EvoformerSpec& model) {
  const Int128 pair = model.pair, inner = model.pair_heads * model.pair_head, triangle = model.triangle;
  const auto attention = [](Int128 channels, Int128 values) {
    return 2 * channels + 4 * channels * values + values + values * channels + channels;
  };
  const auto transition = [](Int128 channels) { return 2 * channels + 8 * channels * channels + 5 * channels; };
  const Int128 update =
      2 * pair + 4 * (pair * triangle + triangle) + pair * pair + pair + 2 * triangle + triangle * pair + pair;
  const Int128 pairs = 2 * update + 2 * (attention(pair, inner) + pair * model.pair_heads) + transition(pair);
  Int128 msa = 0, outer = 0, of_pairs = 0;
  for (const EvoformerStack& stack : model.stacks) {
    const Int128 channels = stack.channels, values = stack.heads * stack.head;
    const Int128 columns =
        stack.global ? attention(channels, values) - 2 * channels * (values - stack.head) : attention(channels, values);
    msa +=
        stack.blocks * (attention(channels, values) + 2 * pair + pair * stack.heads + columns + transition(channels));
    outer += stack.blocks * (2 * channels + 2 * (channels * model.outer + model.outer) +
                             Int128{model.outer} * model.outer * pair + pair);
    of_pairs += stack.blocks * pairs;
  }
  return {{"alignments", msa, msa}, {"outer products", outer, outer}, {"pairs", of_pairs, of_pairs}};
}

Parts parts_of(const ModelSpec& model) {
  return std::visit([](const auto& sizes) { return parts_of(sizes); }, model.sizes);
}

std::int64_t total_of(const Parts& parts, Int128 Part::*member) {
  Int128 total = 0;
  for (const Part& part : parts) total += part.*member;
  return saturated(total);
}

}  // namespace

FeedForward TransformerSpec::feed_forward(std::int64_t layer) const {
  const FeedForward own = kinds.empty() ? FeedForward::kByDepth : kinds[kind_number(layer)].feed_forward;
  if (own != FeedForward::kByDepth) return own;
  // A module of multi-token prediction has experts if any layer does.
  if (layer >= layers) return experts > 0 ? FeedForward::kExperts : FeedForward::kDense;
  const bool has = experts > 0 && layer >= dense_layers && (layer - dense_layers + 1) % expert_interval == 0;
  return has ? FeedForward::kExperts : FeedForward::kDense;
}

std::int64_t TransformerSpec::expert_layers() const {
  if (kinds.empty()) return experts > 0 ? (layers - dense_layers) / expert_interval : 0;
  std::int64_t count = 0;
  for (std::int64_t layer = 0; layer < layers; ++layer) count += has_experts(layer);
  return count;
}

std::vector<ParameterPart> parameter_parts(const ModelSpec& model) {
  std::vector<ParameterPart> parts;
  for (const Part& part : parts_of(model))
    if (part.count > 0) parts.push_back({part.name, saturated(part.count)});
  return parts;
}

std::int64_t active_parameters(const ModelSpec& model) { return total_of(parts_of(model), &Part::active); }
std::int64_t parameter_count(const TransformerSpec& model) { return total_of(parts_of(model), &Part::count); }
std::int64_t parameter_count(const ModelSpec& model) { return total_of(parts_of(model), &Part::count); }

}  // namespace orrery::workload
