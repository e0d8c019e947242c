// SPDX-License-Identifier: MIT
#include "workload/training/program/other_amounts.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

#include "core/assert.h"
#include "workload/training/program/memory_need.h"
#include "workload/training/program/program_writer.h"

namespace orrery::workload {
namespace {

// True if both are of the same weights, where they are gradients of these: an optimizer of matrices asks for that.
bool have_same_weights(const Compute& one, const Compute& other) {
  if (!one.weight_gradient) return true;
  return std::ranges::equal(one.operators, other.operators, [](const Operator& a, const Operator& b) {
    const auto *first = std::get_if<Gemm>(&a), *second = std::get_if<Gemm>(&b);
    if (first == nullptr || second == nullptr) return first == nullptr && second == nullptr;
    const auto weights = [](const Gemm& of) {
      return std::tuple(of.m, of.n, of.batch, of.grouped, of.split, of.of_experts, of.product, of.stage);
    };
    return weights(*first) == weights(*second);
  });
}

// True if nodes of both are of one kind, in the same places.
bool are_alike(const Compute& one, const Compute& other) {
  const auto form = [](const Compute& of) {
    return std::tuple(of.weight_gradient, of.finishes, of.beside_collective, of.cost.time == Duration::zero(),
                      of.cost.host.launches == Duration::zero(), of.cost.host.synchronises, of.cost.has_own_processors);
  };
  return one.name == other.name && form(one) == form(other) && have_same_weights(one, other);
}

bool are_alike(const Collective& one, const Collective& other) {
  const auto form = [](const Collective& of) { return std::tuple(of.family, of.kind, of.beside_next, of.of_result); };
  return one.name == other.name && form(one) == form(other);
}

// Several nodes are written for one exchange: it has to be the same.
bool are_alike(const RingExchange& one, const RingExchange& other) {
  const auto all = [](const RingExchange& of) {
    return std::tuple(of.blocks, of.bytes, of.has_gradients, of.own_cost, of.cost);
  };
  return one.name == other.name && all(one) == all(other);
}

bool are_alike(const LayerProgram& one, const LayerProgram& other) {
  if (&one == &other) return true;
  if (one.name != other.name || one.repeat != other.repeat || one.frozen != other.frozen ||
      one.parameters != other.parameters)
    return false;
  const auto alike = [](const Action& a, const Action& b) {
    return std::visit(
        [&](const auto& first) {
          const auto* second = std::get_if<std::remove_cvref_t<decltype(first)>>(&b);
          return second != nullptr && are_alike(first, *second);
        },
        a);
  };
  return std::ranges::all_of(
      std::array{LayerPart::kForward, LayerPart::kRecompute, LayerPart::kBackward},
      [&](LayerPart part) { return std::ranges::equal(actions_of(one, part), actions_of(other, part), alike); });
}

using Counterparts = std::map<const LayerProgram*, const LayerProgram*>;

// Notes whose place `other` takes; false if that is not alike, or if another takes it already.
bool pair(const LayerProgram* one, const LayerProgram* other, Counterparts& counterparts) {
  if (one == nullptr || other == nullptr) return one == other;
  const auto [known, is_new] = counterparts.try_emplace(one, other);
  return is_new ? are_alike(*one, *other) : known->second == other;
}

// Copies of offloaded activations are nodes of no action.
bool pair(const StageLayer& one, const StageLayer& other, Counterparts& counterparts) {
  return one.number == other.number && one.is_offloaded == other.is_offloaded &&
         pair(one.layer, other.layer, counterparts) && pair(one.beside_another, other.beside_another, counterparts) &&
         (!one.is_offloaded || one.layer->saved == other.layer->saved);
}

std::optional<Counterparts> counterparts_of(const StageRequest& request, const StageRequest& other) {
  const auto rest = [](const StageRequest& of) {
    return std::tuple(of.training, of.stage, of.group_sizes, of.boundary, of.gathers_boundary, of.tied, of.in_pieces,
                      of.repeats);
  };
  if (rest(request) != rest(other) || request.chunks.size() != other.chunks.size()) return std::nullopt;
  Counterparts counterparts;
  for (std::size_t chunk = 0; chunk < request.chunks.size(); ++chunk)
    if (!std::ranges::equal(request.chunks[chunk], other.chunks[chunk],
                            [&](const StageLayer& a, const StageLayer& b) { return pair(a, b, counterparts); }))
      return std::nullopt;
  return counterparts;
}

// The node as it is written for an action (ProgramWriter).
GraphNode node_of(const Action& action, const GraphNode& as_written) {
  GraphNode node = as_written;
  if (const auto* compute = std::get_if<Compute>(&action)) return with_cost(compute->cost, std::move(node));
  node.bytes = std::get<Collective>(action).bytes;
  return node;
}

}  // namespace

std::optional<OtherAmounts> other_amounts(const StageProgram& program, const StageRequest& request,
                                          const StageRequest& other) {
  const std::optional<Counterparts> counterparts = counterparts_of(request, other);
  if (!counterparts) return std::nullopt;
  std::vector<std::int64_t> memory;
  for (std::size_t amount = 0; amount < program.memory_parts.size(); ++amount) {
    memory.push_back(sum_of(program.memory_parts[amount], other).count());
    if ((memory.back() > 0) != (program.memory.amounts()[amount] > 0)) return std::nullopt;
  }
  std::vector<ChangedNode> changed;
  for (const ActionNode& of : program.actions) {
    const GraphNode as_written = program.graph.node(of.node);
    const Action& action = actions_of(*counterparts->at(of.layer), of.part)[of.action];
    const GraphNode node = node_of(action, as_written);
    if (node != as_written) changed.push_back({of.node, node});
  }
  return OtherAmounts{program.graph.with_amounts(changed), program.memory.with(std::move(memory))};
}

}  // namespace orrery::workload
