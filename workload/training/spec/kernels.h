// SPDX-License-Identifier: MIT
// A library of kernels with constants of its own, measured kernel by kernel: how fast its matrix products run on one
// architecture (system/devices/kernel_time.h has the equations). Read from `rates.kernels` of a file in
// configs/software.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "core/config/config.h"
#include "core/units.h"
#include "workload/training/spec/operators.h"

namespace orrery::workload {

// Format of a product's operands when the tensor cores get them. kHalf: two bytes a value, or more.
enum class OperandFormat : std::uint8_t { kHalf, kFp8, kFp8Block, kNvfp4 };
inline constexpr std::size_t kOperandFormatCount = 4;
std::string_view name_of(OperandFormat format);  // "bf16", "fp8", "fp8-block", "nvfp4"
OperandFormat format_of(Precision precision, Scaling scaling);

// Kernels of one format. Those of formats below two bytes quantise the first operand of a product, in kernels of their
// own; weights are stored as they are needed.
struct FormatKernels {
  double main_loop = 1;     // of KernelLibrary::main_loop
  double sustained = 1;     // of KernelLibrary::main_loop: what lasts under the power limit
  std::int64_t passes = 0;  // kernels that quantise an operand, each over all of it

  bool operator==(const FormatKernels&) const = default;
};

// Flash attention, forward. A share of 0: no kernels, attention is that of SoftwareRates.
struct AttentionKernels {
  double half = 0;  // share of the dense peak in the products of two-byte operands
  double fp8 = 0;   // the same of fp8
  Duration launch{15'800'000};
  Duration softmax{35};   // of a query and a key on one multiprocessor, beside their products
  double diagonal = 172;  // keys of a tile on the causal diagonal that are masked out for nothing
  double traffic = 1;     // over moving queries, keys, values and result once, in two bytes

  bool operator==(const AttentionKernels&) const = default;
};

// All experts of a layer on one rank in one fused kernel: tokens are sorted by expert, multiplied up, activated,
// multiplied down, and summed up again.
struct FusedExperts {
  std::int64_t tokens = 0;  // of the whole expert-parallel group
  std::int64_t hidden = 0;
  std::int64_t inner = 0;  // of one expert on the rank
  std::int64_t per_token = 1;
  bool gated = true;  // the first product makes twice `inner`
  Precision precision = Precision::kBf16;
  Scaling scaling = Scaling::kTensor;
  std::vector<double> rows;  // of each expert of the rank that some token goes to; above 0

  bool operator==(const FusedExperts&) const = default;
};

struct ExpertKernels {
  double main_loop = 1;         // of the main loop of a single product in that format
  Duration launch{33'200'000};  // of all kernels together
  Duration route{1'000};        // for each choice of an expert by a token
  double traffic = 0.94;        // over moving tokens in and out, rows three times, inner values once per kernel

  bool operator==(const ExpertKernels&) const = default;
};

struct KernelLibrary {
  Duration launch{2'000'000};    // of a product
  double main_loop = 0.95;       // share of the dense peak, in tiles of 256 x 128
  double small_tile = 30;        // what smaller tiles lose
  Duration wave{1'100'000};      // fixed time of each wave of tiles
  double epilogue = 100;         // writing a tile's result takes as long as so many steps of k
  Duration split{4'800'000};     // fixed time of adding up slices of k
  Duration quantise{6'000'000};  // fixed time of a kernel that quantises an operand
  Duration quantise_value{74};   // of each value in it, on one multiprocessor
  double cache = 0.5;            // of the device's cache: operands up to this stay in it from one kernel to the next
  std::array<FormatKernels, kOperandFormatCount> formats{};  // by OperandFormat

  AttentionKernels attention{};
  ExpertKernels experts{};

  const FormatKernels& of(OperandFormat format) const { return formats[static_cast<std::size_t>(format)]; }
  bool operator==(const KernelLibrary&) const = default;
};

// Reads the section over what `kernels` holds.
void read_kernels(Section& section, KernelLibrary& kernels);

}  // namespace orrery::workload
