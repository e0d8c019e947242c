// SPDX-License-Identifier: MIT
// Measured kernels beside a model of them. Where the model has measured neighbours, its time is multiplied by what
// measured times are of modelled ones there; far from all of them it stands as it is. docs/compute.md has the equation.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "system/devices/kernel_table.h"
#include "workload/training/spec/operators.h"

namespace orrery::system {

class MeasuredKernels {
 public:
  using Modelled = std::function<Duration(const workload::Operator& op)>;

  // Uses samples of single and of grouped products and of attention; ignores others.
  MeasuredKernels(std::span<const KernelSample> samples, const Modelled& modelled);

  struct Correction {
    double factor = 1;  // on the model's time
    double share = 0;   // of the measurements in it, 1 for sizes that were measured
  };
  Correction of(const workload::Operator& op) const;

 private:
  static constexpr std::size_t kSizes = 4;
  // Properties that have to be equal: the kind of operator, the format, the size of a head, the stage of a product or
  // the pass of attention, and whether products are those of several experts in one kernel. Products of a stage that
  // was not measured are taken for forward ones.
  struct Kind {
    std::size_t operation = 0;
    Precision precision = Precision::kBf16;
    workload::Scaling scaling = workload::Scaling::kTensor;
    std::int64_t head = 0;
    int stage = 0;
    bool grouped = false;
    auto operator<=>(const Kind&) const = default;
  };
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
