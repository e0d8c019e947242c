// Documentation made from the readers themselves, so that it cannot lag behind.
#pragma once

#include <string>

#include "core/config/tree.h"

namespace orrery {

// docs/config.md: every key with type, default and meaning.
std::string configuration_docs(const ConfigFiles& files);

// The first comment line of a shipped file: what it describes. "" if it has none.
std::string first_comment(const ConfigFiles& files, const std::string& folder, const std::string& name);

}  // namespace orrery
