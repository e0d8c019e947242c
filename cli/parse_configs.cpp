// SPDX-License-Identifier: MIT
// Parses the shipped configurations when the program is built (core/config/parsed_files.h):
//   orrery_parse_configs FOLDER OUTPUT
#include <algorithm>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <string>
#include <vector>

#include "core/config/parsed_files.h"
#include "core/error.h"
#include "core/files/output_file.h"
#include "core/files/read_file.h"

namespace {

// Files that a run may take; a file with problems is left to be parsed, and told of, when it is used.
std::vector<orrery::ParsedDocument> parse_all(const std::filesystem::path& folder) {
  std::vector<orrery::ParsedDocument> documents;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (!entry.is_regular_file() || entry.path().extension() != ".yaml") continue;
    const std::string path = entry.path().string();
    orrery::Diagnostics problems;
    std::string text = orrery::read_text(path);
    orrery::ConfigValue value = orrery::parse_config(text, path, problems);
    if (problems.problems().empty() && value.kind != orrery::ConfigValue::Kind::kNull)
      documents.push_back({entry.path().lexically_relative(folder).string(), std::move(text), std::move(value)});
  }
  std::ranges::sort(documents, {}, &orrery::ParsedDocument::name);
  return documents;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return std::fputs("usage: orrery_parse_configs FOLDER OUTPUT\n", stderr), 2;
  try {
    orrery::OutputFile output(argv[2], orrery::Durability::kNone);
    output.write(orrery::pack_documents(parse_all(argv[1])));
    output.close();
    return 0;
  } catch (const std::exception& error) {
    return std::fprintf(stderr, "%s\n", error.what()), 1;
  }
}
