// SPDX-License-Identifier: MIT
// Models: their sizes, as configs/models has them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "core/config/config.h"
#include "core/units.h"
#include "workload/training/spec/layer_kind.h"
#include "workload/training/spec/software.h"

namespace orrery::workload {

// A vision transformer's ends: every patch of an image is a token, and so is one more, whose result is classified.
struct ImagePatches {
  std::int64_t size = 0;      // pixels of a patch's side
  std::int64_t channels = 3;  // values of a pixel
  std::int64_t classes = 0;

  std::int64_t values() const { return size * size * channels; }  // of a patch

  bool operator==(const ImagePatches&) const = default;
};

// The attention that it is itself is that of layers whose kind does not say otherwise.
struct TransformerSpec : AttentionSpec {
  std::int64_t hidden = 0;
  std::int64_t layers = 0;
  std::int64_t ffn_hidden = 0;
  std::int64_t vocab = 0;        // 0: neither an embedding nor a head
  std::int64_t sequence = 0;     // tokens
  std::int64_t predictions = 0;  // tokens of a sequence whose scores the head computes; 0: all
  std::int64_t mtp_layers = 0;   // modules of multi-token prediction behind the head, of one layer each
  bool gated_mlp = false;        // three products instead of two
  bool tied_embeddings = true;
  bool biases = true;           // of linear layers and norms
  bool embedding_norm = false;  // a norm of its own behind the embedding
  bool causal = true;
  std::int64_t experts = 0;            // of a mixture-of-experts layer; 0: all layers are dense
  std::int64_t experts_per_token = 0;  // routed
  std::int64_t expert_hidden = 0;      // ffn_hidden of one expert
  std::int64_t shared_experts = 0;     // that every token passes
  std::int64_t dense_layers = 0;       // the first ones, which have no experts
  std::int64_t expert_interval = 1;    // behind them, every how many layers one has experts: the last of each so many
  std::int64_t expert_groups = 1;      // experts that follow one another; a token goes to some groups only
  std::int64_t groups_per_token = 1;
  std::optional<ImagePatches> patches;     // in place of a vocabulary
  std::optional<AttentionKind> attention;  // kernel; of the software if not given
  std::vector<LayerKind> kinds;            // empty: one kind, whose attention is the model's own
  std::vector<std::size_t> pattern;        // kinds of layers from the first on, over and over; empty: all of the first

  std::int64_t predicted() const { return predictions > 0 ? predictions : sequence; }
  // True if an embedding comes before the layers, and a head behind them.
  bool has_ends() const { return vocab > 0 || patches; }
  // Number of a layer's kind, and the kind itself. A module of multi-token prediction is as the last layer is.
  std::size_t kind_number(std::int64_t layer) const {
    return pattern.empty() ? 0 : pattern[static_cast<std::size_t>(std::min(layer, layers - 1)) % pattern.size()];
  }
  LayerKind kind(std::size_t number) const { return kinds.empty() ? LayerKind{"layer", *this} : kinds[number]; }
  LayerKind kind_of(std::int64_t layer) const { return kind(kind_number(layer)); }
  // Second half of a layer: kDense, kExperts or kNone.
  FeedForward feed_forward(std::int64_t layer) const;
  bool has_experts(std::int64_t layer) const { return feed_forward(layer) == FeedForward::kExperts; }
  std::int64_t expert_layers() const;

  bool operator==(const TransformerSpec&) const = default;
};

// A recommendation model: embedding tables spread over the ranks, multi-layer perceptrons on all of them.
struct DlrmSpec {
  std::int64_t tables = 0;
  std::int64_t rows = 0;       // of a table
  std::int64_t dimension = 0;  // of a row
  std::int64_t lookups = 1;    // rows summed up per table and sample
  std::int64_t dense_features = 0;
  std::vector<std::int64_t> bottom;  // widths of its layers; the last is `dimension`
  std::vector<std::int64_t> top;
  Precision table_precision = Precision::kFp32;

  bool operator==(const DlrmSpec&) const = default;
};

struct Convolution {
  std::string name = "convolution";
  std::int64_t inputs = 0;   // channels
  std::int64_t outputs = 0;  // channels
  std::int64_t kernel = 1;   // its side
  std::int64_t size = 0;     // side of the output
  std::int64_t stride = 1;   // pixels of the input from one of the output to the next
  std::int64_t pool = 1;     // a maximum over so many by so many pixels behind it
  std::int64_t repeat = 1;   // one behind the other
  bool branches = false;     // a shortcut takes its input as well, so that two gradients of it are added up
  bool adds = false;         // the other branch is added to the result of its batch norm
  bool activation = true;    // ReLU

  // Pixels of one image that it reads.
  std::int64_t read_pixels() const { return size * size * std::min(stride, kernel) * std::min(stride, kernel); }
  std::int64_t input_pixels() const { return size * size * stride * stride; }

  bool operator==(const Convolution&) const = default;
};

// Convolutions with batch norm, and a linear classifier.
struct ConvolutionalSpec {
  std::vector<Convolution> convolutions;
  std::int64_t features = 0;  // that the classifier takes
  std::int64_t classes = 0;

  bool operator==(const ConvolutionalSpec&) const = default;
};

// LSTM layers that read a sentence and others that write one, with additive attention between them and a classifier
// behind them, as in GNMT (Wu et al. 2016). Encoder and decoder share a table of words.
struct RecurrentSpec {
  std::int64_t hidden = 0;
  std::int64_t vocab = 0;
  std::int64_t encoder = 0;        // layers
  std::int64_t bidirectional = 0;  // of them, the first ones: they read the sentence both ways
  std::int64_t decoder = 0;        // layers; all but the first take what attention found as well
  std::int64_t source = 0;         // words of a sentence
  std::int64_t target = 0;

  std::int64_t directions(std::int64_t layer) const { return layer < bidirectional ? 2 : 1; }
  // Values that a layer takes for each word.
  std::int64_t encoder_inputs(std::int64_t layer) const { return layer == 0 ? hidden : hidden * directions(layer - 1); }
  std::int64_t decoder_inputs(std::int64_t layer) const { return layer == 0 ? hidden : 2 * hidden; }

  bool operator==(const RecurrentSpec&) const = default;
};

// Blocks over alignments of sequences to the residues of a protein, and over pairs of residues (AlphaFold 2, Jumper et
// al. 2021, supplement 1.6 and 1.7).
struct EvoformerStack {
  std::int64_t blocks = 0;
  std::int64_t sequences = 0;
  std::int64_t channels = 0;  // of a residue of a sequence
  std::int64_t heads = 8;
  std::int64_t head = 32;
  bool global = false;  // attention along columns takes the mean of the queries

  bool operator==(const EvoformerStack&) const = default;
};

struct EvoformerSpec {
  std::int64_t residues = 0;
  std::int64_t pair = 0;  // channels of a pair of residues
  std::int64_t pair_heads = 4;
  std::int64_t pair_head = 32;
  std::int64_t outer = 32;      // channels of which the outer product takes the mean
  std::int64_t triangle = 128;  // channels of triangle updates
  std::int64_t recycles = 0;    // passes forward before the one that is trained
  std::vector<EvoformerStack> stacks;

  bool operator==(const EvoformerSpec&) const = default;
};

struct ModelSpec {
  std::string name;  // as results print it; empty: inline
  std::variant<TransformerSpec, DlrmSpec, ConvolutionalSpec, RecurrentSpec, EvoformerSpec> sizes;

  bool operator==(const ModelSpec&) const = default;
};

// Reads a file of configs/models, a config.json, or the same inline: `kind` says which family. The readers are in
// model_files/.
ModelSpec read_model(Section& section);

// Weights and biases of a part of a model: "attention" of all layers.
struct ParameterPart {
  std::string name;
  std::int64_t count = 0;
};
// All parts that have any, in the order of the model. Counts saturate as parameter_count() does.
std::vector<ParameterPart> parameter_parts(const ModelSpec& model);

// Parameters that one token or sample passes: of experts, the routed ones it goes to and the shared ones; of tables,
// the rows that it looks up.
std::int64_t active_parameters(const ModelSpec& model);

// Weights and biases of the whole model; tied embeddings once. Saturates at the largest number; a model that has been
// read has at most 10^15.
std::int64_t parameter_count(const ModelSpec& model);
std::int64_t parameter_count(const TransformerSpec& model);

}  // namespace orrery::workload
