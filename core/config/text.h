// SPDX-License-Identifier: MIT
// A configuration tree as YAML text that parse_config() reads back: for files that the program writes.
#pragma once

#include <functional>
#include <string>

#include "core/config/tree.h"

namespace orrery {

// The entries of a map, one a line and nested by two spaces; lists and texts that YAML could take for something else in
// the notation of JSON. Throws InputError at a text that is not UTF-8.
std::string yaml_text(const ConfigValue& map);

// A text in the notation of a value or a key: as it is, or in quotes. Throws InputError if it is not UTF-8.
std::string yaml_scalar(const std::string& text, const Location& where = {});

// Rewrites the paths of files in `value` as they are in the file `target`: from its folder, or absolute if they were or
// `target` is empty.
void move_paths(ConfigValue& value, const std::string& target);

// The comment beside a value, by its path ("a.b"); empty: none. Values of lists are not asked for.
using CommentOf = std::function<std::string(const std::string& path)>;
std::string yaml_text(const ConfigValue& map, const CommentOf& comment_of);

}  // namespace orrery
