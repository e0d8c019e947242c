// A device: what it computes and how fast its memory is, read from configs/devices. A compute node without a measured
// time takes the plain roofline of its device.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "core/config.h"
#include "core/machine_kind.h"
#include "core/precision.h"
#include "core/units.h"

namespace orrery {

struct DeviceSpec {
  std::string name;
  std::array<std::optional<FlopRate>, kAllPrecisions.size()> peaks;  // dense, by Precision
  Bytes memory_capacity{0};
  Bandwidth memory_bandwidth{1};
  std::uint32_t streaming_multiprocessors = 0;  // 0: not known
  Architecture architecture = Architecture::kOther;

  // The peak for `precision`; bf16 falls back to fp16 and the other way (V100 has no bf16, at the same rate where both
  // exist). Nothing if the device has neither.
  std::optional<FlopRate> peak(Precision precision) const;
};

// Reads a device section (a file in configs/devices, or inline).
DeviceSpec read_device(Section& section);

// Plain roofline: the longer of flops / peak and bytes / memory bandwidth.
Duration roofline_time(Flops flops, Bytes bytes, FlopRate peak, Bandwidth memory_bandwidth);

}  // namespace orrery
