#include "workload/training/layers/priced_layer.h"

namespace orrery {
namespace {

class Pricing {
 public:
  Pricing(Bytes accumulation, const OperatorTimes& times) : accumulation_(accumulation), times_(times) {}

  PricedAction operator()(const Compute& compute) const {
    Cost cost = cost_of(compute.operators, times_);
    const Bytes added_up = accumulation_ * compute.finishes.total();
    if (added_up.count() > 0) cost = cost + cost_of({ElementWise{ElementWiseKind::kAccumulate, added_up}}, times_);
    return PricedCompute{compute.name, cost, compute.weight_gradient, compute.beside_collective, compute.finishes};
  }

  PricedAction operator()(const Collective& collective) const { return collective; }

  PricedAction operator()(const RingExchange& ring) const {
    return PricedRing{ring.name, ring.blocks, cost_of(ring.operators, times_), ring.bytes, ring.has_gradients};
  }

  std::vector<PricedAction> all(const std::vector<Action>& actions) const {
    std::vector<PricedAction> priced;
    for (const Action& action : actions) priced.push_back(std::visit(*this, action));
    return priced;
  }

 private:
  Bytes accumulation_;
  const OperatorTimes& times_;
};

}  // namespace

Cost cost_of(const std::vector<Operator>& operators, const OperatorTimes& times) {
  Cost cost;
  for (const Operator& op : operators) cost = cost + Cost{times.time(op), flops_of(op), bytes_of(op)};
  return cost;
}

PricedLayer price(const LayerProgram& layer, Bytes accumulation, const OperatorTimes& times) {
  const Pricing pricing(accumulation, times);
  return {layer.name,
          pricing.all(layer.forward),
          pricing.all(layer.recompute),
          pricing.all(layer.backward),
          layer.parameters,
          layer.saved,
          layer.working};
}

}  // namespace orrery
