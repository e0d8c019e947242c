// SPDX-License-Identifier: MIT
// The constants that timed kernels may determine, and the model of kernels that has them.
#pragma once

#include <cstddef>
#include <functional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "core/config/tree.h"
#include "core/precision.h"
#include "study/calibrate/findings.h"
#include "study/calibrate/kernels.h"
#include "system/devices/device.h"
#include "workload/training/spec/operators.h"
#include "workload/training/spec/software.h"

namespace orrery::study {

// Everything that a kernel's time depends on.
struct KernelModel {
  system::DeviceSpec device;
  workload::SoftwareRates rates;

  double seconds_of(const workload::Operator& op) const;
  std::vector<double> seconds_of(std::span<const workload::Operator> ops) const;
};

struct KernelConstant {
  CalibratedFile file = CalibratedFile::kCluster;
  std::string key;  // below the device or the software: "compute.gemm", "gemm"
  ConstantUnit unit = ConstantUnit::kShare;
  std::function<double(const KernelModel&)> value;
  std::function<void(KernelModel&, double)> set;
  double most = 1;
  double prior = 0.3;         // standard deviation of its logarithm, as far as one knows without measurements
  std::string nothing_shows;  // "no product in fp8"
  bool is_named = true;       // also where the timings say nothing of it
  bool is_offered = true;     // to the fit
};

// Kinds of kernels that timings are of.
struct KernelKinds {
  std::set<Precision> products;  // formats
  bool attention = false;
  bool memory = false;
};

// Constants in the order in which they are fitted where two act alike. The model is given figures of its own for the
// formats that need one.
std::vector<KernelConstant> kernel_constants(KernelOrigin origin, const KernelKinds& kinds, bool has_software,
                                             KernelModel& model);

}  // namespace orrery::study
