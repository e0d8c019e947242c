// SPDX-License-Identifier: MIT
// `--sources`: the figures that a time rests on, in place of the summary.
#pragma once

#include <string>

#include <CLI/CLI.hpp>

#include "cli/output.h"
#include "core/config/tree.h"
#include "report/result.h"

namespace orrery::cli {

// Adds the option, behind those that it excludes; `format` is "list", "bibtex" or "json", and empty without it.
void add_sources(CLI::App& command, std::string& format);

// InputError for another form, or one that another option excludes.
void check_sources(const std::string& format, const Outputs& outputs);

// The figures that the time rests on, and where they are from; fills in what defaults mean.
std::string sources_of(const std::string& format, report::Result& result, const ConfigFiles& files);

}  // namespace orrery::cli
