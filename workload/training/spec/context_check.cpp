// SPDX-License-Identifier: MIT
// Checks of how ranks share a transformer's sequence, and of its loss in chunks.
#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "workload/training/spec/check.h"
#include "workload/training/spec/mixer_sizes.h"

namespace orrery::workload {
namespace {

class ContextCheck {
 public:
  ContextCheck(const TrainingSpec& training, Diagnostics& diagnostics)
      : training_(training), parallel_(training.parallel), diagnostics_(diagnostics) {}

  void run(const TransformerSpec& model) {
    check_sight(model);
    check_context(model);
    check_loss(model);
  }

 private:
  void error(std::string_view key, std::string message, std::string hint) {
    diagnostics_.error(training_.where_of(key), std::move(message), std::move(hint));
  }

  // Limits of what a query sees where a sequence is spread over ranks.
  void check_sight(const TransformerSpec& model) {
    for (std::size_t i = 0; i < std::max<std::size_t>(1, model.kinds.size()); ++i) {
      const LayerKind kind = model.kind(i);
      const AttentionSpec& own = kind.attention;
      if (kind.mixer != MixerKind::kAttention || parallel_.context() == 1) continue;
      if (own.indexer)
        return error("parallel.context", "an indexer over keys of context-parallel ranks is not modelled",
                     "workload.parallel.context: 1");
      const std::int64_t keys = keys_seen(own, model.sequence);
      if (keys == model.sequence) continue;
      if (parallel_.context_ring() > 1)
        return error(
            "parallel.context_kind",
            fmt::format("a query sees {} of {} keys, and a ring would pass on all of them", keys, model.sequence),
            "workload.parallel.context_kind: all-gather or all-to-all, or workload.parallel.context: 1");
      if (parallel_.context_kind != ContextKind::kAllGather) continue;
      if (parallel_.context_balance == ContextBalance::kContiguous)
        return error("parallel.context_balance",
                     fmt::format("a query sees {} of {} keys, which leaves no rank more to do than others", keys,
                                 model.sequence),
                     "workload.parallel.context_balance: zigzag");
      const std::int64_t chunks = model.sequence / chunk_of(own, model.sequence);
      if (model.sequence / parallel_.context() % chunks != 0)
        return error("parallel.context",
                     fmt::format("{} tokens of a context-parallel rank do not divide into {} chunks",
                                 model.sequence / parallel_.context(), chunks),
                     divisors_of("parallel.context", model.sequence / chunks, 1024, parallel_.context()));
    }
  }

  // Reports keys of context parallelism that cannot act.
  void check_context(const TransformerSpec& model) {
    const std::int64_t context = parallel_.context(), inner = parallel_.context_inner;
    const bool has_inner = parallel_.context_kind == ContextKind::kAllToAllRing;
    if (inner > 0 && !has_inner)
      error("parallel.context_inner", "context_inner changes nothing: it is of all-to-all within groups",
            "workload.parallel.context_kind: all-to-all+ring, or leave it out");
    if (inner > 0 && has_inner && context % inner != 0)
      return error("parallel.context_inner",
                   fmt::format("{} context-parallel ranks do not divide into groups of {}", context, inner),
                   divisors_of("parallel.context_inner", context, context, inner));
    if (parallel_.context_balance == ContextBalance::kContiguous && !is_unbalanced(model))
      error("parallel.context_balance", "context_balance changes nothing: all ranks have as much to do either way",
            "leave it out; it is of flash attention with a causal mask, whose keys and values ranks pass round or "
            "gather");
    check_heads_of_context(model);
  }

  bool is_unbalanced(const TransformerSpec& model) const {
    const bool gathers = parallel_.context_kind == ContextKind::kAllGather && parallel_.context() > 1;
    return model.causal && attention_of(training_) == AttentionKind::kFlash &&
           (gathers || parallel_.context_ring() > 1);
  }

  // An all-to-all gives each rank heads of its own, of every kind of layers.
  void check_heads_of_context(const TransformerSpec& model) {
    for (std::size_t i = 0; i < std::max<std::size_t>(1, model.kinds.size()); ++i)
      if (const LayerKind kind = model.kind(i); kind.mixer == MixerKind::kAttention)
        if (!heads_divide(kind.attention)) return;
  }

  bool heads_divide(const AttentionSpec& own) {
    const std::int64_t ranks = parallel_.context_by_heads(), tensor = parallel_.tensor();
    if (ranks == 1 || own.heads % tensor != 0) return true;
    const std::int64_t heads = own.heads / tensor, pairs = std::max<std::int64_t>(1, own.kv_heads / tensor);
    const std::string key =
        parallel_.context_kind == ContextKind::kAllToAll ? "parallel.context" : "parallel.context_inner";
    const std::string other = ", or workload.parallel.context_kind: ring or all-gather, which cut no heads";
    if (heads % ranks != 0) {
      error(key,
            fmt::format("{} attention heads of a tensor-parallel rank do not divide among {} ranks of an all-to-all",
                        heads, ranks),
            divisors_of(key, heads, 1024, ranks) + other);
      return false;
    }
    if (own.latent || pairs % ranks == 0 || ranks % pairs == 0) return true;
    error(key,
          fmt::format("{} heads of keys and values of a tensor-parallel rank neither divide among {} ranks of an "
                      "all-to-all nor repeat evenly",
                      pairs, ranks),
          fmt::format("{}, or a multiple of {}, so that each head of keys and values is sent to as many ranks as "
                      "share it{}",
                      divisors_of(key, pairs, 1024, ranks), pairs, other));
    return false;
  }

  void check_loss(const TransformerSpec& model) {
    const LossSpec& loss = training_.loss;
    if (loss.is_plain()) return;
    if (model.patches || model.vocab == 0)
      return error("loss", "loss changes nothing: the model has no logits of a vocabulary",
                   "leave it out, or give workload.model.vocab");
    const std::int64_t tokens = training_.micro_batch * model.predicted() / parallel_.context();
    if (loss.chunks > std::max<std::int64_t>(1, tokens))
      error("loss.chunks", fmt::format("{} tokens of a micro-batch cannot be cut into {} chunks", tokens, loss.chunks),
            fmt::format("workload.loss.chunks: 1 to {}", std::max<std::int64_t>(1, tokens)));
  }

  const TrainingSpec& training_;
  const Parallelism& parallel_;
  Diagnostics& diagnostics_;
};

}  // namespace

void check_context(const TrainingSpec& training, Diagnostics& diagnostics) {
  ContextCheck(training, diagnostics).run(*training.transformer());
}

}  // namespace orrery::workload
