// SPDX-License-Identifier: MIT
#include "workload/training/options/optimizer.h"

#include <algorithm>

namespace orrery::workload {
namespace {

constexpr Bytes kScale{4};  // of a block of quantised moments: fp32

void read_moments(Section& section, Moments& moments) {
  section.takes("moments", moments.count, {0, 16}, "number of states of each parameter");
  section.takes("moment", moments.size,
                "size of one state; without it that of fp32, of fp64 parameters that of fp64. Example: `1 B`");
  section.takes("block", moments.block, {0, 1 << 20},
                "number of values that share a scale of 4 B, of states with 8 bits; 0: none have scales");
  if (moments.size && (*moments.size < Bytes(1) || *moments.size > Bytes(16)))
    section.error("moment", "a state has 1 to 16 bytes", "for example 2 B for bf16");
  if (moments.block > 0 && moments.count == 0)
    section.error("block", "there are no states to scale", "leave it out, or give the optimizer moments");
}

void read_matrices(Section& section, MatrixOptimizer& matrices) {
  read_moments(section, matrices.moments);
  section.takes(
      "iterations", matrices.iterations, {1, 100},
      "Newton-Schulz iterations of a step, three products each: X X^T on the short side, its square, and that "
      "times X");
  section.takes("precision", matrices.precision, precision_names(), "precision of these products");
  section.takes(
      "mode", matrices.mode, {"duplicated", "distributed", "layer-wise", "blockwise"},
      "how ranks that share matrices come by whole ones; duplicated: every rank gathers them, over tensor "
      "parallelism and shards, and computes all, distributed: each multiplies its part, and Gram matrices are "
      "added up in every iteration, layer-wise: each matrix goes to one rank, which computes it alone, "
      "blockwise: every rank takes its part for a matrix, so that nothing is exchanged");
}

}  // namespace

Bytes Moments::of(std::int64_t parameters, Precision precision) const {
  const Bytes each = size.value_or(std::max(Bytes(4), size_of(precision)));
  const Bytes scales = block > 0 ? kScale * ((parameters + block - 1) / block) : Bytes(0);
  return (each * parameters + scales) * count;
}

Bytes OptimizerSpec::kept(const Moments& of, std::int64_t parameters, Precision precision) const {
  const bool has_masters = masters && size_of(precision) < Bytes(4);
  return of.of(parameters, precision) + (has_masters ? Bytes(4) * parameters : Bytes(0));
}

Bytes OptimizerSpec::traffic_of(const Moments& of, std::int64_t parameters, Precision precision, Bytes software) const {
  if (traffic) return *traffic * parameters;
  // Every state is read and written; gradients are read, and parameters written, whatever the optimizer.
  const Bytes adam = OptimizerSpec{}.states(parameters, precision);
  const Bytes least = std::min(Bytes(4), software) * parameters;
  return std::max(least, software * parameters + kept(of, parameters, precision) * 2 - adam * 2);
}

Bytes OptimizerSpec::matrix_step_traffic(std::int64_t parameters, Precision precision, Bytes software) const {
  return traffic_of(matrices->moments, parameters, precision, software) +
         size_of(matrices->precision) * (2 * parameters);
}

Flops newton_schulz_flops(std::int64_t rows, std::int64_t columns, std::int64_t iterations) {
  const std::int64_t side = std::min(rows, columns), length = std::max(rows, columns);
  return Flops(iterations * (4 * side * side * length + 2 * side * side * side));
}

OptimizerSpec read_optimizer(Section& section) {
  OptimizerSpec optimizer;
  optimizer.name = section.optional<std::string>("name", "inline", "name of the optimizer in results");
  read_moments(section, optimizer.moments);
  section.takes("masters", optimizer.masters,
                "whether parameters of less than 32 bits have a copy in fp32, which the step updates");
  section.takes("traffic", optimizer.traffic,
                "memory traffic of a step for each parameter; without it that of the software, which is Adam's, with "
                "what these states are more or less, read and written");
  section.section(
      "matrices",
      "rule for the matrices of transformer layers (Muon): their own states, and Newton-Schulz iterations on them; "
      "embedding, head and norms have the states of the optimizer itself. Example: `{moments: 1, mode: layer-wise}`",
      [&](Section& s) { read_matrices(s, optimizer.matrices.emplace()); });
  section.sources({});
  return optimizer;
}

}  // namespace orrery::workload
