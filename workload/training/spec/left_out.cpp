// SPDX-License-Identifier: MIT
#include "workload/training/spec/left_out.h"

#include <algorithm>

#include <fmt/format.h>

#include "core/config/quantity_text.h"
#include "workload/training/spec/transformer_flops.h"

namespace orrery::workload {
namespace {

std::string giga(double flops) { return fmt::format("{:.3g}", flops / 1e9); }

// Tells what windows save: a token sees `part.amount` keys, so attention's work shrinks to that share of the sequence.
void tell_window(const LeftOut& part, const TransformerSpec& model, Diagnostics& diagnostics) {
  const std::int64_t layers = std::min(part.layers, model.layers);
  if (part.amount >= model.sequence || layers == 0) return;
  const double whole = flops_per_token(model, false);
  const double unseen = static_cast<double>(model.sequence - part.amount);
  // The indexer's products forward and backward: 6 FLOPs for each value of each key.
  const double index = 6 * static_cast<double>(part.index_values) * static_cast<double>(model.sequence);
  const double windowed = whole + static_cast<double>(layers) * (index - unseen * score_flops_per_key(model));
  const bool is_window = part.kind == LeftOutKind::kWindow;
  diagnostics.warning(
      part.where,
      fmt::format(
          "{} {} of sequence {} is not modelled: with full attention in {} of {} layers a token takes {} GFLOP, "
          "with {} {}",
          part.key, part.amount, model.sequence, layers, model.layers, giga(whole),
          is_window ? "the window" : "the indexer and the keys it selects", giga(windowed)),
      fmt::format("a sequence of {} tokens or fewer is not affected", part.amount));
}

void tell_tower(const LeftOut& part, const TransformerSpec& model, Diagnostics& diagnostics) {
  const std::string size = part.amount == 0 ? std::string("of unknown size")
                                            : fmt::format("of about {} parameters", rounded_count(part.amount));
  diagnostics.warning(part.where,
                      fmt::format("'{}', {}, is left out: only the language model of {} parameters is taken",
                                  printable(part.key, 60), size, rounded_count(parameter_count(model))));
}

void tell(const LeftOut& part, const TransformerSpec& model, Diagnostics& diagnostics) {
  switch (part.kind) {
    case LeftOutKind::kWindow:
    case LeftOutKind::kIndexer:
      return tell_window(part, model, diagnostics);
    case LeftOutKind::kTower:
      return tell_tower(part, model, diagnostics);
    case LeftOutKind::kHeadNorms:
      return diagnostics.warning(
          part.where,
          fmt::format("{} is not modelled: norms of queries and keys, {} of {} parameters, and a pass over "
                      "{} values of each token in a layer",
                      part.key, rounded_count(2 * model.head_size * model.layers),
                      rounded_count(parameter_count(model)), (model.heads + model.kv_heads) * model.head_size));
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
