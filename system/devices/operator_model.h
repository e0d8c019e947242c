// SPDX-License-Identifier: MIT
// Time of one operator on a device: matrix products by tiles, slices of k, waves and memory, or by the dataflow of
// systolic arrays; element-wise kernels and flash attention by a roofline. docs/compute.md has the equations, where the
// constants come from, and the errors.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string_view>

#include "system/devices/device.h"
#include "system/devices/kernel_time.h"
#include "system/devices/measured_kernels.h"
#include "workload/training/spec/operators.h"
#include "workload/training/spec/software.h"

namespace orrery::system {

// Constants that all devices share, fitted to the tables of configs/validation/compute.
struct GemmConstant {
  std::string_view name;
  double value = 0;
  std::string_view meaning;
};
std::span<const GemmConstant> shared_gemm_constants();

// Kernels as micro-benchmarks run them: nothing lost and nothing moved twice, flash attention as measured on the
// device.
workload::SoftwareRates micro_benchmark_rates(const DeviceSpec& device);

class OperatorModel final : public workload::OperatorTimes {
 public:
  explicit OperatorModel(const DeviceSpec& device) : OperatorModel(device, micro_benchmark_rates(device)) {}
  OperatorModel(DeviceSpec device, const workload::SoftwareRates& rates);

  // Sizes are not negative. The same bytes for the same operator, whatever was asked before. InputError, without a
  // place, if the device has no peak for the precision of a product or of attention.
  // On a device with measured kernels, with what these are of the model's times on what they were measured on. A
  // measured kernel takes as long as measured, whatever the software's rates are; the further from all that was
  // measured, the more these count.
  Duration time(const workload::Operator& op) const override;
  double measured(const workload::Operator& op) const override;
  // The same of fused experts, which only a software with kernels of its own has: nothing without.
  std::optional<Duration> time(const workload::FusedExperts& experts) const;
  std::int64_t processors() const override { return device_.streaming_multiprocessors; }

 private:
  bool computes(const KernelSample& sample) const;
  Duration modelled(const workload::Operator& op) const;
  Duration time_of(const workload::Gemm& gemm) const;
  Duration time_of(const workload::FlashAttention& attention) const;
  Duration time_of(const workload::ElementWise& op) const;
  double peak(Precision precision) const;                        // at the clock that lasts, in FLOP/s
  double low_precision_share(const workload::Gemm& gemm) const;  // of what two-byte operands reach of their peak
  double gemm_rate(const workload::Gemm& gemm) const;            // in the main loop of a tile of 256 x 128, in FLOP/s
  double product_time(const workload::Gemm& gemm) const;         // without the launch, in seconds
  double attention_rate(const workload::FlashAttention& attention) const;  // in FLOP/s
  KernelDevice kernel_device(double peak) const;
  double library_peak(Precision precision, workload::Scaling scaling) const;  // for kernels of the software's own
  double systolic_time(const workload::Gemm& gemm) const;                     // of computing alone, in seconds
  double accumulation_time(const workload::Gemm& gemm) const;                 // that is not hidden, in seconds
  double reduction_time(const workload::Gemm& gemm,
                        double slices) const;  // of what slices of k have summed up, in seconds

  DeviceSpec device_;
  workload::SoftwareRates rates_;
  double memory_bandwidth_;  // as kernels reach it, in bytes per second
  std::optional<MeasuredKernels> measured_;
  std::shared_ptr<const OperatorModel>
      alone_;  // with measured_: this device without them, by software that loses nothing
};

}  // namespace orrery::system
