// SPDX-License-Identifier: MIT
// Time of kernels of a library that has its own constants (workload/training/spec/kernels.h). docs/compute.md has the
// equations, where the constants come from, and the errors.
#pragma once

#include "system/devices/device.h"
#include "workload/training/spec/kernels.h"

namespace orrery::system {

// Queries that a multiprocessor holds at a time in attention.
inline constexpr double kQueryTile = 128;

// Properties of a device that a kernel's time depends on.
struct KernelDevice {
  double peak = 0;             // dense, for the format of the operands, in FLOP/s
  double memory = 0;           // bandwidth as kernels reach it, in bytes per second
  double multiprocessors = 1;  // at least 1
  double cache = 0;            // in bytes; 0: holds nothing
  double exponentials = 1;     // a cycle, next to others of its architecture
};

// Time of a matrix product with launch and quantisation, in seconds. Sizes are positive.
double kernel_time(const workload::Gemm& gemm, const workload::KernelLibrary& kernels, const KernelDevice& device);

// Number of keys that a tile of queries goes through: those that any of its queries sees.
double keys_of_tile(const workload::FlashAttention& attention, double tile);
// The same on average over the tiles of a windowed sequence: under a causal mask those of its first window see a
// triangle.
double mean_keys_of_tile(const workload::FlashAttention& attention, double tile);
// The share of the peak that the library's products of attention reach; 0: it has no such kernels.
double attention_share(const workload::FlashAttention& attention, const workload::KernelLibrary& kernels);
// Time of flash attention, forward, in seconds, if the library has kernels for it. Sizes are positive.
double kernel_time(const workload::FlashAttention& attention, const workload::KernelLibrary& kernels,
                   const KernelDevice& device);

// Time of fused experts, forward, in seconds. Sizes are positive.
double kernel_time(const workload::FusedExperts& experts, const workload::KernelLibrary& kernels,
                   const KernelDevice& device);

}  // namespace orrery::system
