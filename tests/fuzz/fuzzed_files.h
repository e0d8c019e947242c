// SPDX-License-Identifier: MIT
// Hostile contents as files, for readers that take the path of one.
#pragma once

#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include <stdlib.h>  // mkdtemp

#include "core/assert.h"

namespace orrery::fuzz {

// A folder of this process, removed when it ends.
class FuzzedFolder {
 public:
  FuzzedFolder() : path_((std::filesystem::temp_directory_path() / "orrery-fuzz-XXXXXX").string()) {
    ORRERY_ASSERT(mkdtemp(path_.data()) != nullptr);
  }
  ~FuzzedFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  FuzzedFolder(const FuzzedFolder&) = delete;
  FuzzedFolder& operator=(const FuzzedFolder&) = delete;

  std::string path_of(std::string_view name) const { return path_ + "/" + std::string(name); }
  // Writes a file of that name; its path. A new file, since file systems flush one that was cut to nothing and written.
  std::string write(std::string_view name, std::string_view contents) const {
    std::string file = path_of(name);
    std::filesystem::remove(file);
    std::ofstream(file, std::ios::binary).write(contents.data(), static_cast<std::streamsize>(contents.size()));
    return file;
  }

 private:
  std::string path_;
};

// The parts of an input that holds several files, which stand between lines of "%%". There are `count` of them: those
// that the input does not have are empty, and the last one has all that is left.
inline std::vector<std::string_view> parts_of(std::string_view input, std::size_t count) {
  constexpr std::string_view kBetween = "\n%%\n";
  std::vector<std::string_view> parts;
  while (parts.size() + 1 < count) {
    const std::size_t end = input.find(kBetween);
    parts.push_back(input.substr(0, end));
    input = end == std::string_view::npos ? std::string_view() : input.substr(end + kBetween.size());
  }
  parts.push_back(input);
  return parts;
}

}  // namespace orrery::fuzz
