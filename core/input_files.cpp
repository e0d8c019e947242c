// SPDX-License-Identifier: MIT
#include "core/input_files.h"

#include <sys/stat.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <mutex>
#include <optional>
#include <utility>

#include "core/in_parallel.h"
#include "core/sha256.h"

namespace orrery {
namespace {

using FileIdentity = std::pair<dev_t, ino_t>;

struct Inputs {
  std::mutex mutex;
  std::map<FileIdentity, InputFile> files;
};

Inputs& inputs() {
  static Inputs all;
  return all;
}

// Only regular files can be written over.
std::optional<FileIdentity> identity_of(const std::string& path) {
  struct stat status = {};
  if (::stat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) return std::nullopt;
  return FileIdentity{status.st_dev, status.st_ino};
}

}  // namespace

void note_input(const std::string& path, InputKind kind, const std::string& sha256) {
  const auto identity = identity_of(path);
  if (!identity) return;
  const std::scoped_lock lock(inputs().mutex);
  InputFile& file = inputs().files.try_emplace(*identity, InputFile{path, kind, {}}).first->second;
  file.path = std::min(file.path, path);  // whoever comes first
  if (kind == InputKind::kConfiguration) file.kind = kind;
  if (!sha256.empty()) file.sha256 = sha256;
}

bool is_input(const std::string& path) {
  const auto identity = identity_of(path);
  if (!identity) return false;
  const std::scoped_lock lock(inputs().mutex);
  return inputs().files.contains(*identity);
}

std::vector<InputFile> input_files() {
  std::vector<InputFile> files;
  {
    const std::scoped_lock lock(inputs().mutex);
    for (const auto& [identity, file] : inputs().files) files.push_back(file);
  }
  std::ranges::sort(files, {}, &InputFile::path);
  in_parallel(files.size(), hardware_threads(), [&](std::size_t i) {
    if (files[i].sha256.empty()) files[i].sha256 = sha256_of_file(files[i].path);
  });
  return files;
}

std::string sha256_of_file(const std::string& path) {
  constexpr std::size_t kPiece = std::size_t{1} << 18;
  std::ifstream stream(path, std::ios::binary);
  if (!stream) return {};
  Sha256 hash;
  std::string piece(kPiece, '\0');
  while (stream) {
    stream.read(piece.data(), static_cast<std::streamsize>(piece.size()));
    hash.add({piece.data(), static_cast<std::size_t>(stream.gcount())});
  }
  return stream.bad() ? std::string() : hash.finish();
}

}  // namespace orrery
