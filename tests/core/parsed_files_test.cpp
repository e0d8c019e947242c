// SPDX-License-Identifier: MIT
#include "core/config/parsed_files.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <random>

#include "core/files/read_file.h"

using namespace orrery;

namespace {

bool are_same(const Location& one, const Location& other) {
  return one.file == other.file && one.line == other.line && one.column == other.column;
}

bool are_same(const ConfigValue& one, const ConfigValue& other) {
  if (one.kind != other.kind || one.scalar != other.scalar || !are_same(one.where, other.where)) return false;
  return std::ranges::equal(one.items, other.items, [](const auto& a, const auto& b) { return are_same(a, b); }) &&
         std::ranges::equal(one.entries, other.entries, [](const ConfigEntry& a, const ConfigEntry& b) {
           return a.key == b.key && are_same(a.where, b.where) && are_same(a.value, b.value);
         });
}

ConfigValue parsed(const std::string& text, const std::string& file) {
  Diagnostics problems;
  ConfigValue value = parse_config(text, file, problems);
  REQUIRE(problems.problems().empty());
  return value;
}

std::filesystem::path written(const std::string& bytes) {
  const std::filesystem::path file = std::filesystem::temp_directory_path() / "orrery_parsed_files_test.parsed";
  std::ofstream(file, std::ios::binary) << bytes;
  return file;
}

// As the build makes it, of the shipped files.
std::vector<ParsedDocument> shipped_documents() {
  const std::filesystem::path folder = ORRERY_SOURCE_DIR "/configs";
  std::vector<ParsedDocument> documents;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (entry.path().extension() != ".yaml") continue;
    std::string text = read_file(entry.path().string());
    ConfigValue value = parsed(text, entry.path().string());
    documents.push_back({entry.path().lexically_relative(folder).string(), std::move(text), std::move(value)});
  }
  std::ranges::sort(documents, {}, &ParsedDocument::name);
  return documents;
}

}  // namespace

TEST_CASE("a shipped file is found as it was parsed, places and all", "[config]") {
  const std::vector<ParsedDocument> documents = shipped_documents();
  REQUIRE(documents.size() > 100);
  const ParsedFiles files(written(pack_documents(documents)));
  for (const ParsedDocument& document : documents) {
    CAPTURE(document.name);
    const auto found = files.find(document.name, document.text, document.value.where.file);
    REQUIRE(found);
    CHECK(are_same(*found, document.value));
    CHECK_FALSE(files.find(document.name, document.text + " ", document.value.where.file));
  }
  CHECK_FALSE(files.find("clusters/none.yaml", documents.front().text, "none.yaml"));
}

TEST_CASE("a file that is not there, is of another version, or was cut off has no document", "[config]") {
  const std::string text = "a: [1, {b: two}]\nc:\n";
  const ParsedDocument document{"x.yaml", text, parsed(text, "x.yaml")};
  const std::string bytes = pack_documents(std::span(&document, 1));
  REQUIRE(ParsedFiles(written(bytes)).find("x.yaml", text, "x.yaml"));
  CHECK_FALSE(ParsedFiles("no-such-file").find("x.yaml", text, "x.yaml"));
  std::string other = bytes;
  other[other.find('/') + 1] = '0';
  CHECK_FALSE(ParsedFiles(written(other)).find("x.yaml", text, "x.yaml"));
  for (std::size_t size = 0; size < bytes.size(); ++size)
    CHECK_FALSE(ParsedFiles(written(bytes.substr(0, size))).find("x.yaml", text, "x.yaml"));
}

TEST_CASE("damaged bytes hide a document, or change nothing", "[config]") {
  const std::string text = "a: [1, {b: two}]\nc:\n";
  const ParsedDocument document{"x.yaml", text, parsed(text, "x.yaml")};
  const std::string bytes = pack_documents(std::span(&document, 1));
  std::mt19937 draw(1);
  std::size_t hidden = 0;
  for (int i = 0; i < 2000; ++i) {
    std::string damaged = bytes;
    for (int k = 0; k < 3; ++k) damaged[draw() % damaged.size()] = static_cast<char>(draw());
    const auto found = ParsedFiles(written(damaged)).find("x.yaml", text, "x.yaml");
    hidden += found ? 0U : 1U;
    if (found) CHECK(are_same(*found, document.value));
  }
  CHECK(hidden > 1900);
}
