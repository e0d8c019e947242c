// SPDX-License-Identifier: MIT
// The keys of `kind: transformer` in a file of configs/models.
#pragma once

#include "core/config/config.h"
#include "workload/training/spec/model.h"

namespace orrery::workload {

// What it returns after an error may be of any size, but no zero stands where it could be divided by.
TransformerSpec read_transformer(Section& section);

}  // namespace orrery::workload
