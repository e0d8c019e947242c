// SPDX-License-Identifier: MIT
// Optimizer of a training job: what it keeps of each parameter, how much memory a step moves, and what it does to whole
// matrices. Read from configs/optimizers.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/config/config.h"
#include "core/precision.h"
#include "core/units.h"

namespace orrery::workload {

// States beside the parameters and their masters: as many as `count` of each parameter.
struct Moments {
  std::int64_t count = 2;
  std::optional<Bytes> size;  // of one; without it that of fp32, or of fp64 parameters that of fp64
  std::int64_t block = 0;     // values that share a scale of 4 B, as quantised moments do; 0: none

  // Bytes for so many parameters, trained in a precision.
  Bytes of(std::int64_t parameters, Precision precision) const;

  bool operator==(const Moments&) const = default;
};

// Place where whole matrices are made orthogonal. kDuplicated: every rank gathers them, over tensor parallelism and
// shards, and computes all of them. kDistributed: ranks keep their parts and add up the Gram matrix in every iteration.
// kLayerWise: each is computed whole by one of the ranks that have parts or copies of it. kBlockwise: every rank takes
// its part for a matrix of its own.
enum class MatrixMode : std::uint8_t { kDuplicated, kDistributed, kLayerWise, kBlockwise };

// Newton-Schulz iterations on the momentum of each matrix of a layer (Muon, Jordan et al. 2024). The other parameters,
// those of embedding, head and norms, are the optimizer's own.
struct MatrixOptimizer {
  Moments moments{1, {}, 0};
  std::int64_t iterations = 5;
  Precision precision = Precision::kBf16;  // of the products
  MatrixMode mode = MatrixMode::kDuplicated;

  bool operator==(const MatrixOptimizer&) const = default;
};

struct OptimizerSpec {
  std::string name = "adam";
  Moments moments;
  bool masters = true;           // parameters of less than 32 bits have a copy in fp32
  std::optional<Bytes> traffic;  // of a step for each parameter; without it, from the software's
  std::optional<MatrixOptimizer> matrices;

  // Bytes kept of so many parameters beside them: masters and states.
  Bytes states(std::int64_t parameters, Precision precision) const { return kept(moments, parameters, precision); }
  Bytes matrix_states(std::int64_t parameters, Precision precision) const {
    return kept(matrices->moments, parameters, precision);
  }
  // Memory traffic of a step. The software's is that of Adam; other optimizers read and write more or fewer states, and
  // what is computed of matrices is written and read once more.
  Bytes step_traffic(std::int64_t parameters, Precision precision, Bytes software) const {
    return traffic_of(moments, parameters, precision, software);
  }
  Bytes matrix_step_traffic(std::int64_t parameters, Precision precision, Bytes software) const;

  bool operator==(const OptimizerSpec&) const = default;

 private:
  Bytes kept(const Moments& of, std::int64_t parameters, Precision precision) const;
  Bytes traffic_of(const Moments& of, std::int64_t parameters, Precision precision, Bytes software) const;
};

// FLOPs of the iterations on one matrix: three products each, of its short side.
Flops newton_schulz_flops(std::int64_t rows, std::int64_t columns, std::int64_t iterations);

// Reads a file of configs/optimizers, or the same inline.
OptimizerSpec read_optimizer(Section& section);

}  // namespace orrery::workload
