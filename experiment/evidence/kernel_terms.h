// SPDX-License-Identifier: MIT
// Terms of a kernel's time, by how much it changes with the constants of its device: it is a sum or a maximum of
// launches, of work over a rate and of bytes over another, so that its relative changes with these three add up to 1.
#pragma once

#include <map>

#include "system/devices/operator_model.h"

namespace orrery::experiment {

// Shares of a time.
struct KernelTerms {
  double launch = 0;
  double memory = 0;
  double rate = 0;
};

class KernelTimes {
 public:
  KernelTimes(const system::DeviceSpec& device, const workload::SoftwareRates& rates);
  KernelTerms terms(const workload::Operator& op);

 private:
  system::OperatorModel model_, slow_launches_, slow_memory_;
  std::map<workload::Operator, KernelTerms> known_;
};

}  // namespace orrery::experiment
