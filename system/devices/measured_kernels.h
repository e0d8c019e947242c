// SPDX-License-Identifier: MIT
// Measured kernels beside a model of them. Where the model has measured neighbours, its time is multiplied by what
// measured times are of modelled ones there; far from all of them it stands as it is. docs/compute.md has the equation.
#pragma once

#include <array>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <tuple>
#include <vector>

#include "system/devices/kernel_table.h"
#include "workload/training/spec/operators.h"

namespace orrery::system {

class MeasuredKernels {
 public:
  using Modelled = std::function<Duration(const workload::Operator& op)>;

  // Uses samples of products and of attention; ignores others.
  MeasuredKernels(std::span<const KernelSample> samples, const Modelled& modelled);

  struct Correction {
    double factor = 1;  // on the model's time
    double share = 0;   // of the measurements in it, 1 for sizes that were measured
  };
  Correction of(const workload::Operator& op) const;

 private:
  static constexpr std::size_t kSizes = 3;
  // Properties that have to be equal: the kind of operator, the format, the size of a head.
  using Kind = std::tuple<std::size_t, Precision, workload::Scaling, std::int64_t>;
  struct Place {
    Kind kind;
    std::array<double, kSizes> sizes;  // natural logarithms
  };
  struct Sample {
    std::array<double, kSizes> sizes;
    double ratio;  // likewise: of the measured time to the modelled one
  };
  static std::optional<Place> place_of(const workload::Operator& op);

  std::map<Kind, std::vector<Sample>> samples_;  // by ascending sizes
};

}  // namespace orrery::system
