// SPDX-License-Identifier: MIT
#include "core/files/input_files.h"

#include <sys/stat.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <optional>
#include <utility>

#include "core/error.h"
#include "core/files/read_file.h"
#include "core/in_parallel.h"
#include "core/sha256.h"

namespace orrery {
namespace {

using FileIdentity = std::pair<dev_t, ino_t>;

// State and digest of a file at the time when it was hashed.
struct Digest {
  off_t size = 0;
  std::int64_t modified = 0, changed = 0;  // nanoseconds
  std::string sha256;
};

struct Inputs {
  std::mutex mutex;
  std::map<FileIdentity, InputFile> files;
  std::map<FileIdentity, std::string> outputs;  // that were there before
  std::map<FileIdentity, Digest> digests;
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

// False where the file that was noted under `path` is gone. The number of one that is gone goes to the next new file.
// A descriptor may stand for another file by now, which says nothing about the one that it stood for.
bool may_be_there(const std::string& path, const FileIdentity& identity) {
  return path.starts_with("/dev/") || identity_of(path) == identity;
}

thread_local NotedFiles* noted = nullptr;

std::int64_t nanoseconds(const timespec& time) { return std::int64_t{1'000'000'000} * time.tv_sec + time.tv_nsec; }

// Identity, size and times of a regular file as it is now, without its contents.
std::optional<std::pair<FileIdentity, Digest>> state_of(const std::string& path) {
  struct stat status = {};
  if (::stat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) return std::nullopt;
  return std::pair(FileIdentity{status.st_dev, status.st_ino},
                   Digest{status.st_size, nanoseconds(status.st_mtim), nanoseconds(status.st_ctim), {}});
}

// Empty where it is not known, or of another state.
std::string known_digest(const FileIdentity& identity, const Digest& state) {
  const std::scoped_lock lock(inputs().mutex);
  const auto known = inputs().digests.find(identity);
  const bool is_same = known != inputs().digests.end() && known->second.size == state.size &&
                       known->second.modified == state.modified && known->second.changed == state.changed;
  return is_same ? known->second.sha256 : std::string();
}

std::string digest_of(const std::string& path) {
  auto state = state_of(path);
  if (!state) return {};
  if (std::string known = known_digest(state->first, state->second); !known.empty()) return known;
  state->second.sha256 = sha256_of_file(path);
  const std::scoped_lock lock(inputs().mutex);
  return inputs().digests.insert_or_assign(state->first, std::move(state->second)).first->second.sha256;
}

[[noreturn]] void refuse(const std::string& output) {
  throw InputError({output}, "is read and would be written over", "write to another place");
}

}  // namespace

void note_input(const std::string& path, InputKind kind, const std::string& sha256) {
  if (noted != nullptr && kind == InputKind::kData) noted->add(path);
  const auto identity = identity_of(path);
  if (!identity) return;
  const std::scoped_lock lock(inputs().mutex);
  InputFile& file = inputs().files.try_emplace(*identity, InputFile{path, kind, {}}).first->second;
  if (!may_be_there(file.path, *identity)) file = {path, kind, {}};
  file.path = std::min(file.path, path);  // whoever comes first
  if (kind == InputKind::kConfiguration) file.kind = kind;
  if (!sha256.empty()) file.sha256 = sha256;
  // Whoever goes on after this does not write it either.
  const auto output = inputs().outputs.find(*identity);
  if (output != inputs().outputs.end() && may_be_there(output->second, *identity)) refuse(output->second);
}

bool is_input(const std::string& path) {
  const auto identity = identity_of(path);
  if (!identity) return false;
  const std::scoped_lock lock(inputs().mutex);
  const auto file = inputs().files.find(*identity);
  return file != inputs().files.end() && may_be_there(file->second.path, *identity);
}

void note_output(const std::string& path) {
  if (is_input(path)) refuse(path);
  const auto identity = identity_of(path);
  if (!identity) return;
  const std::scoped_lock lock(inputs().mutex);
  inputs().outputs.insert_or_assign(*identity, path);
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

std::vector<std::string> digests_of(std::span<const std::string> files) {
  std::vector<std::string> digests(files.size());
  in_parallel(files.size(), hardware_threads(), [&](std::size_t i) { digests[i] = digest_of(files[i]); });
  return digests;
}

NotedFiles::NotedFiles() { noted = this; }

NotedFiles::~NotedFiles() { noted = nullptr; }

std::string sha256_of_file(const std::string& path) {
  try {
    return sha256_of(read_file(path, {.is_noted = false}));
  } catch (const InputError&) {
    return {};
  }
}

}  // namespace orrery
