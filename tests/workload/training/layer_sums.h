// SPDX-License-Identifier: MIT
// Sums over the layers of a model, for tests.
#pragma once

#include <span>
#include <vector>

#include "workload/training/layers/layer_program.h"

namespace orrery::testing {

inline std::vector<workload::Compute> computes(std::span<const workload::Action> actions) {
  std::vector<workload::Compute> result;
  for (const workload::Action& action : actions)
    if (const auto* compute = std::get_if<workload::Compute>(&action)) result.push_back(*compute);
  return result;
}

inline std::vector<workload::Collective> collectives(std::span<const workload::Action> actions) {
  std::vector<workload::Collective> result;
  for (const workload::Action& action : actions)
    if (const auto* collective = std::get_if<workload::Collective>(&action)) result.push_back(*collective);
  return result;
}

inline Flops flops(std::span<const workload::Action> actions) {
  Flops total{0};
  for (const workload::Compute& compute : computes(actions))
    for (const workload::Operator& op : compute.operators) total += workload::flops_of(op);
  return total;
}

inline workload::ParameterCount finished(std::span<const workload::Action> actions) {
  workload::ParameterCount total;
  for (const workload::Compute& compute : computes(actions)) total += compute.finishes;
  return total;
}

}  // namespace orrery::testing
