// SPDX-License-Identifier: MIT
// Second half of a transformer layer, behind attention. The dense perceptron: up by columns, down by rows. A mixture of
// experts: a router sends every token to a few of them, all-to-all within the expert-parallel group, and their results
// come back the same way. Shared experts are a dense perceptron beside them.
#include <algorithm>
#include <cmath>

#include "workload/calls/token_rows.h"
#include "workload/training/layers/blocks.h"

namespace orrery::workload {
namespace {

// Sizes of the rank's experts and of the shared ones.
struct Experts {
  std::int64_t local = 0;     // experts of the rank
  std::int64_t sent = 0;      // rows that the rank's own tokens make, with padding, without dropped ones
  std::int64_t received = 0;  // rows that come to the rank from its group
  std::int64_t rows = 0;      // of its tensor group's experts, all of them
  std::int64_t ffn = 0;       // of one expert, on the rank
  std::int64_t shared = 0;    // the same of the shared ones together
  Gemm router, up, down, shared_up, shared_down;
};

Experts experts_of(const LayerShape& shape) {
  const TransformerSpec& model = *shape.model;
  const std::int64_t products = model.gated_mlp ? 2 : 1;  // by columns
  Experts e;
  e.local = (model.experts + shape.dispatching.redundant) / shape.expert;
  const auto chosen = static_cast<double>(shape.own_tokens() * model.experts_per_token);
  // At least one: a rank whose experts nobody chooses takes part in the exchange.
  e.sent = std::max<std::int64_t>(1, std::llround(chosen * shape.sent_load));
  e.received = std::max<std::int64_t>(1, std::llround(chosen * shape.expert_load));
  const std::int64_t all = e.received * (shape.sequence_parallel ? shape.expert_tensor : 1);
  const std::int64_t multiple = shape.dispatching.row_multiple;
  const std::int64_t each = ((all + e.local - 1) / e.local + multiple - 1) / multiple * multiple;  // of one expert
  e.rows = each * e.local;
  e.ffn = model.expert_hidden / shape.expert_tensor;
  e.shared = model.shared_experts * (model.expert_hidden / shape.tensor);
  e.router = Gemm{shape.own_tokens(), model.experts, model.hidden, 1, shape.activation()};
  e.up = linear(shape, each, products * e.ffn, model.hidden, e.local, Product::kUp);
  e.down = linear(shape, each, model.hidden, e.ffn, e.local, Product::kDown);
  e.up.grouped = e.down.grouped = e.local > 1;
  e.up.of_experts = e.down.of_experts = true;
  e.shared_up = linear(shape, shape.tokens(), products * e.shared, model.hidden, 1, Product::kUp);
  e.shared_down = linear(shape, shape.tokens(), model.hidden, e.shared, 1, Product::kDown);
  return e;
}

// Parameters as parameter_count() has them: the columns' biases divide, the rows' are on every rank.
ParameterCount parameters_of(const LayerShape& shape, const Experts& e) {
  const TransformerSpec& model = *shape.model;
  const std::int64_t bias = model.biases ? 1 : 0;
  ParameterCount count;
  count.expert = e.local * (e.up.n * (model.hidden + bias) + (e.down.k + bias) * model.hidden);
  count.dense = model.experts * model.hidden + norm_parameters(model) + e.shared_up.n * (model.hidden + bias) +
                (e.shared_down.k + bias * model.shared_experts) * model.hidden;
  return count;
}

Bytes rows_of(const LayerShape& shape, std::int64_t rows) { return Bytes(rows * shape.model->hidden * shape.width()); }

// Rows are gathered by index, as those of an embedding are.
ElementWise copy_rows(const LayerShape& shape, std::int64_t rows) {
  return element_wise(ElementWiseKind::kEmbedding, rows * shape.model->hidden, 2 * shape.width());
}

ElementWise activation(const LayerShape& shape, std::int64_t values, bool backward) {
  const std::int64_t moved = (shape.model->gated_mlp ? 3 : 2) + (backward ? (shape.model->gated_mlp ? 2 : 1) : 0);
  return element_wise(ElementWiseKind::kActivation, values, moved * shape.width());
}

// On their way to experts rows may have a precision of their own, with its scales.
Bytes sent_rows(const LayerShape& shape, std::int64_t rows, bool to_experts) {
  const Precision precision =
      to_experts ? shape.dispatching.precision.value_or(shape.activation()) : shape.activation();
  return token_rows(rows, shape.model->hidden, precision);
}

// All-to-all of the rows that come to the rank. With an uneven load the busiest rank carries most; it does so in the
// direction in which it receives, which on links of two equal directions takes as long as the one in which it sends.
// Or all ranks get all tokens, and results are added up on the way back.
void exchange(const LayerShape& shape, const std::string& name, const Experts& e, bool to_experts,
              ActionList& actions) {
  using enum CollectiveKind;
  const Bytes own = sent_rows(shape, shape.own_tokens(), to_experts);
  if (shape.dispatching.dispatch.kind != DispatchKind::kAllGather)
    actions.collective(name, GroupFamily::kExpert, shape.expert, kAllToAll, sent_rows(shape, e.received, to_experts));
  else if (to_experts)
    actions.collective(name, GroupFamily::kExpert, shape.expert, kAllGather, own);
  else
    actions.collective(name, GroupFamily::kExpert, shape.expert, kReduceScatter, own * shape.expert);
}

// Ranks of a tensor group that hold columns of all their experts: each needs the rows of all, and sums up all parts.
// `ranks`: all of the group, or one where each has whole experts.
void gather(std::int64_t ranks, const std::string& name, Bytes own, ActionList& actions) {
  actions.collective(name, GroupFamily::kTensor, ranks, CollectiveKind::kAllGather, own);
}

void sum(std::int64_t ranks, const std::string& name, Bytes own, ActionList& actions) {
  actions.collective(name, GroupFamily::kTensor, ranks, CollectiveKind::kReduceScatter, own * ranks);
}

constexpr const char* kName = "experts";

// True if shared experts are computed while the rows travel to the experts. With tensor parallelism they have
// communication of their own.
bool overlaps_shared(const LayerShape& shape, const Experts& e) {
  return e.shared > 0 && shape.dispatching.overlap_shared && shape.tensor == 1 && shape.expert > 1;
}

void add_shared(const LayerShape& shape, const Experts& e, bool backward, ActionList& actions) {
  const std::string name = std::string(kName) + " shared";
  if (overlaps_shared(shape, e)) {
    const std::vector<Operator> first =
        backward ? input_gradient_of(shape, e.shared_down) : forward_of(shape, e.shared_up);
    const std::vector<Operator> last =
        backward ? input_gradient_of(shape, e.shared_up) : forward_of(shape, e.shared_down);
    std::vector<Operator> all = first;
    all.emplace_back(activation(shape, shape.tokens() * e.shared, backward));
    all.insert(all.end(), last.begin(), last.end());
    return actions.beside_collective(name, all);
  }
  gather(shape.tensor, name + " gather", shape.own_activations(), actions);
  actions.add(backward ? input_gradient_of(shape, e.shared_down) : forward_of(shape, e.shared_up));
  actions.add(activation(shape, shape.tokens() * e.shared, backward));
  actions.add(backward ? input_gradient_of(shape, e.shared_up) : forward_of(shape, e.shared_down));
  sum(shape.tensor, name + " sum", shape.own_activations(), actions);
}

// Small kernels over the scores of all experts: `kernels` of those that find the best of them and their probabilities,
// and put the tokens in order. In DeepSeek-V3's profile (deepseek-ai/profile-data, train.json) they take 8 to 12 us
// each for the scores of 4096 tokens for 256 experts, which is as much as H800 moves 24 bytes a score in.
void add_routing(const LayerShape& shape, std::int64_t kernels, ActionList& actions) {
  constexpr std::int64_t kPasses = 3;
  const ElementWise scores = element_wise(ElementWiseKind::kCopy, shape.own_tokens() * shape.model->experts,
                                          2 * kPasses * size_of(Precision::kFp32).count());
  for (std::int64_t i = 0; i < kernels; ++i) actions.add(scores);
}

// Forward pass between the norm and the residual sum.
void add_experts(const LayerShape& shape, const Experts& e, ActionList& forward) {
  const std::string name = kName;
  forward.add(e.router);
  // Between choosing experts and putting tokens in order the host reads how many go where.
  add_routing(shape, shape.router - shape.router / 2, forward);
  if (shape.reads_sizes) forward.synchronise();
  add_routing(shape, shape.router / 2, forward);
  forward.add(copy_rows(shape, e.sent));
  exchange(shape, name + " dispatch", e, true, forward);
  if (overlaps_shared(shape, e)) add_shared(shape, e, false, forward);
  gather(shape.expert_tensor, name + " gather", rows_of(shape, e.received), forward);
  forward.add(forward_of(shape, e.up));
  forward.add(activation(shape, e.rows * e.ffn, false));
  forward.add(forward_of(shape, e.down));
  sum(shape.expert_tensor, name + " sum", rows_of(shape, e.received), forward);
  exchange(shape, name + " combine", e, false, forward);
  forward.add(copy_rows(shape, e.sent));
  if (e.shared > 0 && !overlaps_shared(shape, e)) add_shared(shape, e, false, forward);
}

std::vector<Action> forward_of(const LayerShape& shape, const Experts& e) {
  ActionList forward;
  forward.compute(kName);
  add_norm(shape, forward);
  add_experts(shape, e, forward);
  add_residual(shape, forward);
  return std::move(forward).take();
}

std::vector<Action> backward_of(const LayerShape& shape, const Experts& e, ParameterCount parameters) {
  const std::string name = kName;
  std::vector<Operator> weights = {weight_gradient(shape, e.up), weight_gradient(shape, e.down),
                                   weight_gradient(shape, e.router)};
  ActionList backward;
  backward.compute(name);
  add_residual_backward(shape, backward);
  if (e.shared > 0) {
    if (!overlaps_shared(shape, e)) add_shared(shape, e, true, backward);
    weights.emplace_back(weight_gradient(shape, e.shared_up));
    weights.emplace_back(weight_gradient(shape, e.shared_down));
  }
  backward.add(copy_rows(shape, e.sent));
  exchange(shape, name + " combine", e, true, backward);
  if (overlaps_shared(shape, e)) add_shared(shape, e, true, backward);
  gather(shape.expert_tensor, name + " gather", rows_of(shape, e.received), backward);
  backward.add(input_gradient_of(shape, e.down));
  backward.add(activation(shape, e.rows * e.ffn, true));
  backward.add(input_gradient_of(shape, e.up));
  backward.weight_gradient(name + " weights", weights, parameters, shape.other_weight_gradients());
  sum(shape.expert_tensor, name + " sum", rows_of(shape, e.received), backward);
  exchange(shape, name + " dispatch", e, false, backward);
  backward.add(copy_rows(shape, e.sent));
  add_routing(shape, shape.router, backward);
  backward.add(input_gradient(e.router));
  add_norm_backward(shape, backward);
  return std::move(backward).take();
}

// Rows that experts take. Ranks that share experts keep them as they were gathered, too.
Bytes kept_rows(const LayerShape& shape, const Experts& e) {
  const bool gathers = shape.sequence_parallel && shape.expert_tensor > 1;
  const Bytes taken = shape.saves_cast(Product::kUp) ? shape.saved_values(Product::kUp, e.rows * shape.model->hidden)
                                                     : sent_rows(shape, e.rows, true);
  return taken + (gathers ? rows_of(shape, e.rows) : Bytes(0));
}

// Values that the router's weights are multiplied with: results as they came back, or where experts give them if sums
// come back, but for kernels of their own, which add up tokens where they are; or activations, unless one kernel gates
// and weights them.
Bytes kept_for_weights(const LayerShape& shape, const Experts& e) {
  if (shape.router_weights == RouterWeights::kActivations)
    return Bytes(shape.model->gated_mlp ? 0 : e.rows * e.ffn * shape.width());
  switch (shape.dispatching.dispatch.kind) {
    case DispatchKind::kCopies:
      return Bytes(0);
    case DispatchKind::kAllGather:
      return rows_of(shape, e.rows);
    default:
      return rows_of(shape, e.sent);
  }
}

// Activation of `values`, of which a product takes the result of `activated` bytes.
void add_activation_again(const LayerShape& shape, std::int64_t values, Bytes activated, ActionList& again,
                          BlockProgram& block) {
  if (values == 0) return;
  again.add(activation(shape, values, false));
  const std::int64_t inputs = shape.model->gated_mlp ? 2 : 1;
  block.saved_again += activated;
  if (shape.modules.fp8_inputs) block.saved_again += Bytes(values * inputs * (shape.width() - 1));
}

// Sizes of what experts and shared experts keep behind their first product.
struct KeptByExperts {
  const LayerShape& shape;
  std::int64_t values = 0, shared = 0;  // activated, of experts and of shared ones
  Bytes weighted{0};                    // by the router's weights

  // Results of the activation of so many values, and the same with its inputs.
  Bytes activated(std::int64_t of) const { return shape.saved_values(Product::kDown, of); }
  Bytes around_activation(std::int64_t of) const {
    return Bytes(of * (shape.model->gated_mlp ? 2 : 1) * shape.width()) + activated(of);
  }
  Bytes behind_rows() const { return around_activation(values + shared) + weighted; }
};

KeptByExperts kept_by_experts(const LayerShape& shape, const Experts& e) {
  return {shape, e.rows * e.ffn, shape.tokens() * e.shared, kept_for_weights(shape, e)};
}

std::vector<Action> experts_again(const LayerShape& shape, const Experts& e, const KeptByExperts& kept,
                                  BlockProgram& block) {
  const RecomputeModules& modules = shape.modules;
  ActionList again;
  again.compute(kName);
  add_norm_again(shape, shape.own_activations(), again, block);
  if (modules.experts) {
    add_experts(shape, e, again);
    block.saved_again += kept_rows(shape, e) + kept.behind_rows();
    std::vector<Action> actions = std::move(again).take();
    if (!shape.recompute_all) drop_result(Product::kDown, actions);
    for (Action& action : actions)
      if (auto* compute = std::get_if<Compute>(&action)) compute->of_varying_sizes = true;
    return actions;
  }
  const bool apart = modules.shared_experts && e.shared > 0;
  if (modules.activation || modules.expert_activation) {
    const std::int64_t values = kept.values + (modules.activation && !apart ? kept.shared : 0);
    const bool within = shape.router_weights == RouterWeights::kActivations;
    add_activation_again(shape, values, kept.activated(values) + (within ? kept.weighted : Bytes(0)), again, block);
  }
  if (apart) {
    add_shared(shape, e, false, again);
    block.saved_again += kept.around_activation(kept.shared);
  }
  return std::move(again).take();
}

// Products between the norm and the residual sum.
void add_perceptron(const LayerShape& shape, const Gemm& up, const Gemm& down, ActionList& actions) {
  actions.add(forward_of(shape, up));
  actions.add(activation(shape, shape.tokens() * down.k, false));
  actions.add(forward_of(shape, down));
}

}  // namespace

BlockProgram perceptron_block(const LayerShape& shape) {
  const std::string name = "mlp";
  const TransformerSpec& model = *shape.model;
  const std::int64_t ffn = model.ffn_hidden / shape.tensor, up_width = model.gated_mlp ? 2 * ffn : ffn;
  const Gemm up = linear(shape, shape.tokens(), up_width, model.hidden, 1, Product::kUp);
  const Gemm down = linear(shape, shape.tokens(), model.hidden, ffn, 1, Product::kDown);
  const std::int64_t width = shape.width(), values = shape.tokens() * ffn;
  BlockProgram block;
  const Trained weights_of = trained_of(
      shape, (up_width + ffn) * model.hidden + (model.biases ? up_width + model.hidden : 0) + norm_parameters(model),
      {up, down});
  block.parameters.dense = weights_of.trained;
  block.frozen = weights_of.frozen;

  ActionList forward;
  begin_forward(shape, name, Product::kUp, forward);
  add_perceptron(shape, up, down, forward);
  end_forward(shape, name, forward);
  block.forward = std::move(forward).take();

  ActionList backward;
  begin_backward(shape, name, Product::kDown, backward);
  backward.add(input_gradient_of(shape, down));
  std::vector<Operator> weights = weight_gradient_of(shape, up);
  const std::vector<Operator> of_down = weight_gradient_of(shape, down);
  if (shape.weight_gradients == WeightGradients::kApart)
    weights.insert(weights.end(), of_down.begin(), of_down.end());
  else
    backward.add(of_down);
  // Reads the gradient and what went in, writes the gradient of that; the sum for a bias is half a read on the way.
  backward.add(element_wise(ElementWiseKind::kActivation, values,
                            (model.gated_mlp ? 5 : 3) * width + (model.biases ? width / 2 : 0)));
  backward.add(input_gradient_of(shape, up));
  end_backward(shape, name, weights, block.parameters, backward);
  block.backward = std::move(backward).take();

  const Bytes made(values * (model.gated_mlp ? 2 : 1) * width);
  const Bytes activated = shape.saved_values(Product::kDown, values);
  block.saved = saved_around(shape) + shape.saved_input(Product::kUp) + made + activated;
  ActionList again;
  again.compute(shape.modules.perceptron ? name : kName);
  add_norm_again(shape, shape.saved_input(Product::kUp), again, block);
  if (shape.modules.perceptron) {
    gather_operands(shape, name, Product::kUp, ProductStage::kForward, again);
    add_perceptron(shape, up, down, again);
    sum_results(shape, name, again);
    block.saved_again += made + activated;
  } else if (shape.modules.activation) {
    add_activation_again(shape, values, activated, again, block);
  }
  block.again = std::move(again).take();
  if (shape.modules.perceptron && !shape.recompute_all) drop_result(Product::kDown, block.again);
  return block;
}

BlockProgram expert_block(const LayerShape& shape) {
  const Experts e = experts_of(shape);
  BlockProgram block;
  block.parameters = parameters_of(shape, e);
  block.forward = forward_of(shape, e);
  block.backward = backward_of(shape, e, block.parameters);
  // Inputs of the router and of the experts, what the experts computed, and the same of shared ones.
  const KeptByExperts kept = kept_by_experts(shape, e);
  block.saved = saved_around(shape) + shape.own_activations() + kept_rows(shape, e) + kept.behind_rows();
  block.again = experts_again(shape, e, kept, block);
  for (std::vector<Action>* actions : {&block.forward, &block.backward})
    for (Action& action : *actions)
      if (auto* compute = std::get_if<Compute>(&action)) compute->of_varying_sizes = true;
  return block;
}

}  // namespace orrery::workload
