// SPDX-License-Identifier: MIT
// Files that were made from others and keep the paths in them: results of runs.
#pragma once

#include <string>

namespace orrery {

// From now on paths in `file` start from where those in `original` do, from which it was made: path_from() in
// core/config/tree.h. Any thread may call.
void take_paths_of(const std::string& file, const std::string& original);

}  // namespace orrery
