// A layer program with the times of its computations: what a stage program strings together, micro-batch by
// micro-batch.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "core/units.h"
#include "workload/training/layers/layer_program.h"

namespace orrery {

struct Cost {
  Duration time{};
  Flops flops;
  Bytes bytes;

  Cost operator+(const Cost& other) const {
    return {saturating_add(time, other.time), flops + other.flops, bytes + other.bytes};
  }
};

struct PricedCompute {
  std::string name;
  Cost cost;
  bool weight_gradient = false;
  bool beside_collective = false;
  ParameterCount finishes;
};

struct PricedRing {
  std::string name;
  std::int64_t blocks = 1;
  Cost cost;  // of one block
  Bytes bytes;
  bool has_gradients = false;
};

using PricedAction = std::variant<PricedCompute, Collective, PricedRing>;

struct PricedLayer {
  std::string name;
  std::vector<PricedAction> forward;
  std::vector<PricedAction> recompute;
  std::vector<PricedAction> backward;
  ParameterCount parameters;
  Bytes saved;
  Bytes working;
};

Cost cost_of(const std::vector<Operator>& operators, const OperatorTimes& times);

// `accumulation`: memory traffic of adding up the gradient of one parameter, where no GEMM does it.
PricedLayer price(const LayerProgram& layer, Bytes accumulation, const OperatorTimes& times);

}  // namespace orrery
