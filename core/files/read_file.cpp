// SPDX-License-Identifier: MIT
#include "core/files/read_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <map>
#include <mutex>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "core/error.h"

namespace orrery {
namespace {

constexpr std::size_t kLargestPipe = std::size_t{1} << 30;

std::string reason_of(int number) { return std::generic_category().message(number); }

[[noreturn]] void refuse(const std::string& path, std::string message, std::string hint = {}) {
  throw InputError({path}, std::move(message), std::move(hint));
}

// POSIX files rather than streams, because streams lose the reason of a failure.
class OpenFile {
 public:
  // Opens the file; a pipe is waited for until somebody writes to it, as other programs do.
  explicit OpenFile(const std::string& path) : path_(path) {
    struct stat status = {};
    if (::stat(path.c_str(), &status) == 0) check_kind(status);
    descriptor_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (descriptor_ < 0) refuse(path, "cannot be opened: " + reason_of(errno));
    if (::fstat(descriptor_, &status) != 0) refuse(path, "cannot be examined: " + reason_of(errno));
    check_kind(status);
    is_pipe_ = !S_ISREG(status.st_mode);
    size_ = is_pipe_ ? 0 : static_cast<std::size_t>(status.st_size);
    identity_ = {status.st_dev, status.st_ino};
  }
  ~OpenFile() { ::close(descriptor_); }
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;

  bool is_pipe() const { return is_pipe_; }
  std::size_t size() const { return size_; }
  std::pair<dev_t, ino_t> identity() const { return identity_; }

  void skip(std::size_t bytes) const {
    if (::lseek(descriptor_, static_cast<off_t>(bytes), SEEK_SET) < 0)
      refuse(path_, "cannot be read: " + reason_of(errno));
  }

  // All, or one byte more than `most`.
  std::string read(std::size_t most) const {
    // One byte more than its size, so that the end is seen without growing; the file may still change while it is read.
    std::string bytes(std::min(size_, most) + 1, '\0');
    std::size_t used = 0;
    while (const std::size_t got = read_part(bytes.data() + used, bytes.size() - used)) {
      used += got;
      if (used > most) break;
      if (used == bytes.size()) bytes.resize(used + std::max(used / 2, std::size_t{4096}));
    }
    bytes.resize(used);
    return bytes;
  }

 private:
  void check_kind(const struct stat& status) const {
    if (S_ISDIR(status.st_mode)) refuse(path_, "is a directory, expected a file");
    if (!S_ISREG(status.st_mode) && !S_ISFIFO(status.st_mode))
      refuse(path_, "is neither a regular file nor a pipe", "write it to a file first");
  }

  // 0 at the end.
  std::size_t read_part(char* to, std::size_t count) const {
    while (true) {
      const ssize_t got = ::read(descriptor_, to, count);
      if (got >= 0) return static_cast<std::size_t>(got);
      if (errno != EINTR) refuse(path_, "cannot be read: " + reason_of(errno));
    }
  }

  const std::string& path_;
  int descriptor_ = -1;
  bool is_pipe_ = false;
  std::size_t size_ = 0;
  std::pair<dev_t, ino_t> identity_{};
};

// Bytes that came out of pipes, by device and inode.
struct Pipes {
  std::mutex mutex;
  std::map<std::pair<dev_t, ino_t>, std::string> bytes;
};

Pipes& pipes() {
  static Pipes all;
  return all;
}

// Null unless it is a pipe that has been read.
const std::string* bytes_of_pipe(const std::string& path) {
  struct stat status = {};
  if (::stat(path.c_str(), &status) != 0 || !S_ISFIFO(status.st_mode)) return nullptr;
  const std::scoped_lock lock(pipes().mutex);
  const auto known = pipes().bytes.find({status.st_dev, status.st_ino});
  return known == pipes().bytes.end() ? nullptr : &known->second;
}

// All or, of a regular file, one byte more than `most`.
std::string bytes_of(const std::string& path, std::size_t most) {
  if (const std::string* known = bytes_of_pipe(path)) return *known;
  const OpenFile file(path);
  if (!file.is_pipe()) return file.read(most);
  std::string bytes = file.read(kLargestPipe);
  if (bytes.size() > kLargestPipe) refuse(path, "is a pipe of more than 1 GiB", "write it to a file first");
  const std::scoped_lock lock(pipes().mutex);
  return pipes().bytes.try_emplace(file.identity(), std::move(bytes)).first->second;
}

}  // namespace

bool is_missing(const std::string& path) {
  struct stat status = {};
  return ::stat(path.c_str(), &status) != 0 && (errno == ENOENT || errno == ENOTDIR);
}

std::string why_unreadable(const std::string& path) {
  struct stat status = {};
  if (is_missing(path)) return "there is no such file";
  if (::stat(path.c_str(), &status) != 0) return reason_of(errno);
  if (S_ISDIR(status.st_mode)) return "it is a folder";
  if (!S_ISREG(status.st_mode) && !S_ISFIFO(status.st_mode)) return "it is neither a regular file nor a pipe";
  return ::access(path.c_str(), R_OK) == 0 ? std::string() : reason_of(errno);
}

std::string read_file(const std::string& path, const Reading& reading) {
  std::string bytes = bytes_of(path, reading.most);
  if (reading.is_noted) note_input(path, reading.kind);
  if (bytes.size() <= reading.most) return bytes;
  constexpr std::size_t kMebibyte = std::size_t{1} << 20;
  const bool is_even = reading.most >= kMebibyte && reading.most % kMebibyte == 0;
  refuse(path,
         is_even ? fmt::format("is larger than {} MiB", reading.most / kMebibyte)
                 : fmt::format("is larger than {} bytes", reading.most),
         reading.what.empty() ? std::string() : "expected " + reading.what);
}

std::string read_text(const std::string& path, const Reading& reading) {
  std::string text = read_file(path, reading);
  drop_byte_order_mark(path, text);
  return text;
}

void drop_byte_order_mark(const std::string& path, std::string& text) {
  if (text.starts_with("\xFF\xFE") || text.starts_with("\xFE\xFF"))
    refuse(path, "is a text in UTF-16, expected UTF-8", "iconv -f UTF-16 -t UTF-8 makes it one");
  if (text.starts_with("\xEF\xBB\xBF")) text.erase(0, 3);
}

std::string beginning_of_file(const std::string& path, std::size_t most) {
  try {
    std::string bytes = bytes_of(path, most);
    bytes.resize(std::min(bytes.size(), most));
    return bytes;
  } catch (const InputError&) {
    return {};
  }
}

std::optional<std::string> ending_of_file(const std::string& path, std::size_t most) {
  try {
    const OpenFile file(path);
    if (file.is_pipe()) return std::nullopt;
    if (file.size() > most) file.skip(file.size() - most);
    std::string bytes = file.read(most);
    bytes.resize(std::min(bytes.size(), most));
    return bytes;
  } catch (const InputError&) {
    return std::nullopt;
  }
}

}  // namespace orrery
