// SPDX-License-Identifier: MIT
// Facts that a model_type of Hugging Face implies without a key: the entries that its class has where the file has
// none, and the keys without which it would be another model.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/config/tree.h"

namespace orrery::workload {

struct ModelType {
  std::string_view name;
  std::string_view implied;  // "key=value key=value"
  std::string_view needs;    // "key key"
};

// The type of that name. Null: it is not known, and is read by its keys alone.
const ModelType* type_named(std::string_view name);

// The implied entries of a type, which stand at `where`.
ConfigValue implied_entries(const ModelType& type, const Location& where);
// The keys that it needs besides those that every model needs.
std::vector<std::string> needed_keys(const ModelType& type);

}  // namespace orrery::workload
