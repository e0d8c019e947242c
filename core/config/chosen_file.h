// SPDX-License-Identifier: MIT
// Files of configurations in which somebody has chosen what stands there.
#pragma once

#include <string>

#include "core/config/tree.h"

namespace orrery {

// True of a file that is neither a shipped one nor one in which Orrery has written all keys out.
bool is_chosen_file(const std::string& file, const ConfigFiles& files);

}  // namespace orrery
