// SPDX-License-Identifier: MIT
#include "workload/training/model_files/left_out.h"

#include <string_view>

#include <fmt/format.h>

#include "core/config/quantity_text.h"

namespace orrery::workload {
namespace {

void tell_tower(const LeftOut& part, const TransformerSpec& model, Diagnostics& diagnostics) {
  const std::string size = part.amount == 0 ? std::string("of unknown size")
                                            : fmt::format("of about {} parameters", rounded_count(part.amount));
  diagnostics.warning(part.where,
                      fmt::format("'{}', {}, is left out: only the language model of {} parameters is taken",
                                  printable(part.key, 60), size, rounded_count(parameter_count(model))));
}

void tell_weights(const LeftOut& part, std::string_view what, std::int64_t count, const TransformerSpec& model,
                  Diagnostics& diagnostics) {
  diagnostics.warning(part.where, fmt::format("{}: {} are not modelled, {} of {} parameters", part.key, what,
                                              rounded_count(count), rounded_count(parameter_count(model))));
}

void tell(const LeftOut& part, const TransformerSpec& model, Diagnostics& diagnostics) {
  switch (part.kind) {
    case LeftOutKind::kTower:
      return tell_tower(part, model, diagnostics);
    case LeftOutKind::kAttentionBiases:
      return tell_weights(part, "biases of queries, keys and values alone",
                          model.layers * (model.heads + 2 * model.kv_heads) * model.head_size, model, diagnostics);
    case LeftOutKind::kMlpBiases:
      return tell_weights(part, "biases of MLPs alone",
                          model.layers * (model.hidden + (model.gated_mlp ? 2 : 1) * model.ffn_hidden), model,
                          diagnostics);
    case LeftOutKind::kPostNorms:
      return tell_weights(part, "norms behind attention and MLP", 2 * model.layers * model.hidden, model, diagnostics);
    case LeftOutKind::kSideBySide:
      return diagnostics.warning(
          part.where,
          fmt::format(
              "{} is not modelled: where attention and MLP take the same input, tensor-parallel ranks sum up once "
              "in a layer and direction; two sums of {} values a token are counted in each of {} layers",
              part.key, model.hidden, model.layers),
          "without tensor parallelism it changes next to nothing");
    case LeftOutKind::kTied:
      return diagnostics.warning(
          part.where,
          fmt::format("'tie_word_embeddings' is missing: taken as false; tied, the model has {} of {} parameters fewer",
                      rounded_count(model.hidden * model.vocab), rounded_count(parameter_count(model))),
          "write \"tie_word_embeddings\" beside the other keys");
  }
}

}  // namespace

void tell_left_out(const std::vector<LeftOut>& parts, const TransformerSpec& model, Diagnostics& diagnostics) {
  for (const LeftOut& part : parts) tell(part, model, diagnostics);
}

}  // namespace orrery::workload
