// SPDX-License-Identifier: MIT
// Reads the constants of the `nccl` library, a file of configs/libraries.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include "collectives/nccl/constants.h"
#include "core/config/config.h"

namespace orrery::collectives {

// Constants by number, each in the unit of its kind.
using NcclConstantList = std::vector<std::pair<std::size_t, double>>;

struct NcclConstantsFile {
  NcclConstants constants;
  // Nominal values, or NCCL's own figures, of the fitted constants; all others were not fitted.
  NcclConstantList nominal;
};

// All constants, and those under `nominal`.
NcclConstantsFile read_nccl_constants(Section& section);

// The shipped file. InputError with all of its problems.
NcclConstantsFile shipped_nccl_constants(const ConfigFiles& files);

// Reads the constants that are present.
NcclConstantList read_some_nccl_constants(Section& section);

// Text of a constant as in a configuration: "2.5 us", "87.7 GB/s", "81 %", "1.9".
std::string nccl_constant_text(std::size_t number, double value);

}  // namespace orrery::collectives
