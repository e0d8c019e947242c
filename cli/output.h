// Where answers and warnings go. What is printed loses its control characters here, whatever input it comes from: log.h
// has standard error, write_text() and write_json() standard output.
#pragma once

#include <span>
#include <string>

#include <nlohmann/json_fwd.hpp>

#include "core/error.h"

namespace orrery::cli {

// Prints warnings to standard error, the first so many in full.
void print_warnings(std::span<const Problem> problems);

// Before the work: InputError if it is plain already that write_text() cannot write to `path`, or if that would write
// over one of `inputs`, which are files or the names of something else. Leaves nothing behind. No path is fine.
void check_writable(const std::string& path, std::span<const std::string> inputs = {});

// Makes `folder`, also in folders that are not there yet. InputError when that fails, or as check_writable() for the
// `files` of it.
void make_folder(const std::string& folder, std::span<const std::string> files,
                 std::span<const std::string> inputs = {});

// Writes `text` to `path`, "-" being standard output. InputError when that fails, and a file is gone then, or if that
// would write over a file that was read.
void write_text(const std::string& path, const std::string& text, TextKind kind = TextKind::kPlain);
void write_json(const std::string& path, const nlohmann::ordered_json& document);

}  // namespace orrery::cli
