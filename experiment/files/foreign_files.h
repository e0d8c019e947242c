// SPDX-License-Identifier: MIT
// Files that are no configurations, told by how they begin: logs, tables, scripts, topologies, what is compressed or
// binary. Whoever expects a configuration says by them what it was given instead, and which command takes that.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace orrery::experiment {

struct ForeignFile {
  std::string what;  // "a log of nccl-tests"
  std::string hint;  // which command takes it, or what would
};

// Nothing of a file that may be a configuration, a trace or a profile, and of one that cannot be read.
std::optional<ForeignFile> foreign_file(const std::string& file);

// InputError if `file` is one; `expected` as "an experiment".
void refuse_foreign_file(const std::string& file, std::string_view expected);

}  // namespace orrery::experiment
