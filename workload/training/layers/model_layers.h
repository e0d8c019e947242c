// SPDX-License-Identifier: MIT
// The layers of each kind of model as layer programs, and the work that a model needs however it is computed.
#pragma once

#include <cstdint>
#include <vector>

#include "core/precision.h"
#include "core/units.h"
#include "workload/training/layers/blocks.h"
#include "workload/training/layers/layer_program.h"
#include "workload/training/spec/model.h"
#include "workload/training/spec/training_spec.h"

namespace orrery::workload {

// The parts of a transformer as layer programs: the embedding, layers with dense or expert perceptrons, and the head
// with the loss. Tensor parallelism splits products by columns, then by rows (Megatron-LM, Shoeybi et al. 2019);
// sequence parallelism splits what is between them and turns all-reduces into all-gathers and reduce-scatters
// (Korthikanti et al. 2022).
LayerProgram embedding_layer(const LayerShape& shape);
// `second`: what follows the mixer of the shape's kind; not kByDepth.
LayerProgram transformer_layer(const LayerShape& shape, FeedForward second);
// `tied_here`: the embedding is on the same rank, and the weights are counted there.
LayerProgram head_layer(const LayerShape& shape, bool tied_here);
// A module of multi-token prediction without its head, which is one that is tied here. `copies_table`: it holds a table
// of embeddings, which no other layer of its rank has.
LayerProgram prediction_layer(const LayerShape& shape, bool copies_table);

// Layers of a recommendation model (Naumov et al. 2019) on one rank: embedding tables spread over all ranks,
// multi-layer perceptrons repeated on every rank. A rank looks up the rows of its tables for the samples of all ranks;
// an all-to-all brings every rank those of its own samples, and their gradients back.
//
// "embedding", "bottom", "top": a rank with `batch` samples of its own, 1 to 2^18, and 2^26 on all ranks. Tables are
// split by columns where their number is no multiple of the ranks, so that ranks have equal shares. Backward, nothing
// but the exchange of gradients waits for "bottom"; so it comes before the all-to-all of "embedding".
//
// `parameters` are the dense ones alone, for gradients of the tables are neither exchanged nor met by the optimizer:
// rows are updated where they are. The tables' memory is apart.
std::vector<LayerProgram> dlrm_layers(const DlrmSpec& model, std::int64_t batch, std::int64_t ranks,
                                      Precision precision);

// A rank's share of the tables.
Bytes dlrm_table_bytes(const DlrmSpec& model, std::int64_t ranks);

// Layers of a convolutional network trained in data parallel: a convolution with its batch norm, the sum with a
// shortcut, ReLU and pooling is a layer, and so is the classifier with the loss. The kernels are those of the software:
struct ConvolutionKernels {
  bool fused_norm = false;  // batch norm, the sum with a shortcut and ReLU are one kernel
  bool winograd = false;    // 3x3 convolutions at a stride of 1
  bool transposed = false;  // channels come before pixels, which kernels with tensor cores take the other way round
};

ConvolutionKernels convolution_kernels(const SoftwareSpec& software, Precision precision);

// In the order of the network, for `batch` images: from 1 to 2^18. Memory for the images is left out.
std::vector<LayerProgram> convolutional_layers(const ConvolutionalSpec& model, std::int64_t batch, Precision precision,
                                               ConvolutionKernels kernels = {});

// Layers of a recurrent model trained in data parallel, for `batch` sentences from 1 to 2^18: the table of words, LSTM
// layers, attention, and the classifier with the loss. The products with a layer's inputs are one over all words; those
// with its state wait for one another, word by word.
std::vector<LayerProgram> recurrent_layers(const RecurrentSpec& model, std::int64_t batch, Precision precision);

// Layers of an Evoformer trained in data parallel, for `batch` proteins from 1 to 2^18. A block is a layer, and so are
// the passes of all blocks that are recycled: forward alone. `recomputes`: only what goes from block to block is kept.
// Embedding, templates, the structure module and the losses are left out.
std::vector<LayerProgram> evoformer_layers(const EvoformerSpec& model, std::int64_t batch, Precision precision,
                                           bool recomputes);

// Layers of a model that is no transformer: for `batch` samples of a rank, when each of `ranks` has as many.
std::vector<LayerProgram> sample_layers(const TrainingSpec& training, std::int64_t batch, std::int64_t ranks);

// FLOPs of one training step over the whole global batch: three times the products of the forward pass, without
// recomputation. Attention counts 12 * layers * hidden * sequence per token, half of that with causal_flops (Narayanan
// et al. 2021, appendix). Of experts those that a token passes.
double model_flops(const TrainingSpec& training);

// Tokens of a step; samples of models without tokens.
std::int64_t tokens_per_step(const TrainingSpec& training);

}  // namespace orrery::workload
