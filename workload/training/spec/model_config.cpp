// Reads a model: what its kind has in common, and the keys of the two kinds that are no transformers.
#include <algorithm>

#include <fmt/format.h>

#include "core/config/quantity_text.h"
#include "workload/training/spec/model.h"
#include "workload/training/spec/transformer_config.h"

namespace orrery {
namespace {

constexpr Range kWidth{1, std::int64_t{1} << 20};
constexpr std::int64_t kMostParameters = 1'000'000'000'000'000;
constexpr std::size_t kMostLayers = 1000;
constexpr std::int64_t kMostConvolutions = 100'000;  // as many as a transformer has layers

const std::vector<std::string> kKinds = {"transformer", "dlrm", "convolutional"};

// The widths of a multi-layer perceptron, layer by layer.
std::vector<std::int64_t> read_widths(Section& section, std::string_view key, std::string_view meaning) {
  const ConfigValue* value = section.raw(key, "list of whole numbers", "required", meaning);
  std::vector<std::int64_t> widths;
  if (section.describes()) return widths;
  if (value == nullptr || value->kind != ConfigValue::Kind::kList || value->items.empty() ||
      value->items.size() > kMostLayers) {
    section.error(key, fmt::format("'{}' is no list of 1 to {} widths", key, kMostLayers), "such as [512, 256, 128]");
    return widths;
  }
  for (const ConfigValue& item : value->items) {
    const std::optional<std::int64_t> width =
        item.kind == ConfigValue::Kind::kScalar ? parse_whole_number(item.scalar) : std::nullopt;
    if (width && *width >= kWidth.least && *width <= kWidth.most)
      widths.push_back(*width);
    else
      section.context().diagnostics().error(item.where, fmt::format("no width of a layer of '{}'", key),
                                            fmt::format("a whole number, {} to {}", kWidth.least, kWidth.most));
  }
  return widths;
}

DlrmSpec read_dlrm(Section& section) {
  const std::size_t errors = section.context().diagnostics().error_count();
  DlrmSpec model;
  model.tables = section.required_integer("tables", {1, 4096}, "dlrm: embedding tables, all of one size");
  model.rows = section.required_integer("rows", {1, std::int64_t{1} << 40}, "dlrm: rows of a table");
  model.dimension = section.required_integer("dimension", {1, 1 << 16}, "dlrm: values of a row");
  model.lookups = section.optional_integer("lookups", 1, {1, 1 << 16}, "dlrm: rows summed up per table and sample");
  model.dense_features =
      section.required_integer("dense_features", kWidth, "dlrm: numbers of a sample that are no lookups");
  model.bottom = read_widths(section, "bottom", "dlrm: widths of the layers over the dense features");
  model.table_precision = kAllPrecisions[section.optional_choice("table_precision", precision_names(), 0,
                                                                 "dlrm: what the embedding tables are stored in")];
  model.top = read_widths(section, "top", "dlrm: widths of the layers over the interactions; the last is the result");
  if (section.describes() || section.context().diagnostics().error_count() > errors) return model;
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
  const std::size_t errors = section.context().diagnostics().error_count();
  Convolution c;
  c.name = section.optional<std::string>("name", "convolution", "for people");
  c.inputs = section.required_integer("inputs", kWidth, "channels of the input");
  c.outputs = section.required_integer("outputs", kWidth, "channels of the output");
  c.kernel = section.optional_integer("kernel", 1, {1, 1024}, "side of the kernel");
  c.size = section.required_integer("size", {1, 1 << 16}, "side of the output");
  c.stride = section.optional_integer("stride", 1, {1, 1024}, "pixels of the input from one of the output to the next");
  c.pool =
      section.optional_integer("pool", 1, {1, 1024}, "behind it the maximum of so many by so many pixels is taken");
  c.repeat = section.optional_integer("repeat", 1, {1, 10'000}, "how many of it follow one another");
  c.branches = section.optional<bool>("branches", c.branches, "a shortcut takes its input as well");
  c.adds = section.optional<bool>("adds", c.adds, "the other branch is added to the result of its batch norm");
  c.activation = section.optional<bool>("activation", c.activation, "ReLU behind the batch norm, and behind the sum");
  if (section.context().diagnostics().error_count() == errors && c.pool > c.size)
    section.error("pool", fmt::format("{} by {} pixels of an output of {} by {}", c.pool, c.pool, c.size, c.size),
                  "at most the size of the output");
  if (section.context().diagnostics().error_count() == errors && c.repeat > 1 && c.inputs != c.outputs)
    section.error("repeat", fmt::format("a convolution of {} to {} channels cannot follow itself", c.inputs, c.outputs),
                  "list the first one apart from those behind it");
  if (section.context().diagnostics().error_count() == errors && c.repeat > 1 && (c.stride > 1 || c.pool > 1))
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
  const std::size_t errors = section.context().diagnostics().error_count();
  ConvolutionalSpec model;
  section.list("convolutions", "convolutional: in the order of the network, each with a batch norm", [&](Section& s) {
    const std::size_t errors_before = s.context().diagnostics().error_count();
    model.convolutions.push_back(read_convolution(s));
    if (s.context().diagnostics().error_count() == errors_before) check_convolution(s, model.convolutions.back());
  });
  std::int64_t layers = 0;
  for (const Convolution& c : model.convolutions) layers += c.repeat;
  if (section.context().diagnostics().error_count() == errors && (layers < 1 || layers > kMostConvolutions))
    section.error("convolutions",
                  layers < 1
                      ? "'convolutions' is no list of at least one"
                      : fmt::format("{} convolutions, repeated ones included; at most {}", layers, kMostConvolutions),
                  layers < 1 ? "each has inputs, outputs, kernel and size" : "fewer of them, or lower 'repeat'");
  model.features = section.required_integer("features", kWidth, "convolutional: what the classifier takes");
  model.classes = section.required_integer("classes", kWidth, "convolutional: what the classifier tells apart");
  return model;
}

}  // namespace

ModelSpec read_model(Section& section) {
  const std::size_t errors = section.context().diagnostics().error_count();
  ModelSpec model;
  model.name = section.optional<std::string>("name", "", "as results print it", "none");
  const std::size_t kind = section.optional_choice(
      "kind", kKinds, 0, "which of the keys below hold: those of transformers, or those marked dlrm or convolutional");
  if (kind == 0 || section.describes()) model.sizes = read_transformer(section);
  if (kind == 1 || section.describes()) model.sizes = read_dlrm(section);
  if (kind == 2 || section.describes()) model.sizes = read_convolutional(section);
  section.note("parameters", "number of parameters as published");
  section.note("source", "where the figures come from");
  section.note("assumed", "figures that were not read in a source");
  if (!section.describes() && section.context().diagnostics().error_count() == errors &&
      parameter_count(model) > kMostParameters)
    section.error(kind == 1 ? "rows" : "convolutions",
                  fmt::format("the sizes make {:.1e} parameters", static_cast<double>(parameter_count(model))),
                  "at most 10^15");
  return model;
}

}  // namespace orrery
