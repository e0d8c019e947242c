// SPDX-License-Identifier: MIT
// Constants of a machine out of timed kernels. What kernels reach that run alone is the device's and goes into the
// cluster: `compute` of the device. What they reach within a job (a lasting clock, power shared with copies) is the
// software's: `rates`, which a profile of a job tells. How products of a stage differ from forward ones is the
// device's, whoever shows it.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "core/config/tree.h"
#include "core/units.h"
#include "study/calibrate/findings.h"
#include "study/calibrate/kernel_timing.h"
#include "system/devices/device.h"
#include "workload/training/spec/operators.h"

namespace orrery::study {

// kAlone: a benchmark of kernels, one at a time. kJob: a profile of a training job.
enum class KernelOrigin : std::uint8_t { kAlone, kJob };

// Facts that are known of the device that was measured; empty: nothing.
struct MeasuredDevice {
  std::string name;  // as its driver calls it: "NVIDIA H100 80GB HBM3"
  Bytes memory{0};
};

// Fits what the timings determine, and writes it into the machine. InputError if they are of another device than the
// cluster's. A finding has a row for every kernel that the model predicts, in the order of the timings.
Finding calibrate_kernels(std::span<const KernelTiming> timings, CalibratedMachine& machine, const ConfigFiles& files,
                          KernelOrigin origin = KernelOrigin::kAlone, const MeasuredDevice& measured = {});

// The device of a resolved cluster that was measured: its only one, or the one of that name where it mixes several.
system::DeviceSpec device_of(const CalibratedMachine& machine, const ConfigFiles& files,
                             const MeasuredDevice& measured = {});

// The operator that a timing is of; of memory, a kernel that moves bytes. Not of launches.
workload::Operator operator_of(const KernelTiming& timing);

// "bf16 product, forward", "bf16 attention, backward", "memory".
std::string group_of(const KernelTiming& timing);
// "8192 x 4096 x 1024", "8 of 512 x 4096 x 1024", "2 x 4096, 32/8 heads of 128, causal", "64 MiB".
std::string label_of(const KernelTiming& timing);

}  // namespace orrery::study
