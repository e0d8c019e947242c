// SPDX-License-Identifier: MIT
// The configurations of this source tree.
#pragma once

#include "core/config/tree.h"

namespace orrery {

inline const ConfigFiles kFiles(ORRERY_SOURCE_DIR "/configs");

}  // namespace orrery
