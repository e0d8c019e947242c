// Where answers and warnings go.
#pragma once

#include <span>
#include <string>

#include "core/error.h"

namespace orrery::cli {

// Prints warnings to standard error, the first so many in full.
void print_warnings(std::span<const Problem> problems);

// Writes `text` to `path`, "-" being standard output. InputError when that fails.
void write_text(const std::string& path, const std::string& text);

}  // namespace orrery::cli
