// SPDX-License-Identifier: MIT
#include "workload/training/layers/blocks.h"

#include <utility>

namespace orrery::workload {

void ActionList::compute(std::string name) {
  close();
  open_.name = std::move(name);
}

void ActionList::add(const Operator& op) { open_.operators.push_back(op); }

void ActionList::add(const std::vector<Operator>& operators) {
  open_.operators.insert(open_.operators.end(), operators.begin(), operators.end());
}

void ActionList::weight_gradient(const std::string& name, const std::vector<Operator>& operators,
                                 ParameterCount finishes, WeightGradients place) {
  if (place == WeightGradients::kInline) {
    add(operators);
    open_.finishes += finishes;
    return;
  }
  const std::string goes_on = open_.name;
  close();
  actions_.emplace_back(Compute{name, operators, true, finishes, place == WeightGradients::kBeside});
  open_.name = goes_on;
}

void ActionList::collective(std::string name, GroupFamily family, std::int64_t group_size, CollectiveKind kind,
                            Bytes bytes) {
  if (group_size < 2 || bytes.count() == 0) return;
  const std::string goes_on = open_.name;
  close();
  actions_.emplace_back(Collective{std::move(name), family, kind, bytes});
  open_.name = goes_on;
}

void ActionList::ring(RingExchange exchange) {
  const std::string goes_on = open_.name;
  close();
  actions_.emplace_back(std::move(exchange));
  open_.name = goes_on;
}

std::vector<Action> ActionList::take() && {
  close();
  return std::move(actions_);
}

void ActionList::close() {
  if (!open_.operators.empty() || open_.finishes.total() > 0) actions_.emplace_back(std::move(open_));
  open_ = {};
}

Gemm linear(const LayerShape& shape, std::int64_t m, std::int64_t n, std::int64_t k, std::int64_t batch) {
  return {m, n, k, batch, shape.precision};
}

Gemm input_gradient(const Gemm& forward) { return {forward.m, forward.k, forward.n, forward.batch, forward.precision}; }

Gemm weight_gradient(const Gemm& forward) {
  return {forward.k, forward.n, forward.m, forward.batch, forward.precision};
}

ElementWise element_wise(ElementWiseKind kind, std::int64_t elements, std::int64_t bytes_each) {
  return {kind, Bytes(elements * bytes_each)};
}

// Reads the tokens, writes them normalised.
void add_norm(const LayerShape& shape, ActionList& forward) {
  forward.add(element_wise(ElementWiseKind::kNorm, shape.own_tokens() * shape.model->hidden, 2 * shape.width()));
}

// Reads the block's result and the residual, writes their sum; dropout writes a mask.
void add_residual(const LayerShape& shape, ActionList& forward) {
  forward.add(element_wise(ElementWiseKind::kAdd, shape.own_tokens() * shape.model->hidden,
                           3 * shape.width() + (shape.dropout ? 1 : 0)));
}

// Reads the gradient and the norm's input, writes the gradient; then adds the one that came along the residual.
void add_norm_backward(const LayerShape& shape, ActionList& backward) {
  const std::int64_t elements = shape.own_tokens() * shape.model->hidden;
  backward.add(element_wise(ElementWiseKind::kNorm, elements, 3 * shape.width()));
  backward.add(element_wise(ElementWiseKind::kAdd, elements, 3 * shape.width()));
}

// Dropout reads the gradient and its mask and writes the gradient. Without it the gradient goes on as it is, but for
// the sum over tokens that a bias takes.
void add_residual_backward(const LayerShape& shape, ActionList& backward) {
  const std::int64_t elements = shape.own_tokens() * shape.model->hidden;
  const std::int64_t dropout = shape.dropout ? 2 * shape.width() + 1 : 0;
  const std::int64_t bias = shape.model->biases ? shape.width() : 0;
  if (dropout + bias > 0) backward.add(element_wise(ElementWiseKind::kAdd, elements, dropout + bias));
}

void begin_forward(const LayerShape& shape, const std::string& name, ActionList& forward) {
  forward.compute(name);
  add_norm(shape, forward);
  if (shape.sequence_parallel)
    forward.collective(name + " gather", GroupFamily::kTensor, shape.tensor, CollectiveKind::kAllGather,
                       shape.own_activations());
}

void end_forward(const LayerShape& shape, const std::string& name, ActionList& forward) {
  const CollectiveKind kind = shape.sequence_parallel ? CollectiveKind::kReduceScatter : CollectiveKind::kAllReduce;
  forward.collective(name + " sum", GroupFamily::kTensor, shape.tensor, kind, shape.activations());
  add_residual(shape, forward);
}

void begin_backward(const LayerShape& shape, const std::string& name, ActionList& backward) {
  backward.compute(name);
  add_residual_backward(shape, backward);
  if (shape.sequence_parallel)
    backward.collective(name + " gather", GroupFamily::kTensor, shape.tensor, CollectiveKind::kAllGather,
                        shape.own_activations());
}

void end_backward(const LayerShape& shape, const std::string& name, const std::vector<Operator>& weights,
                  ParameterCount finishes, ActionList& backward) {
  const WeightGradients place = shape.tensor > 1 ? shape.weight_gradients : shape.other_weight_gradients();
  const CollectiveKind kind = shape.sequence_parallel ? CollectiveKind::kReduceScatter : CollectiveKind::kAllReduce;
  if (place == WeightGradients::kInline) backward.weight_gradient(name + " weights", weights, finishes, place);
  backward.collective(name + " sum", GroupFamily::kTensor, shape.tensor, kind, shape.activations());
  if (place != WeightGradients::kInline) backward.weight_gradient(name + " weights", weights, finishes, place);
  add_norm_backward(shape, backward);
}

Bytes saved_around(const LayerShape& shape) {
  const std::int64_t mask = shape.dropout ? shape.own_tokens() * shape.model->hidden : 0;
  return shape.own_activations() + Bytes(mask);
}

}  // namespace orrery::workload
