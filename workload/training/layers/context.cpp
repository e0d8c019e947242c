// SPDX-License-Identifier: MIT
#include "workload/training/layers/context.h"

#include <algorithm>
#include <string>
#include <utility>

namespace orrery::workload {
namespace {

// Ranks beyond the heads of keys and values get copies of them, made before they are sent.
std::int64_t copies_of(const LayerShape& shape, const CoreValues& values) {
  return std::max<std::int64_t>(1, shape.by_heads / values.kv_heads);
}

// Exchange of the core of one layer in one direction.
class CoreExchange {
 public:
  CoreExchange(const LayerShape& shape, const CoreValues& values, bool backward, const CoreOperators& operators_of,
               ActionList& actions)
      : shape_(shape), values_(values), backward_(backward), operators_of_(operators_of), actions_(actions) {}

  void add() {
    const std::int64_t pairs = values_.pairs * copies_of(shape_, values_);
    if (backward_)
      result_by_tokens(false);
    else
      by_heads("queries, keys and values by heads", values_.queries + pairs, false);
    add_core();
    if (!backward_) return result_by_tokens(true);
    by_heads("gradients by tokens", values_.queries + pairs, true);
    // The gradients of copies are summed up.
    if (pairs > values_.pairs) actions_.add(moved(ElementWiseKind::kAdd, pairs + values_.pairs, 1));
  }

 private:
  Bytes bytes(std::int64_t values) const { return Bytes(shape_.tokens() * values * shape_.width()); }
  ElementWise moved(ElementWiseKind kind, std::int64_t values, std::int64_t times) const {
    return {kind, bytes(values) * times};
  }

  // An all-to-all of `values` of each token, with the copy that puts what goes to one rank, or comes from one, in a
  // row.
  void by_heads(const std::string& name, std::int64_t values, bool of_result) {
    if (shape_.by_heads < 2) return;
    const ElementWise copy = moved(ElementWiseKind::kCopy, values, 2);
    const GroupFamily family = shape_.ring > 1 ? GroupFamily::kContextInner : GroupFamily::kContext;
    if (!of_result) actions_.add(copy);
    actions_.exchange(name, family, shape_.by_heads, bytes(values), of_result);
    if (of_result) actions_.add(copy);
  }
  // Results by heads become results by tokens, their gradients the other way.
  void result_by_tokens(bool forward) {
    by_heads(forward ? "result by tokens" : "gradient of the result by heads", values_.results, forward);
  }

  std::int64_t batch() const { return shape_.micro_batch * shape_.heads() / shape_.by_heads; }
  // Queries of a rank once it has its heads of all tokens of its group.
  std::int64_t queries() const { return shape_.rank_sequence() * shape_.by_heads; }
  // True if a part can leave out scores that the causal mask hides.
  bool skips() const { return shape_.model->causal && shape_.attention == AttentionKind::kFlash; }
  bool is_zigzag() const { return shape_.context_balance == ContextBalance::kZigzag; }

  void add_core() {
    if (shape_.ring > 1) return add_ring();
    const Bytes own = bytes(values_.pairs);
    const bool gathers = shape_.context > 1 && shape_.context_kind == ContextKind::kAllGather;
    if (gathers)
      actions_.collective("keys and values gather", GroupFamily::kContext, shape_.context, CollectiveKind::kAllGather,
                          own);
    CorePart whole{batch(), queries(), shape_.model->sequence, shape_.model->causal};
    // Ranks with one piece of the sequence wait for the last, whose queries see all keys but half of their own piece's.
    if (gathers && !is_zigzag() && skips()) whole.keys -= queries() / 2, whole.causal = false;
    actions_.add(operators_of_(whole));
    if (gathers && backward_)
      actions_.collective("keys and values gradients", GroupFamily::kContext, shape_.context,
                          CollectiveKind::kReduceScatter, own * shape_.context);
  }

  // The own block is half masked. Of another one, a rank with two pieces of the sequence takes half: all of its queries
  // against the keys of the other's first piece, or its second piece's queries against all, which is as much; the last
  // of ranks with one piece each takes all.
  void add_ring() {
    const CorePart own{batch(), queries(), queries(), shape_.model->causal};
    CorePart other = own;
    if (skips()) {
      other.causal = false;
      if (is_zigzag()) other.keys = (own.keys + 1) / 2;
    }
    RingExchange ring;
    ring.name = "keys and values";
    ring.blocks = shape_.ring;
    ring.own = operators_of_(own);
    ring.operators = operators_of_(other);
    ring.bytes = bytes(values_.pairs * copies_of(shape_, values_));
    ring.has_gradients = backward_;
    if (backward_) add_sums(own, other, ring);
    if (!backward_) ring.operators.push_back(merging());
    actions_.ring(std::move(ring));
  }

  // Takes the block's result and what earlier blocks made, each with the logarithm of its sum of exponentials in fp32,
  // and writes both for the next block.
  Operator merging() const {
    const std::int64_t rows = shape_.tokens() * shape_.heads();
    return ElementWise{ElementWiseKind::kAdd, bytes(values_.results) * 3 + Bytes(3 * 4) * rows};
  }

  // Gradients of the queries are added up over blocks, those of keys and values over the ranks that they pass.
  void add_sums(const CorePart& own, const CorePart& other, RingExchange& ring) const {
    const std::int64_t pairs = values_.pairs * copies_of(shape_, values_) * other.keys / own.keys;
    ring.operators.push_back(moved(ElementWiseKind::kAdd, values_.queries + pairs, 3));
  }

  const LayerShape& shape_;
  const CoreValues& values_;
  const bool backward_;
  const CoreOperators& operators_of_;
  ActionList& actions_;
};

}  // namespace

void add_core_exchanged(const LayerShape& shape, const CoreValues& values, bool backward,
                        const CoreOperators& operators_of, ActionList& actions) {
  CoreExchange(shape, values, backward, operators_of, actions).add();
}

Bytes saved_copies(const LayerShape& shape, const CoreValues& values) {
  return Bytes(shape.tokens() * values.pairs * (copies_of(shape, values) - 1) * shape.width());
}

// All-gather: keys and values of the other ranks. Ring: the block that comes. All-to-all: queries, keys and values as
// they are sent.
Bytes exchange_buffers(const LayerShape& shape, const CoreValues& values) {
  if (shape.context == 1) return Bytes(0);
  const Bytes pairs(shape.tokens() * values.pairs * copies_of(shape, values) * shape.width());
  if (shape.context_kind == ContextKind::kAllGather) return pairs * (shape.context - 1);
  const Bytes queries(shape.tokens() * values.queries * shape.width());
  return (shape.ring > 1 ? pairs : Bytes(0)) + (shape.by_heads > 1 ? queries + pairs : Bytes(0));
}

}  // namespace orrery::workload
