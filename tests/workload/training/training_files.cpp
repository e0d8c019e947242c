// SPDX-License-Identifier: MIT
#include "tests/workload/training/training_files.h"

#include <algorithm>
#include <catch2/catch.hpp>

namespace orrery::testing {
namespace {

const std::filesystem::path kConfigs = std::filesystem::path(ORRERY_SOURCE_DIR) / "configs";

std::string text_of(const Diagnostics& diagnostics) {
  std::string text;
  for (const Problem& problem : diagnostics.problems()) text += to_string(problem) + "\n";
  return text;
}

}  // namespace

std::string problems_of(std::string_view text, const std::function<void(Section&)>& read) {
  Diagnostics diagnostics;
  const ConfigFiles files(kConfigs);
  ConfigContext context(files, diagnostics);
  ConfigValue root = parse_config(text, "x.yaml", diagnostics);
  read_config(root, context, read);
  return text_of(diagnostics);
}

ConfigValue read_shipped(const std::filesystem::path& file, const std::function<void(Section&)>& read) {
  Diagnostics diagnostics;
  const ConfigFiles files(kConfigs);
  ConfigContext context(files, diagnostics);
  ConfigValue root = files.load(file, {}, diagnostics);
  ConfigValue as_written = root;
  read_config(root, context, read);
  INFO(text_of(diagnostics));
  CHECK(diagnostics.problems().empty());
  return as_written;
}

std::vector<std::filesystem::path> shipped_files(std::string_view folder) {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(kConfigs / folder)) files.push_back(entry.path());
  std::ranges::sort(files);
  return files;
}

}  // namespace orrery::testing
