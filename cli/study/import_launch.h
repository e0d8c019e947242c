// SPDX-License-Identifier: MIT
// `orrery workload import` of files of launchers: an experiment in place of traces.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/session.h"
#include "experiment/launchers/launcher.h"

namespace orrery::cli {

struct LaunchImportOptions {
  std::string cluster;
  std::int64_t nodes = 0;
  std::int64_t ranks = 0;  // --ranks of all formats
  std::string model;
  std::string software;
  std::vector<std::string> definitions;  // NAME=VALUE
  std::vector<std::string> settings;     // a.b=v
  bool strict = false;
  bool details = false;
};

// The options of launchers' files.
void add_launch_options(CLI::App& command, LaunchImportOptions& options);
// The first of the options that is given; empty if none is. Files of other formats have no use for them.
std::string given_launch_option(const LaunchImportOptions& options);

// Writes the experiment to the file that --out names, and prints what became of the arguments.
void import_launch_files(const std::vector<std::string>& files, experiment::Launcher launcher,
                         const LaunchImportOptions& options, const Session& session);

}  // namespace orrery::cli
