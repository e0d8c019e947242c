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

// InputError if `path` was read (core/input_files.h) and would be written over.
void refuse_input(const std::string& path);

// Before the work: InputError if it is plain already that write_text() cannot write to `path`. Leaves nothing behind. No
// path is fine. What will be read is noted before, by note_input(), and is then refused here.
void check_writable(const std::string& path);

// Makes `folder`, also in folders that are not there yet. InputError when that fails, or as check_writable() for the
// `files` of it.
void make_folder(const std::string& folder, std::span<const std::string> files);

// Writes `text` to `path`, "-" being standard output. InputError when that fails, and a file is gone then, or if that
// would write over a file that was read.
void write_text(const std::string& path, const std::string& text, TextKind kind = TextKind::kPlain);
void write_json(const std::string& path, const nlohmann::ordered_json& document);

}  // namespace orrery::cli
