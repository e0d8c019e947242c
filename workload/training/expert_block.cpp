// A mixture of experts: a router sends every token to a few of them, all-to-all within the expert-parallel group, and
// their results come back the same way. Shared experts are a dense perceptron beside them.
#include <algorithm>
#include <cmath>

#include "workload/training/layer_blocks.h"

namespace orrery {
namespace {

struct Experts {
  std::int64_t local = 0;      // experts of the rank
  std::int64_t sent = 0;       // rows that the rank's own tokens make
  std::int64_t received = 0;   // rows that come to the rank from its group
  std::int64_t rows_each = 0;  // of one local expert, over all of the tensor group
  std::int64_t ffn = 0;        // of one expert, on the rank
  std::int64_t up = 0;
};

Experts experts_of(const LayerShape& shape) {
  const TransformerSpec& model = *shape.model;
  Experts e;
  e.local = model.experts / shape.expert;
  e.sent = shape.own_tokens() * model.experts_per_token;
  // At least one: a rank whose experts nobody chooses takes part in the exchange.
  e.received = std::max<std::int64_t>(1, std::llround(static_cast<double>(e.sent) * shape.expert_load));
  const std::int64_t rows = e.received * (shape.sequence_parallel ? shape.tensor : 1);
  e.rows_each = (rows + e.local - 1) / e.local;
  e.ffn = model.expert_hidden / shape.tensor;
  e.up = model.gated_mlp ? 2 * e.ffn : e.ffn;
  return e;
}

Bytes rows_of(const LayerShape& shape, std::int64_t rows) { return Bytes(rows * shape.model->hidden * shape.width()); }

// All-to-all of the rows that come to the rank. With an uneven load the busiest rank carries most; it does so in the
// direction in which it receives, which on links of two equal directions takes as long as the one in which it sends.
void exchange(const LayerShape& shape, const std::string& name, const Experts& e, ActionList& actions) {
  actions.collective(name, GroupFamily::kExpert, shape.expert, CollectiveKind::kAllToAll, rows_of(shape, e.received));
}

// The ranks of a tensor group hold columns of all their experts: each needs the rows of all, and sums up all parts.
void gather_rows(const LayerShape& shape, const std::string& name, const Experts& e, ActionList& actions) {
  actions.collective(name, GroupFamily::kTensor, shape.tensor, CollectiveKind::kAllGather, rows_of(shape, e.received));
}

void sum_rows(const LayerShape& shape, const std::string& name, const Experts& e, ActionList& actions) {
  actions.collective(name, GroupFamily::kTensor, shape.tensor, CollectiveKind::kReduceScatter,
                     rows_of(shape, e.received * shape.tensor));
}

ElementWise copy_rows(const LayerShape& shape, std::int64_t rows) {
  return element_wise(ElementWiseKind::kCopy, rows * shape.model->hidden, 2 * shape.width());
}

}  // namespace

BlockProgram expert_block(const LayerShape& shape) {
  const std::string name = "experts";
  const TransformerSpec& model = *shape.model;
  const Experts e = experts_of(shape);
  const Gemm router = linear(shape, shape.own_tokens(), model.experts, model.hidden);
  const Gemm up = linear(shape, e.rows_each, e.up, model.hidden, e.local);
  const Gemm down = linear(shape, e.rows_each, model.hidden, e.ffn, e.local);
  const std::int64_t width = shape.width(), values = e.rows_each * e.local * e.ffn;
  const std::int64_t shared = model.shared_experts * model.expert_hidden / shape.tensor;
  const std::int64_t shared_up = model.gated_mlp ? 2 * shared : shared;
  const Gemm shared_in = linear(shape, shape.tokens(), shared_up, model.hidden);
  const Gemm shared_out = linear(shape, shape.tokens(), model.hidden, shared);
  const ElementWise act = element_wise(ElementWiseKind::kActivation, values, (model.gated_mlp ? 3 : 2) * width);
  const ElementWise act_back = element_wise(ElementWiseKind::kActivation, values, (model.gated_mlp ? 5 : 3) * width);

  BlockProgram block;
  block.parameters.expert = e.local * (e.up + e.ffn) * model.hidden;
  block.parameters.dense = model.experts * model.hidden + norm_parameters(model) + (shared_up + shared) * model.hidden;

  ActionList forward;
  forward.compute(name);
  add_norm(shape, forward);
  forward.add(router);
  forward.add(copy_rows(shape, e.sent));
  exchange(shape, name + " dispatch", e, forward);
  gather_rows(shape, name + " gather", e, forward);
  forward.add(up);
  forward.add(act);
  forward.add(down);
  sum_rows(shape, name + " sum", e, forward);
  exchange(shape, name + " combine", e, forward);
  forward.add(copy_rows(shape, e.sent));
  if (shared > 0) {
    forward.collective(name + " shared gather", GroupFamily::kTensor, shape.tensor, CollectiveKind::kAllGather,
                       shape.own_activations());
    forward.add(shared_in);
    forward.add(element_wise(ElementWiseKind::kActivation, shape.tokens() * shared, (model.gated_mlp ? 3 : 2) * width));
    forward.add(shared_out);
    forward.collective(name + " shared sum", GroupFamily::kTensor, shape.tensor, CollectiveKind::kReduceScatter,
                       shape.activations());
  }
  add_residual(shape, forward);
  block.forward = std::move(forward).take();

  const bool apart = shape.weight_gradients == WeightGradients::kApart;
  ActionList backward;
  backward.compute(name);
  add_residual_backward(shape, backward);
  std::vector<Operator> weights = {weight_gradient(up), weight_gradient(down), weight_gradient(router)};
  if (shared > 0) {
    backward.collective(name + " shared gather", GroupFamily::kTensor, shape.tensor, CollectiveKind::kAllGather,
                        shape.own_activations());
    backward.add(input_gradient(shared_out));
    backward.add(
        element_wise(ElementWiseKind::kActivation, shape.tokens() * shared, (model.gated_mlp ? 5 : 3) * width));
    backward.add(input_gradient(shared_in));
    backward.collective(name + " shared sum", GroupFamily::kTensor, shape.tensor, CollectiveKind::kReduceScatter,
                        shape.activations());
    weights.emplace_back(weight_gradient(shared_in));
    weights.emplace_back(weight_gradient(shared_out));
  }
  backward.add(copy_rows(shape, e.sent));
  exchange(shape, name + " combine", e, backward);
  gather_rows(shape, name + " gather", e, backward);
  backward.add(input_gradient(down));
  backward.add(act_back);
  backward.add(input_gradient(up));
  backward.weight_gradient(name + " weights", weights, block.parameters, apart);
  sum_rows(shape, name + " sum", e, backward);
  exchange(shape, name + " dispatch", e, backward);
  backward.add(copy_rows(shape, e.sent));
  backward.add(input_gradient(router));
  add_norm_backward(shape, backward);
  block.backward = std::move(backward).take();

  // Inputs of the router and of the experts, what the experts computed, and the same of shared ones.
  const std::int64_t kept = model.gated_mlp ? 3 : 2;
  block.saved = saved_around(shape) + shape.own_activations() + rows_of(shape, e.rows_each * e.local) +
                rows_of(shape, e.sent) + Bytes((values + shape.tokens() * shared) * kept * width);
  return block;
}

}  // namespace orrery
