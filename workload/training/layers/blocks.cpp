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

void ActionList::exchange(std::string name, GroupFamily family, std::int64_t group_size, Bytes bytes, bool of_result) {
  if (group_size < 2 || bytes.count() == 0) return;
  collective(std::move(name), family, group_size, CollectiveKind::kAllToAll, bytes);
  std::get<Collective>(actions_.back()).of_result = of_result;
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

LayerShape in_bf16(LayerShape shape) {
  shape.precision = shape.activation();
  return shape;
}

namespace {

// Precision of the operands of a layer's product of weights in `stage`. Products without a role are in that of their
// forward pass: the router and the head are in bf16.
Precision in_stage(const LayerShape& shape, const Gemm& forward, ProductStage stage) {
  if (forward.product == Product::kOther) return forward.precision;
  return shape.casts() && !shape.casts(forward.product, stage) ? shape.activation() : shape.precision;
}

}  // namespace

Gemm linear(const LayerShape& shape, std::int64_t m, std::int64_t n, std::int64_t k, std::int64_t batch,
            Product product) {
  Gemm gemm{m, n, k, batch, shape.precision};
  gemm.product = product;
  if (product == Product::kQkv || product == Product::kUp) gemm.split = WeightSplit::kColumns;
  if (product == Product::kProjection || product == Product::kDown) gemm.split = WeightSplit::kRows;
  gemm.precision = in_stage(shape, gemm, ProductStage::kForward);
  return gemm;
}

namespace {

// The operand of `columns` values a row that products in low precision cast, for `stage` and for the gradient of the
// weights, which takes it the other way round and which frozen weights do not have; what a norm left is cast by its
// kernel.
void add_cast(const LayerShape& shape, const Gemm& product, std::int64_t columns, ProductStage stage,
              std::vector<Operator>& operators) {
  const bool weights = shape.lora == nullptr && shape.casts(product.product, ProductStage::kWeightGradient);
  const std::int64_t orientations = (shape.casts(product.product, stage) ? 1 : 0) + (weights ? 1 : 0);
  const bool normalised =
      stage == ProductStage::kForward && (product.product == Product::kQkv || product.product == Product::kUp);
  const Bytes moved = shape.recipe.traffic(product.batch * product.m * columns, normalised, orientations);
  if (moved.count() > 0) operators.emplace_back(ElementWise{ElementWiseKind::kCast, moved});
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
  add_cast(shape, product, product.k, ProductStage::kForward, operators);
  operators.emplace_back(product);
  if (has_adapter(shape, product))
    for (const Gemm& factor : adapter_of(shape, product)) operators.emplace_back(factor);
  return operators;
}

std::vector<Operator> input_gradient_of(const LayerShape& shape, const Gemm& product) {
  std::vector<Operator> operators;
  add_cast(shape, product, product.n, ProductStage::kInputGradient, operators);
  Gemm gradient = input_gradient(product);
  gradient.precision = in_stage(shape, product, ProductStage::kInputGradient);
  operators.emplace_back(gradient);
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

std::vector<Operator> weight_gradients_of(const LayerShape& shape, const std::vector<Gemm>& products) {
  std::vector<Operator> operators;
  for (const Gemm& product : products)
    for (const Operator& op : weight_gradient_of(shape, product)) operators.push_back(op);
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
  const Precision precision = in_stage(shape, forward, ProductStage::kWeightGradient);
  Gemm gradient{forward.k, forward.n, forward.m, forward.batch, precision};
  gradient.stage = ProductStage::kWeightGradient;
  gradient.split = forward.split;
  gradient.grouped = forward.grouped;
  gradient.of_experts = forward.of_experts;
  gradient.result = shape.accumulated;
  return gradient;
}

ElementWise element_wise(ElementWiseKind kind, std::int64_t elements, std::int64_t bytes_each) {
  return {kind, Bytes(elements * bytes_each)};
}

bool has_product(const Action& action) {
  const auto* compute = std::get_if<Compute>(&action);
  if (compute == nullptr) return std::holds_alternative<RingExchange>(action);
  return std::ranges::any_of(compute->operators,
                             [](const Operator& op) { return !std::holds_alternative<ElementWise>(op); });
}

void drop_result(Product product, std::vector<Action>& actions) {
  while (!actions.empty() && !has_product(actions.back())) actions.pop_back();
  auto* compute = actions.empty() ? nullptr : std::get_if<Compute>(&actions.back());
  if (compute == nullptr) return;
  while (std::holds_alternative<ElementWise>(compute->operators.back())) compute->operators.pop_back();
  const auto* last = std::get_if<Gemm>(&compute->operators.back());
  const bool makes_result = product == Product::kDown || product == Product::kProjection;
  if (last != nullptr && makes_result && last->product == product) compute->operators.pop_back();
  if (compute->operators.empty()) actions.pop_back();
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

void gather_operands(const LayerShape& shape, const std::string& name, Product product, ProductStage stage,
                     ActionList& actions) {
  if (shape.sequence_parallel)
    actions.collective(name + " gather", GroupFamily::kTensor, shape.tensor, CollectiveKind::kAllGather,
                       shape.gathered_operands(product, stage));
}

void sum_results(const LayerShape& shape, const std::string& name, ActionList& actions) {
  const CollectiveKind kind = shape.sequence_parallel ? CollectiveKind::kReduceScatter : CollectiveKind::kAllReduce;
  actions.collective(name + " sum", GroupFamily::kTensor, shape.tensor, kind, shape.activations());
}

void begin_forward(const LayerShape& shape, const std::string& name, Product product, ActionList& forward) {
  forward.compute(name);
  add_norm(shape, forward);
  gather_operands(shape, name, product, ProductStage::kForward, forward);
}

void end_forward(const LayerShape& shape, const std::string& name, ActionList& forward) {
  sum_results(shape, name, forward);
  add_residual(shape, forward);
}

void begin_backward(const LayerShape& shape, const std::string& name, Product product, ActionList& backward) {
  backward.compute(name);
  add_residual_backward(shape, backward);
  gather_operands(shape, name, product, ProductStage::kInputGradient, backward);
}

void end_backward(const LayerShape& shape, const std::string& name, const std::vector<Operator>& weights,
                  ParameterCount finishes, ActionList& backward) {
  const WeightGradients place = shape.tensor > 1 ? shape.weight_gradients : shape.other_weight_gradients();
  if (place == WeightGradients::kInline) backward.weight_gradient(name + " weights", weights, finishes, place);
  sum_results(shape, name, backward);
  if (place != WeightGradients::kInline) backward.weight_gradient(name + " weights", weights, finishes, place);
  add_norm_backward(shape, backward);
}

void add_norm_again(const LayerShape& shape, Bytes kept, ActionList& again, BlockProgram& block) {
  if (!shape.modules.norm) return;
  add_norm(shape, again);
  block.saved_again += kept;
}

Bytes saved_around(const LayerShape& shape) {
  const std::int64_t mask = shape.dropout ? shape.own_tokens() * shape.model->hidden : 0;
  return shape.own_activations() + Bytes(mask);
}

}  // namespace orrery::workload
