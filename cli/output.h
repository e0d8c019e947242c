// Where answers and warnings go.
#pragma once

#include <span>
#include <string>

#include "core/error.h"

namespace orrery::cli {

// Prints warnings to standard error, the first so many in full.
void print_warnings(std::span<const Problem> problems);

// Before the work: InputError if it is plain already that write_text() cannot write to `path`. Leaves nothing behind.
// No path is fine.
void check_writable(const std::string& path);

// Makes `folder`, also in folders that are not there yet. InputError when that fails, or if it is plain already that
// write_text() cannot write `files` of it.
void make_folder(const std::string& folder, std::span<const std::string> files);

// Writes `text` to `path`, "-" being standard output. InputError when that fails.
void write_text(const std::string& path, const std::string& text);

}  // namespace orrery::cli
