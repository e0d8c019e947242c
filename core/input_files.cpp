#include "core/input_files.h"

#include <sys/stat.h>

#include <mutex>
#include <optional>
#include <set>
#include <utility>

namespace orrery {
namespace {

using FileIdentity = std::pair<dev_t, ino_t>;

struct Inputs {
  std::mutex mutex;
  std::set<FileIdentity> files;
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

void note_input(const std::string& path) {
  const auto identity = identity_of(path);
  if (!identity) return;
  const std::scoped_lock lock(inputs().mutex);
  inputs().files.insert(*identity);
}

bool is_input(const std::string& path) {
  const auto identity = identity_of(path);
  if (!identity) return false;
  const std::scoped_lock lock(inputs().mutex);
  return inputs().files.contains(*identity);
}

}  // namespace orrery
