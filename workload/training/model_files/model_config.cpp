// SPDX-License-Identifier: MIT
// Reads a model: what its kind has in common, and the keys of the kinds that are no transformers.
#include <algorithm>
#include <array>
#include <string_view>

#include <fmt/format.h>

#include "core/config/quantity_text.h"
#include "workload/training/model_files/hugging_face.h"
#include "workload/training/spec/model.h"
#include "workload/training/spec/transformer_config.h"

namespace orrery::workload {
namespace {

constexpr Range kWidth{1, std::int64_t{1} << 20};
constexpr std::int64_t kMostParameters = 1'000'000'000'000'000;
constexpr std::size_t kMostLayers = 1000;
constexpr std::int64_t kMostConvolutions = 100'000;  // as many as a transformer has layers

// The widths of a multi-layer perceptron, layer by layer.
std::vector<std::int64_t> read_widths(Section& section, std::string_view key, std::string_view meaning) {
  return section.whole_numbers(key, kWidth, kMostLayers, "required", meaning);
}

DlrmSpec read_dlrm(Section& section) {
  DlrmSpec model;
  section.needs("tables", model.tables, {1, 4096}, "dlrm: number of embedding tables, all of the same size");
  section.needs("rows", model.rows, {1, std::int64_t{1} << 40}, "dlrm: number of rows in an embedding table");
  section.needs("dimension", model.dimension, {1, 1 << 16}, "dlrm: number of values in a row of an embedding table");
  section.takes("lookups", model.lookups, {1, 1 << 16}, "dlrm: number of rows that are summed up per table and sample");
  section.needs("dense_features", model.dense_features, kWidth, "dlrm: number of dense features of a sample");
  model.bottom =
      read_widths(section, "bottom",
                  "dlrm: widths of the bottom MLP's layers, which take the dense features. Example: `[512, 256, 128]`");
  section.takes("table_precision", model.table_precision, precision_names(),
                "dlrm: precision in which the embedding tables are stored");
  model.top = read_widths(section, "top",
                          "dlrm: widths of the top MLP's layers, which take the interactions; the last layer is the "
                          "result. Example: `[1024, 1024, 512, 256, 1]`");
  if (!section.sound()) return model;
  if (model.bottom.back() != model.dimension)
    section.error(
        "bottom",
        fmt::format("the last layer has {} values, a row of the tables {}", model.bottom.back(), model.dimension),
        fmt::format("both take part in dot products: end it with {}", model.dimension));
  constexpr Int128 kMostLookups = Int128{1} << 32;
  if (Int128{model.tables} * model.lookups * model.dimension > kMostLookups)
    section.error("lookups", "the lookups of one sample are more than 2^32 values", "reduce lookups or tables");
  return model;
}

Convolution read_convolution(Section& section) {
  Convolution c;
  section.takes("name", c.name, "a label for people; Orrery does not use it");
  section.needs("inputs", c.inputs, kWidth, "convolution: number of input channels");
  section.needs("outputs", c.outputs, kWidth, "convolution: number of output channels");
  section.takes("kernel", c.kernel, {1, 1024}, "convolution: side length of the kernel in pixels");
  section.needs("size", c.size, {1, 1 << 16}, "convolution: side length of the output in pixels");
  section.takes("stride", c.stride, {1, 1024}, "convolution: stride in pixels");
  section.takes("pool", c.pool, {1, 1024},
                "convolution: side length of the max-pooling window behind it in pixels; 1: no pooling");
  section.takes("repeat", c.repeat, {1, 10'000}, "convolution: number of equal convolutions in a row");
  section.takes("branches", c.branches, "convolution: whether a shortcut takes its input, too");
  section.takes("adds", c.adds, "convolution: whether the other branch is added to the result of its batch norm");
  section.takes("activation", c.activation, "convolution: whether a ReLU follows the batch norm or the sum");
  if (section.sound() && c.pool > c.size)
    section.error("pool", fmt::format("{} by {} pixels of an output of {} by {}", c.pool, c.pool, c.size, c.size),
                  "at most the size of the output");
  if (section.sound() && c.repeat > 1 && c.inputs != c.outputs)
    section.error("repeat", fmt::format("a convolution of {} to {} channels cannot follow itself", c.inputs, c.outputs),
                  "list the first one apart from those behind it");
  if (section.sound() && c.repeat > 1 && (c.stride > 1 || c.pool > 1))
    section.error("repeat", "a convolution whose output is smaller than its input cannot follow itself",
                  "list the one with a stride or a pool apart from those behind it");
  return c;
}

// Bounds on what one image takes, so that batches of many fit 64 bits as well.
void check_convolution(Section& section, const Convolution& c) {
  constexpr Int128 kMostWork = Int128{1} << 44;
  constexpr Int128 kMostValues = Int128{1} << 34;
  const Int128 results = Int128{c.size} * c.size * c.outputs;
  const Int128 values = std::max(results, Int128{c.size} * c.size * c.stride * c.stride * c.inputs);
  const Int128 work = 6 * results * c.inputs * c.kernel * c.kernel;
  if (work > kMostWork || values > kMostValues)
    section.error("size",
                  fmt::format("one image takes {:.1e} FLOPs and {:.1e} values in this convolution",
                              static_cast<double>(work), static_cast<double>(values)),
                  fmt::format("at most {:.1e} FLOPs and {:.1e} values: reduce size or channels",
                              static_cast<double>(kMostWork), static_cast<double>(kMostValues)));
}

ConvolutionalSpec read_convolutional(Section& section) {
  ConvolutionalSpec model;
  section.list("convolutions",
               "convolutional: the convolutions in the order of the network, each followed by a batch norm",
               [&](Section& s) {
                 model.convolutions.push_back(read_convolution(s));
                 if (s.sound()) check_convolution(s, model.convolutions.back());
               });
  std::int64_t layers = 0;
  for (const Convolution& c : model.convolutions) layers += c.repeat;
  if (section.sound() && (layers < 1 || layers > kMostConvolutions))
    section.error("convolutions",
                  layers < 1
                      ? "'convolutions' must be a list of at least one"
                      : fmt::format("{} convolutions, repeated ones included; at most {}", layers, kMostConvolutions),
                  layers < 1 ? "each has inputs, outputs, kernel and size" : "fewer of them, or lower 'repeat'");
  section.needs("features", model.features, kWidth, "convolutional: number of features that the classifier takes");
  section.needs("classes", model.classes, kWidth, "convolutional: number of classes");
  return model;
}

RecurrentSpec read_recurrent(Section& section) {
  RecurrentSpec model;
  constexpr Range kLayers{1, 1000}, kWords{1, 1024};
  section.required_section("recurrent", "recurrent: sizes of the LSTM layers, encoder and decoder", [&](Section& s) {
    s.needs("hidden", model.hidden, {1, 1 << 16}, "values of a layer's state");
    s.needs("vocab", model.vocab, {1, 1 << 24}, "vocabulary size, including padding");
    s.needs("encoder", model.encoder, kLayers, "number of encoder layers");
    s.takes("bidirectional", model.bidirectional, {0, kLayers.most},
            "number of first encoder layers that read the sentence both ways");
    s.needs("decoder", model.decoder, kLayers, "number of decoder layers");
    s.needs("source", model.source, kWords, "words of a sentence that is read: steps of the encoder");
    s.needs("target", model.target, kWords, "words of a sentence that is written: steps of the decoder");
    // The FLOPs of training on one sentence, so that batches of many fit 64 bits as well.
    constexpr Int128 kMostWork = Int128{1} << 44;
    const Int128 steps = std::max(model.source, model.target), hidden = model.hidden;
    const Int128 work = std::max(6 * steps * 2 * 4 * hidden * 3 * hidden, 6 * steps * hidden * model.vocab);
    if (s.sound() && work > kMostWork)
      s.error("hidden", fmt::format("one sentence takes {:.1e} FLOPs in a single layer", static_cast<double>(work)),
              fmt::format("at most {:.1e}: reduce hidden, source or target", static_cast<double>(kMostWork)));
    if (s.sound() && model.bidirectional > model.encoder)
      s.error("bidirectional",
              fmt::format("{} bidirectional layers of an encoder of {}", model.bidirectional,
                          counted(static_cast<std::uint64_t>(model.encoder), "layer")),
              fmt::format("at most {}", model.encoder));
  });
  return model;
}

EvoformerStack read_stack(Section& s) {
  EvoformerStack stack;
  constexpr Range kChannels{1, 1 << 14};
  s.needs("blocks", stack.blocks, {1, 1000}, "evoformer: number of blocks");
  s.needs("sequences", stack.sequences, {1, 1 << 16}, "evoformer: sequences of an alignment");
  s.needs("channels", stack.channels, kChannels, "evoformer: channels of a residue of a sequence");
  s.takes("heads", stack.heads, {1, 1024}, "evoformer: number of attention heads along rows and columns");
  s.takes("head", stack.head, {1, 4096}, "evoformer: size of such a head");
  s.takes("global", stack.global, "evoformer: whether attention along columns takes the mean of the queries");
  return stack;
}

// The FLOPs of training on one protein in a product, so that batches of many fit 64 bits as well.
bool is_too_large(const EvoformerSpec& model) {
  constexpr Int128 kMostWork = Int128{1} << 44;
  const Int128 residues = model.residues, pairs = residues * residues;
  Int128 work =
      6 * pairs *
      std::max<Int128>({4 * Int128{model.pair} * model.pair, residues * model.triangle,
                        Int128{model.outer} * model.outer * model.pair, residues * model.pair_heads * model.pair_head,
                        4 * Int128{model.pair} * model.pair_heads * model.pair_head,
                        4 * Int128{model.pair} * model.triangle});
  for (const EvoformerStack& stack : model.stacks) {
    const Int128 cells = residues * stack.sequences, values = Int128{stack.heads} * stack.head;
    work = std::max<Int128>({work, 6 * cells * 4 * stack.channels * std::max<Int128>(values, stack.channels),
                             6 * cells * values * std::max<Int128>(residues, stack.sequences),
                             6 * pairs * model.outer * model.outer * stack.sequences});
  }
  return work > kMostWork;
}

EvoformerSpec read_evoformer(Section& section) {
  EvoformerSpec model;
  constexpr Range kChannels{1, 1 << 14};
  section.required_section("evoformer", "evoformer: blocks over alignments and pairs of residues", [&](Section& s) {
    s.needs("residues", model.residues, {1, 1 << 14}, "residues of a protein, or of what is cropped from it");
    s.needs("pair", model.pair, kChannels, "channels of a pair of residues");
    s.takes("pair_heads", model.pair_heads, {1, 1024}, "number of heads of triangle attention");
    s.takes("pair_head", model.pair_head, {1, 4096}, "size of such a head");
    s.takes("outer", model.outer, {1, 1024}, "channels of which the outer product takes the mean");
    s.takes("triangle", model.triangle, kChannels, "channels of triangle updates");
    s.takes("recycles", model.recycles, {0, 100}, "passes forward before the one that is trained");
    s.list("stacks", "stacks of blocks, one behind the other",
           [&](Section& stack) { model.stacks.push_back(read_stack(stack)); });
    if (s.sound() && model.stacks.empty())
      s.error("stacks", "'stacks' must be a list of at least one", "each has blocks, sequences and channels");
    if (s.sound() && is_too_large(model))
      s.error("residues", "one protein takes more than 1.8e+13 FLOPs in a single product",
              "reduce residues, sequences or channels");
  });
  return model;
}

struct Family {
  std::string_view name;
  std::string_view main_key;  // which the number of parameters follows from
  void (*read)(Section& section, ModelSpec& model);
};
constexpr std::array<Family, 5> kFamilies = {{
    {"transformer", "hidden", [](Section& s, ModelSpec& model) { model.sizes = read_transformer(s); }},
    {"dlrm", "rows", [](Section& s, ModelSpec& model) { model.sizes = read_dlrm(s); }},
    {"convolutional", "convolutions", [](Section& s, ModelSpec& model) { model.sizes = read_convolutional(s); }},
    {"recurrent", "recurrent", [](Section& s, ModelSpec& model) { model.sizes = read_recurrent(s); }},
    {"evoformer", "evoformer", [](Section& s, ModelSpec& model) { model.sizes = read_evoformer(s); }},
}};

}  // namespace

ModelSpec read_model(Section& section) {
  ModelSpec model;
  std::vector<LeftOut> left_out;
  if (is_hugging_face(section.contents())) {
    const std::size_t errors = section.errors();
    TranslatedModel translated = from_hugging_face(section.contents(), section.path(), section.context().diagnostics());
    section.rewrite(std::move(translated.contents));
    left_out = std::move(translated.left_out);
    if (!section.sound(errors)) {
      for (const ConfigEntry& entry : section.contents().entries) section.know(entry.key);
      return model;
    }
  }
  section.takes("name", model.name, "name of the model in results", "none");
  std::vector<std::string_view> names;
  for (const Family& family : kFamilies) names.push_back(family.name);
  const std::size_t kind =
      Choice("kind",
             "family of the model; keys that are marked \"dlrm\", \"convolutional\", \"recurrent\" or \"evoformer\" "
             "belong to these families, all others to transformers",
             names)
          .optional(section, 0);
  for (std::size_t i = 0; i < kFamilies.size(); ++i)
    section.when(kind == i, [&] { kFamilies[i].read(section, model); });
  section.note("parameters", "published number of parameters, for people");
  section.sources({});
  if (section.sound() && parameter_count(model) > kMostParameters)
    section.error(kFamilies[kind].main_key,
                  fmt::format("the sizes make {:.1e} parameters", static_cast<double>(parameter_count(model))),
                  "at most 10^15");
  if (const auto* transformer = std::get_if<TransformerSpec>(&model.sizes); transformer != nullptr && section.sound())
    tell_left_out(left_out, *transformer, section.context().diagnostics());
  return model;
}

}  // namespace orrery::workload
