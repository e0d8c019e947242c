// SPDX-License-Identifier: MIT
#include "experiment/evidence/kernel_terms.h"

#include <algorithm>
#include <cmath>

namespace orrery::experiment {
namespace {

// Relative change of a constant: small enough for the slope, large against the picosecond that times are rounded to.
constexpr double kDeviceChange = 0.01;

Duration longer(Duration time) {
  return Duration(std::llround(static_cast<double>(time.count()) * (1 + kDeviceChange)));
}

// The device without measurements of its kernels, which terms are not of.
system::DeviceSpec modelled(system::DeviceSpec device) {
  device.measured.clear();
  device.measured_on.clear();
  return device;
}

system::OperatorModel with_slow_launches(system::DeviceSpec device, workload::SoftwareRates rates) {
  device.compute.gemm_launch = longer(device.compute.gemm_launch);
  device.compute.launch = longer(device.compute.launch);
  rates.flash_launch = longer(rates.flash_launch);
  return system::OperatorModel(std::move(device), rates);
}

system::OperatorModel with_slow_memory(system::DeviceSpec device, const workload::SoftwareRates& rates) {
  const double slower = static_cast<double>(device.memory_bandwidth.count()) / (1 + kDeviceChange);
  device.memory_bandwidth = Bandwidth(std::max<std::int64_t>(1, std::llround(slower)));
  return system::OperatorModel(std::move(device), rates);
}

}  // namespace

KernelTimes::KernelTimes(const system::DeviceSpec& device, const workload::SoftwareRates& rates)
    : model_(modelled(device), rates),
      slow_launches_(with_slow_launches(modelled(device), rates)),
      slow_memory_(with_slow_memory(modelled(device), rates)) {}

KernelTerms KernelTimes::terms(const workload::Operator& op) {
  const auto [known, is_new] = known_.try_emplace(op);
  if (!is_new) return known->second;
  const double time = seconds(model_.time(op));
  if (time == 0) return known->second;
  const auto share = [&](const system::OperatorModel& slower) {
    return std::clamp((seconds(slower.time(op)) - time) / (kDeviceChange * time), 0.0, 1.0);
  };
  KernelTerms& terms = known->second;
  terms.launch = share(slow_launches_);
  terms.memory = std::min(share(slow_memory_), 1 - terms.launch);
  terms.rate = 1 - terms.launch - terms.memory;
  if (std::holds_alternative<workload::ElementWise>(op)) {  // has no rate; what is left is rounded
    terms.memory = 1 - terms.launch;
    terms.rate = 0;
  }
  return terms;
}

}  // namespace orrery::experiment
