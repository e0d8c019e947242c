// SPDX-License-Identifier: MIT
// The device of a cluster that kernels were timed on, and where it stands in the configuration.
#pragma once

#include <string>
#include <vector>

#include "core/config/tree.h"
#include "study/calibrate/findings.h"
#include "study/calibrate/kernels.h"
#include "system/devices/device.h"
#include "workload/training/spec/software.h"

namespace orrery::study {

struct FoundDevice {
  system::DeviceSpec spec;
  std::vector<std::string> paths;  // "node.device"; of nodes of several types that have the same one, each
};

// InputError if the measured device is another than the cluster's, both being of known kinds, or if it does not say
// which of several was measured. What looks wrong but may be right is a warning.
FoundDevice find_device(const CalibratedMachine& machine, const ConfigFiles& files, const MeasuredDevice& measured,
                        std::vector<Problem>& warnings);

// The software of a machine that has one.
workload::SoftwareSpec software_of(const CalibratedMachine& machine, const ConfigFiles& files);

// Path of the rates that hold on devices of this architecture: "rates", "rates_of.hopper".
std::string path_of_rates(const workload::SoftwareSpec& software, Architecture architecture);

// True if the name of a driver ("NVIDIA H100 80GB HBM3") may be that of a device of the configuration ("h100-sxm").
bool is_name_of(std::string_view measured, std::string_view device);

}  // namespace orrery::study
