// SPDX-License-Identifier: MIT
#include "core/files/folder_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <mutex>
#include <set>
#include <system_error>
#include <utility>

#include "core/error.h"
#include "core/files/output_file.h"

namespace orrery {
namespace {

// Folders that are locked, whose descriptors stay open as long as the program runs.
struct Locked {
  std::mutex mutex;
  std::set<std::pair<dev_t, ino_t>> folders;
};

Locked& locked() {
  static Locked all;
  return all;
}

}  // namespace

// The lock is on the folder itself, so that no file is left behind.
void lock_folder(const std::string& folder, FolderUse use) {
  const int descriptor = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  struct stat status = {};
  if (descriptor < 0 || ::fstat(descriptor, &status) != 0) return;  // writing will say why
  const std::scoped_lock guard(locked().mutex);
  const bool is_new = locked().folders.emplace(status.st_dev, status.st_ino).second;
  if (!is_new) {
    ::close(descriptor);
    return;
  }
  if (::flock(descriptor, (use == FolderUse::kAlone ? LOCK_EX : LOCK_SH) | LOCK_NB) == 0) {
    if (use == FolderUse::kAlone) remove_partial_files(folder);
    return;
  }
  const bool is_taken = errno == EWOULDBLOCK;
  ::close(descriptor);
  locked().folders.erase({status.st_dev, status.st_ino});
  if (is_taken)
    throw InputError({folder}, "another orrery writes to this folder", "wait for its end, or write to another folder");
}

FileLock::FileLock(std::string file, FolderUse use)
    : descriptor_(::open(file.c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0666)) {
  const auto refuse = [&] { throw InputError({file}, "cannot be written: " + std::generic_category().message(errno)); };
  if (descriptor_ < 0) refuse();
  is_held_ = ::flock(descriptor_, (use == FolderUse::kAlone ? LOCK_EX : LOCK_SH) | LOCK_NB) == 0;
  if (is_held_ || errno == EWOULDBLOCK) return;
  ::close(std::exchange(descriptor_, -1));
  refuse();
}

FileLock::~FileLock() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

}  // namespace orrery
