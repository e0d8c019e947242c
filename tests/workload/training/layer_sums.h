// Sums over the layers of a model, for tests.
#pragma once

#include <span>
#include <vector>

#include "workload/training/layers/layer_program.h"

namespace orrery::testing {

inline std::vector<Compute> computes(std::span<const Action> actions) {
  std::vector<Compute> result;
  for (const Action& action : actions)
    if (const auto* compute = std::get_if<Compute>(&action)) result.push_back(*compute);
  return result;
}

inline std::vector<Collective> collectives(std::span<const Action> actions) {
  std::vector<Collective> result;
  for (const Action& action : actions)
    if (const auto* collective = std::get_if<Collective>(&action)) result.push_back(*collective);
  return result;
}

inline Flops flops(std::span<const Action> actions) {
  Flops total{0};
  for (const Compute& compute : computes(actions))
    for (const Operator& op : compute.operators) total += flops_of(op);
  return total;
}

inline ParameterCount finished(std::span<const Action> actions) {
  ParameterCount total;
  for (const Compute& compute : computes(actions)) total += compute.finishes;
  return total;
}

}  // namespace orrery::testing
