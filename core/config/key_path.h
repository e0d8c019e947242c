// SPDX-License-Identifier: MIT
// Paths and names of keys: values that are there, keys that readers declare, and those that a mistaken name may mean.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "core/config/config.h"

namespace orrery {

// The most levels that a configuration has, in a file as by the path of a key.
inline constexpr std::size_t kDeepestValue = 64;
// False, with an error, for a path of more keys than that.
bool check_depth(std::string_view path, const Location& where, Diagnostics& diagnostics);

// The value at a path, "a.b[0].c"; null if there is none. The root itself for an empty path.
ConfigValue* value_at_path(ConfigValue& root, std::string_view path);
const ConfigValue* value_at_path(const ConfigValue& root, std::string_view path);

// Lists the keys at the top of the section that `read` reads, each once, in its order.
std::vector<std::string> key_names(const ConfigFiles& files, const Section::Read& read);

// Selects from `paths` those that end with `part`, preferring paths below `section`, the least deep first. If none ends
// so, the last keys of `part` are left out; empty if too many do.
std::vector<std::string> paths_with(std::string part, const std::string& section,
                                    const std::vector<std::string>& paths);
// Paths below `section` whose last key is another spelling of `key`: "allreduce" of "all_reduce". Empty if too many
// are.
std::vector<std::string> paths_spelt(std::string_view key, const std::string& section,
                                     const std::vector<std::string>& paths);

}  // namespace orrery
