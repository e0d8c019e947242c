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
  // What the fitted ones would be by NCCL's own figures or nominally; all others were not fitted.
  NcclConstantList nominal;
};

// All constants, and those under `nominal`.
NcclConstantsFile read_nccl_constants(Section& section);

// The shipped file. InputError with all of its problems.
NcclConstantsFile shipped_nccl_constants(const ConfigFiles& files);

// Those that are there.
NcclConstantList read_some_nccl_constants(Section& section);

// As a configuration has it: "2.5 us", "87.7 GB/s", "81 %", "1.9".
std::string nccl_constant_text(std::size_t number, double value);

}  // namespace orrery::collectives
