// SPDX-License-Identifier: MIT
#include "workload/training/layers/blocks.h"

#include <array>
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

void ActionList::synchronise() {
  const std::string goes_on = open_.name;
  open_.synchronises = true;
  close();
  open_.name = goes_on;
}

void ActionList::weight_gradient(const std::string& name, const std::vector<Operator>& operators,
                                 ParameterCount finishes, WeightGradients place) {
  if (operators.empty() && finishes.total() == 0) return;
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

void ActionList::gather_result(std::string name, std::int64_t group_size, Bytes bytes) {
  collective(std::move(name), GroupFamily::kTensor, group_size, CollectiveKind::kAllGather, bytes);
  auto* gathered = actions_.empty() ? nullptr : std::get_if<Collective>(&actions_.back());
  if (gathered != nullptr && group_size >= 2) gathered->of_result = true;
}

void ActionList::beside_collective(std::string name, const std::vector<Operator>& operators) {
  const std::string goes_on = open_.name;
  close();
  Compute compute{std::move(name), operators};
  compute.beside_collective = true;
  actions_.emplace_back(std::move(compute));
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

Gemm linear(const LayerShape& shape, std::int64_t m, std::int64_t n, std::int64_t k, std::int64_t batch,
            Product product) {
  Gemm gemm{m, n, k, batch, shape.precision};
  gemm.product = product;
  return gemm;
}

namespace {

// The operand of `columns` values a row that a product in fp8 casts; what a norm left is cast by its kernel. The
// transposed copy is for the gradient of the weights, which frozen ones do not have.
void add_cast(const LayerShape& shape, const Gemm& product, std::int64_t columns, bool normalised,
              std::vector<Operator>& operators) {
  const Bytes both = normalised ? shape.fp8.normalised : shape.fp8.operand;
  const Bytes each = shape.lora == nullptr ? both : both - size_of(Precision::kFp8);
  if (!shape.computes_fp8() || each.count() <= 0) return;
  operators.emplace_back(element_wise(ElementWiseKind::kCast, product.batch * product.m * columns, each.count()));
}

bool has_adapter(const LayerShape& shape, const Gemm& product) {
  return shape.lora != nullptr && product.product != Product::kOther &&
         shape.lora->targets[static_cast<std::size_t>(product.product)];
}

// Down to the adapter's rank, and up from it.
std::array<Gemm, 2> adapter_of(const LayerShape& shape, const Gemm& product) {
  const std::int64_t rank = shape.lora->rank;
  return {Gemm{product.m, rank, product.k, product.batch, shape.activation()},
          Gemm{product.m, product.n, rank, product.batch, shape.activation()}};
}

}  // namespace

std::vector<Operator> forward_of(const LayerShape& shape, const Gemm& product) {
  std::vector<Operator> operators;
  const bool normalised = product.product == Product::kQkv || product.product == Product::kUp;
  add_cast(shape, product, product.k, normalised, operators);
  operators.emplace_back(product);
  if (has_adapter(shape, product))
    for (const Gemm& factor : adapter_of(shape, product)) operators.emplace_back(factor);
  return operators;
}

std::vector<Operator> input_gradient_of(const LayerShape& shape, const Gemm& product) {
  std::vector<Operator> operators;
  add_cast(shape, product, product.n, false, operators);
  operators.emplace_back(input_gradient(product));
  if (has_adapter(shape, product))
    for (const Gemm& factor : adapter_of(shape, product)) operators.emplace_back(input_gradient(factor));
  return operators;
}

std::vector<Operator> weight_gradient_of(const LayerShape& shape, const Gemm& product) {
  if (shape.lora == nullptr) return {weight_gradient(shape, product)};
  std::vector<Operator> operators;
  if (has_adapter(shape, product))
    for (const Gemm& factor : adapter_of(shape, product)) operators.emplace_back(weight_gradient(shape, factor));
  return operators;
}

Trained trained_of(const LayerShape& shape, std::int64_t weights, const std::vector<Gemm>& products) {
  if (shape.lora == nullptr) return {weights, 0};
  Trained result{0, weights};
  for (const Gemm& product : products)
    if (has_adapter(shape, product)) result.trained += product.batch * shape.lora->rank * (product.k + product.n);
  return result;
}

Gemm input_gradient(const Gemm& forward) {
  Gemm gradient{forward.m, forward.k, forward.n, forward.batch, forward.precision};
  gradient.stage = ProductStage::kInputGradient;
  gradient.grouped = forward.grouped;
  return gradient;
}

Gemm weight_gradient(const LayerShape& shape, const Gemm& forward) {
  Gemm gradient{forward.k, forward.n, forward.m, forward.batch, forward.precision};
  gradient.stage = ProductStage::kWeightGradient;
  gradient.grouped = forward.grouped;
  gradient.result = shape.accumulated;
  return gradient;
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
                       shape.gathered_operands());
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
                        shape.gathered_operands());
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
