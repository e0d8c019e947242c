// SPDX-License-Identifier: MIT
// A generation of training software: which kernels it runs, what it overlaps, and how far it stays behind what the
// device can do. The same job differs by a fifth with it. Read from configs/software.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/config/config.h"
#include "core/machine_kind.h"
#include "core/precision.h"
#include "core/units.h"
#include "workload/training/spec/footprint.h"
#include "workload/training/spec/kernels.h"
#include "workload/training/spec/operators.h"
#include "workload/training/spec/recipe.h"

namespace orrery::workload {

// kPlain: products and softmax over scores kept in memory.
enum class AttentionKind : std::uint8_t { kFlash, kPlain };

// Part of a layer that selective recomputation computes again in the backward pass. kScores: the scores of plain
// attention. kOperators: all but attention and every second product (torchtitan's selective activation checkpointing by
// operator).
enum class SelectiveKind : std::uint8_t { kScores, kOperators };

// Part of its own communication that tensor parallelism hides. kWeightGradient: the collective of an input gradient
// runs during the weight gradient of the same layer. kPieces: as well, all-gathers run during the product that takes
// what they gather, and reduce-scatters during the product whose result they sum up, in as many pieces as there are
// ranks (Megatron-Core's tp_comm_overlap).
enum class TensorOverlap : std::uint8_t { kNone, kWeightGradient, kPieces };

// Speed of kernels with a software on one architecture of devices, relative to what OperatorTimes knows of the device.
struct SoftwareRates {
  double gemm = 1;   // share of the device's GEMM rate that lasts in training (clock under load, layouts)
  double bf16 = 1;   // of that, where operands have two bytes or more, which take more power
  double fp8 = 1;    // of gemm in products of gradients, where operands are fp8 or int8
  double mxfp8 = 1;  // of gemm in products of such operands
  double nvfp4 = 1;
  double flash_forward = 0.5;  // share of the dense peak
  double flash_backward = 0.42;
  Duration flash_launch{};  // fixed time of flash attention forward; of a GEMM at least
  std::array<double, kElementWiseKindCount> traffic{1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};  // over reading and writing once
  bool gathers_as_copies = true;           // no factor is known of gathers of rows: kEmbedding has that of kCopy
  std::optional<KernelLibrary> kernels{};  // in place of what OperatorTimes knows of the device's products

  bool operator==(const SoftwareRates&) const = default;
};

// Constants of a software that may be fitted to published training runs. kTraffic: one factor for the kernels of layers
// that move memory and do little else. kFlash: forward, and backward in proportion.
enum class SoftwareConstant : std::uint8_t {
  kGemm,
  kBf16,
  kFp8,
  kTraffic,
  kFlash,
  kAccumulation,
  kOptimizer,
};

inline constexpr std::size_t kSoftwareConstantCount = 7;

// Kernels that are captured in CUDA graphs, each of which is one launch. kDense: each run of kernels of constant sizes
// between collectives of its own; kStep: the whole step.
enum class GraphScope : std::uint8_t { kNone, kDense, kStep };

// Work of the host for the device: it launches kernels, and waits for results that it reads.
struct HostSpec {
  Duration launch{};  // of a kernel, with what the framework does for it; zero: the host is never waited for
  GraphScope graphs = GraphScope::kNone;
  bool reads_sizes = false;  // how many tokens each expert gets, in every forward pass
  std::int64_t router = 0;   // kernels of a pass through a layer of experts that choose them and put tokens in order
  std::int64_t product = 1;  // kernels of an operator, by kind
  std::int64_t attention = 1;
  std::array<std::int64_t, kElementWiseKindCount> element_wise{1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
  std::int64_t communication = 1;  // of a collective or message

  // Time of a launch of its own.
  Duration launch_alone() const { return graphs == GraphScope::kStep ? Duration::zero() : launch; }
  std::int64_t kernels_of(const Operator& op) const;

  bool operator==(const HostSpec&) const = default;
};

struct SoftwareSpec {
  std::string name;
  AttentionKind attention = AttentionKind::kFlash;
  bool dropout = false;
  std::int64_t zero = 0;  // ZeRO stage, and sequence parallelism beside tensor parallelism, where a job says nothing
  bool sequence = false;
  std::array<bool, kAllPrecisions.size()> fused_norm{};      // batch norm, sum with a shortcut and ReLU are one kernel
  std::array<bool, kAllPrecisions.size()> winograd{};        // for 3x3 convolutions
  std::array<bool, kAllPrecisions.size()> channels_first{};  // of images: channels come before pixels
  SelectiveKind selective = SelectiveKind::kScores;
  Precision gradients = Precision::kFp32;  // that are accumulated and exchanged
  Bytes accumulation{0};                   // memory traffic per parameter and micro-batch, where no GEMM accumulates
  Bytes reduction{0};                      // memory traffic per gradient before it is reduced, beside computation
  Bytes optimizer{60};                     // memory traffic of a step of Adam per parameter
  bool overlap_gradients = true;           // with the backward pass of the last micro-batch
  // Gradients and parameters are exchanged layer by layer whatever replicas share (FSDP), not in buckets.
  bool overlap_layers = false;
  Bytes bucket{25'000'000};         // of gradients exchanged together
  Bytes bucket_of_replica{0};       // and at least so much for each of the replicas
  bool bucket_first = false;        // only the first stage's first chunk of layers has buckets, others are one
  bool overlap_parameters = false;  // gathers updated parameters (ZeRO 1, 2) with the next forward pass
  TensorOverlap overlap_tensor = TensorOverlap::kNone;
  bool overlap_pipeline = false;  // sends beside computation
  bool scatter_gather = true;     // tensor-parallel ranks send a share each of what goes to the next stage
  bool reshard_pipeline = true;   // ZeRO 3 with a pipeline: parameters are given back after every pass
  bool recompute_all = true;      // recomputation repeats also what the backward pass does not need
  Footprint footprint;            // memory beside what a job needs by its arithmetic
  Duration step{};                // that a step takes beside what the devices do
  HostSpec host;
  Recipe fp8;  // of jobs in fp8 that name none
  SoftwareRates rates;
  std::vector<SoftwareConstant> fitted;
  std::map<Architecture, SoftwareRates> rates_of;                   // of architectures that differ
  std::map<Architecture, std::vector<SoftwareConstant>> fitted_of;  // of these

  const SoftwareRates& rates_on(Architecture architecture) const;
  // Tells whether it has constants of its own kernels, on some architecture.
  bool has_kernels() const;

  bool operator==(const SoftwareSpec&) const = default;
};

// Reads a file of configs/software, or the same inline.
SoftwareSpec read_software(Section& section);

// The precision that gradients are added up and exchanged in: the key `gradients` of a software or a workload.
Precision read_gradients(Section& section, Precision fallback, std::string_view documented = {});

// The constants of a software that were fitted to published training runs, by name: what `fitted` lists in
// configs/software, and what `orrery validate training` counts, and fits again.
// "gemm", "flash", ...
std::string_view name_of(SoftwareConstant constant);

// Constants that kernels of this architecture run with: those of its own rates, if the software has some, and those of
// the software.
std::vector<SoftwareConstant> fitted_on(const SoftwareSpec& software, Architecture architecture);

// A factor, the share of the peak of flash attention forward, or bytes.
double value_of(const SoftwareSpec& software, Architecture architecture, SoftwareConstant constant);

// Sets all five factors for kTraffic; rounds bytes to whole ones. Rates become the architecture's
// own.
void set_value(SoftwareSpec& software, Architecture architecture, SoftwareConstant constant, double value);

// "0.98", "60 B".
std::string value_text(SoftwareConstant constant, double value);

// The key `fitted` of a software, or of its rates on one architecture (`of_architecture`), which has been read.
std::vector<SoftwareConstant> read_fitted(Section& section, const SoftwareRates& rates, bool of_architecture);

}  // namespace orrery::workload
