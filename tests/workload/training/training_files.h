// SPDX-License-Identifier: MIT
// Reading models and software in tests: from text, or a shipped file.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "core/config/config.h"

namespace orrery::testing {

// The problems that `read` finds in `text`, line by line; the file is called x.yaml.
std::string problems_of(std::string_view text, const std::function<void(Section&)>& read);

// Reads a shipped file; problems fail the test.
ConfigValue read_shipped(const std::filesystem::path& file, const std::function<void(Section&)>& read);

// The files of a folder of configs/, sorted.
std::vector<std::filesystem::path> shipped_files(std::string_view folder);

}  // namespace orrery::testing
