// SPDX-License-Identifier: MIT
// Documentation made from the readers themselves, so that it cannot lag behind.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "core/config/config.h"

namespace orrery::experiment {

// docs/config.md: every key with type, range, default and meaning, in chapters. `sweep`: the keys of a sweep file.
std::string configuration_docs(const ConfigFiles& files, std::span<const KeyDescription> sweep);

// Place of an experiment's key in the documents.
struct DocumentedKey {
  std::string_view chapter;
  std::string_view place;  // "cluster.node.device.": the part of the path that the chapter stands for
  std::string_view name;   // in the table: the path, or what follows the place where there are several with these keys
};
DocumentedKey documented_key(std::string_view path);

// The first comment line of a shipped file: what it describes. "" if it has none.
std::string first_comment(const ConfigFiles& files, const std::string& folder, const std::string& name);

}  // namespace orrery::experiment
