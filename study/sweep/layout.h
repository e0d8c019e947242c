// SPDX-License-Identifier: MIT
// The keys of a sweep that say which points there are of all combinations, and how their table is laid out.
#pragma once

#include "core/config/config.h"
#include "study/sweep/file.h"

namespace orrery::study {

// Reads the layout of a sweep whose axes have been read.
void read_layout(Section& section, Sweep& sweep);

}  // namespace orrery::study
