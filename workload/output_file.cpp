#include "workload/output_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <system_error>
#include <utility>

#include "core/assert.h"
#include "core/error.h"

namespace orrery {
namespace {

constexpr std::size_t kBuffer = std::size_t{1} << 20;
constexpr mode_t kReadableByAll = 0666;  // less what the umask takes away

}  // namespace

// POSIX files rather than streams, because streams lose the reason of a failure.
OutputFile::OutputFile(std::string path)
    : path_(std::move(path)),
      descriptor_(::open(path_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, kReadableByAll)) {
  if (descriptor_ < 0) fail("cannot be created", errno);
}

OutputFile::~OutputFile() {
  if (descriptor_ < 0) return;
  struct stat status = {};
  if (::fstat(descriptor_, &status) == 0 && S_ISREG(status.st_mode)) ::unlink(path_.c_str());
  ::close(descriptor_);
}

void OutputFile::write(std::string_view bytes) {
  ORRERY_ASSERT(descriptor_ >= 0);
  if (bytes.size() >= kBuffer) {
    flush(std::exchange(buffer_, {}));
    return flush(bytes);
  }
  buffer_ += bytes;
  if (buffer_.size() < kBuffer) return;
  flush(buffer_);
  buffer_.clear();
}

void OutputFile::flush(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(descriptor_, bytes.data(), bytes.size());
    if (written >= 0)
      bytes.remove_prefix(static_cast<std::size_t>(written));
    else if (errno != EINTR)
      fail("cannot be written", errno);
  }
}

void OutputFile::close() {
  flush(std::exchange(buffer_, {}));
  // The descriptor is gone even when closing reports that the disk is full.
  if (::close(std::exchange(descriptor_, -1)) != 0) fail("cannot be written", errno);
}

void OutputFile::fail(const char* what, int reason) const {
  throw InputError({path_}, std::string(what) + ": " + std::generic_category().message(reason));
}

}  // namespace orrery
