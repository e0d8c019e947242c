// SPDX-License-Identifier: MIT
// A lock that lets one program at a time write to a folder. Files appear in it whole, but those of two programs may not
// fit one another.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

namespace orrery {

// kShared: by programs that say among themselves who writes what, as the parts of a sweep do.
enum class FolderUse : std::uint8_t { kAlone, kShared };

// `folder`, which is there, is this program's until it ends. One that it has alone loses what programs that were killed
// left half written there (remove_partial_files()). InputError where another program writes to it. File systems that
// know no locks let everybody in.
void lock_folder(const std::string& folder, FolderUse use = FolderUse::kAlone);

// An empty file that stands for something and stays; also where machines share a file system that knows no locks of
// folders.
class FileLock {
 public:
  // Makes the file. InputError where that fails.
  FileLock(std::string file, FolderUse use);
  ~FileLock();
  FileLock(FileLock&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)), is_held_(other.is_held_) {}
  FileLock& operator=(FileLock&&) = delete;

  // True where this program holds the lock, false where another one does.
  bool is_held() const { return is_held_; }

 private:
  int descriptor_ = -1;
  bool is_held_ = false;
};

}  // namespace orrery
