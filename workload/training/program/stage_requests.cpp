// SPDX-License-Identifier: MIT
#include "workload/training/program/stage_requests.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <tuple>
#include <utility>

#include "core/assert.h"
#include "workload/training/layers/model_layers.h"
#include "workload/training/program/expert_loads.h"

namespace orrery::workload {

// The layers of a model, priced once for each kind and load.
class StageRequests::ModelLayers {
 public:
  ModelLayers(const TrainingSpec& training, const OperatorTimes& times)
      : training_(training),
        times_(times),
        loads_(expert_loads(training)),
        sent_(std::accumulate(loads_.begin(), loads_.end(), 0.0) / static_cast<double>(loads_.size())),
        stages_(training.layers_of_stages()) {}

  std::size_t loads() const { return loads_.size(); }

  // The layers of every chunk of a stage, for ranks with the load.
  std::vector<std::vector<StageLayer>> chunks(std::uint32_t stage, std::size_t load) {
    if (training_.transformer() == nullptr) return {whole_model()};
    std::vector<std::vector<StageLayer>> chunks;
    if (is_v_shaped(training_.schedule))
      return {transformer_chunk(stage, load), transformer_chunk(stages_.size() - 1 - stage, load)};
    const auto stages = static_cast<std::size_t>(training_.parallel.pipeline());
    for (std::size_t at = stage; at < stages_.size(); at += stages) chunks.push_back(transformer_chunk(at, load));
    return chunks;
  }

 private:
  enum class Part : std::uint8_t { kEmbedding, kLayer, kHead, kPrediction, kNextPrediction, kPredictionHead };

  // Layers of the same kind and load are alike.
  struct Kind {
    Part part = Part::kLayer;
    std::size_t number = 0;  // of the layer's kind
    FeedForward second = FeedForward::kDense;
    auto operator<=>(const Kind&) const = default;
  };
  Kind kind_of(std::int64_t layer, Part part = Part::kLayer) const {
    const TransformerSpec& model = *training_.transformer();
    return {part, model.kind_number(layer), model.feed_forward(layer)};
  }

  std::vector<StageLayer> transformer_chunk(std::size_t virtual_stage, std::size_t load) {
    const TransformerSpec& model = *training_.transformer();
    std::int64_t layer = 0;
    for (std::size_t before = 0; before < virtual_stage; ++before) layer += stages_[before];
    std::vector<StageLayer> chunk;
    if (virtual_stage == 0 && model.has_ends()) chunk.push_back(stage_layer({Part::kEmbedding}, load, -1));
    for (std::int64_t i = 0; i < stages_[virtual_stage]; ++i, ++layer)
      chunk.push_back(stage_layer(kind_of(layer), load, layer, is_recomputed(i)));
    if (virtual_stage + 1 < stages_.size() || !model.has_ends()) return chunk;
    chunk.push_back(stage_layer({Part::kHead}, load, -1));
    for (std::int64_t i = 0; i < model.mtp_layers; ++i) {
      const Kind kind = kind_of(model.layers + i, i == 0 ? Part::kPrediction : Part::kNextPrediction);
      chunk.push_back(stage_layer(kind, load, model.layers + i, is_recomputed(stages_[virtual_stage] + i)));
      chunk.push_back(stage_layer({Part::kPredictionHead}, load, model.layers + i));
    }
    return chunk;
  }

  // Takes a layer by its place in the virtual stage.
  bool is_recomputed(std::int64_t layer) const {
    return training_.recompute_layers == 0 || layer < training_.recompute_layers;
  }

  // Kernels of passes side by side leave the multiprocessors of dispatch free all the time, as DeepSeek-V3's do (arXiv
  // 2412.19437, 3.2.2), so that calls take nothing from them.
  StageLayer stage_layer(Kind kind, std::size_t load, std::int64_t number, bool recomputes = true) {
    const std::int64_t taken = training_.overlaps() ? training_.experts.dispatch.processors : 0;
    const bool in_bf16 = number >= 0 && training_.is_left_in_bf16(number);
    return {priced(kind, load, 0, recomputes, in_bf16), number,
            taken > 0 ? priced(kind, load, taken, recomputes, in_bf16) : nullptr};
  }

  const LayerProgram* priced(Kind kind, std::size_t load, std::int64_t taken, bool recomputes, bool left_in_bf16) {
    if (kind.second != FeedForward::kExperts) load = 0;  // all are alike
    const auto [known, added] = transformer_.try_emplace({kind, load, taken, recomputes, left_in_bf16});
    if (added)
      known->second = price(program(kind, loads_[load], recomputes, left_in_bf16), training_.software, times_, taken);
    return &known->second;
  }

  LayerProgram program(Kind kind, double load, bool recomputes, bool left_in_bf16) const {
    LayerShape shape = layer_shape(training_, load);
    shape.sent_load = sent_;
    if (!recomputes) shape.recompute = Recompute::kNone;
    if (left_in_bf16) shape = in_bf16(shape);
    shape.kind = shape.model->kind(kind.number);
    switch (kind.part) {
      case Part::kEmbedding:
        return embedding_layer(shape);
      case Part::kLayer:
        return transformer_layer(shape, kind.second);
      case Part::kHead:
        return head_layer(shape, shape.model->tied_embeddings && !training_.model_ties_stages());
      case Part::kPrediction:
        return prediction_layer(shape, !shape.model->tied_embeddings && training_.model_ties_stages());
      case Part::kNextPrediction:
        return prediction_layer(shape, false);
      case Part::kPredictionHead:
        return head_layer(shape, true);
    }
    ORRERY_ASSERT(false);
  }

  std::vector<StageLayer> whole_model() {
    const std::int64_t batch = training_.micro_batch;
    if (others_.empty()) {
      const std::vector<LayerProgram> layers = sample_layers(training_, batch, training_.parallel.data());
      for (const LayerProgram& layer : layers) others_.push_back(price(layer, training_.software, times_));
    }
    std::vector<StageLayer> layers;
    for (const LayerProgram& layer : others_)
      layers.insert(layers.end(), static_cast<std::size_t>(layer.repeat), {&layer});
    return layers;
  }

  const TrainingSpec& training_;
  const OperatorTimes& times_;
  const std::vector<double> loads_;
  const double sent_;  // mean of the loads
  const std::vector<std::int64_t> stages_;
  std::map<std::tuple<Kind, std::size_t, std::int64_t, bool, bool>, LayerProgram> transformer_;
  std::vector<LayerProgram> others_;
};

namespace {

// The largest use of the buffer that a stage keeps.
Bytes shared_buffer(const LayerShape& shape, SharedBuffer kind, bool has_head, bool has_experts) {
  if (kind == SharedBuffer::kNone) return Bytes(0);
  Bytes most = shape.sequence_parallel && has_head ? shape.activations() : Bytes(0);
  if (has_experts && shape.dispatching.dispatch.kind == DispatchKind::kAllGather)
    most = std::max(most, shape.own_activations() * (shape.expert * shape.expert_tensor));
  if (kind == SharedBuffer::kScores && shape.attention == AttentionKind::kPlain)
    most = std::max(
        most, Bytes(shape.micro_batch * shape.heads() * shape.rank_sequence() * shape.model->sequence * shape.width()));
  return most;
}

// Sizes of what a stage of a transformer holds beside its layers.
void add_held(const TrainingSpec& training, const LayerShape& shape, StageRequest& request) {
  const std::int64_t last = is_v_shaped(training.schedule) ? 0 : training.parallel.depth() - 1;
  const bool has_head = request.stage == last && shape.model->has_ends();
  request.in_pieces = shape.pieces > 1;
  request.mask = Bytes(shape.micro_batch * shape.rank_sequence() * shape.model->sequence);
  request.buffer =
      shared_buffer(shape, training.software.footprint.buffer, has_head, parameters_of(request).expert > 0);
  if (!has_head || shape.model->vocab == 0 || training.loss.held != LossHeld::kLogits) return;
  request.logits = Bytes(shape.micro_batch * shape.model->predicted() / shape.context * shape.vocab() * shape.width());
  request.head = Bytes(shape.vocab() * shape.model->hidden * shape.width());
}

// The first layers that are neither embedding nor head, if there are such.
void choose_offloaded(double share, std::vector<StageLayer>& chunk) {
  const bool has_numbers = std::ranges::any_of(chunk, [](const StageLayer& layer) { return layer.number >= 0; });
  const auto may_go = [&](const StageLayer& layer) { return !has_numbers || layer.number >= 0; };
  auto left = std::llround(share * static_cast<double>(std::ranges::count_if(chunk, may_go)));
  for (StageLayer& layer : chunk)
    if (may_go(layer) && left-- > 0) layer.is_offloaded = true;
}

StageRequest stage_request(const TrainingSpec& training, const RankGrid& grid, std::uint32_t stage,
                           std::vector<std::vector<StageLayer>> chunks) {
  StageRequest request;
  request.training = &training;
  request.stage = stage;
  request.chunks = std::move(chunks);
  for (std::vector<StageLayer>& chunk : request.chunks) choose_offloaded(training.offload.activations, chunk);
  request.group_sizes = group_sizes(grid);
  if (const auto* dlrm = std::get_if<DlrmSpec>(&training.model.sizes))
    request.tables = dlrm_table_bytes(*dlrm, training.parallel.data());
  if (const TransformerSpec* model = training.transformer()) {
    const LayerShape shape = layer_shape(training, 1);
    const bool splits = training.software.scatter_gather && shape.tensor > 1;
    request.gathers_boundary = splits && !shape.sequence_parallel;
    request.boundary = splits ? ceil_div(shape.activations(), shape.tensor) : shape.own_activations();
    if (training.model_ties_stages()) request.tied = shape.vocab() * model->hidden;
    add_held(training, shape, request);
  }
  return request;
}

}  // namespace

StageRequests::StageRequests(const TrainingSpec& training, const OperatorTimes& times)
    : grid_(training.parallel), layers_(std::make_unique<ModelLayers>(training, times)), loads_(layers_->loads()) {
  for (std::uint32_t stage = 0; stage < training.parallel.depth(); ++stage)
    for (std::size_t load = 0; load < loads_; ++load)
      all_.push_back(stage_request(training, grid_, stage, layers_->chunks(stage, load)));
}

StageRequests::~StageRequests() = default;

}  // namespace orrery::workload
