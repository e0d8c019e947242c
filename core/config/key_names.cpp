// SPDX-License-Identifier: MIT
#include "core/config/key_names.h"

#include <algorithm>

namespace orrery {

std::vector<std::string> key_names(const ConfigFiles& files, const Section::Read& read) {
  std::vector<std::string> names;
  for (const KeyDescription& key : list_keys(files, read)) {
    std::string name = key.path.substr(0, key.path.find_first_of(".["));
    if (std::ranges::find(names, name) == names.end()) names.push_back(std::move(name));
  }
  return names;
}

}  // namespace orrery
