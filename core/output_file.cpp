// SPDX-License-Identifier: MIT
#include "core/output_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <filesystem>
#include <limits>
#include <new>
#include <system_error>
#include <utility>

#include "core/assert.h"
#include "core/error.h"

namespace orrery {
namespace {

constexpr std::size_t kBuffer = std::size_t{1} << 20;
constexpr mode_t kReadableByAll = 0666;  // less what the umask takes away

[[noreturn]] void refuse(const std::string& path, const char* what, int reason) {
  throw InputError({path}, std::string(what) + ": " + std::generic_category().message(reason));
}

}  // namespace

// POSIX files rather than streams, because streams lose the reason of a failure.
OutputFile::OutputFile(std::string path, std::string_view suffix)
    : path_(std::move(path)),
      written_(path_ + std::string(suffix)),
      descriptor_(::open(written_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, kReadableByAll)) {
  if (descriptor_ < 0) fail("cannot be created", errno);
}

OutputFile::~OutputFile() {
  if (descriptor_ < 0) return;
  struct stat status = {};
  if (::fstat(descriptor_, &status) == 0 && S_ISREG(status.st_mode)) ::unlink(written_.c_str());
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

void OutputFile::fail(const char* what, int reason) const { refuse(path_, what, reason); }

GzipWriter::GzipWriter(OutputFile& file)
    : file_(file), stream_(new z_stream{}, [](z_stream* stream) {
        deflateEnd(stream);
        delete stream;
      }) {
  constexpr int kGzipWindow = 15 + 16;  // the largest window, and gzip framing; zlib leaves time and name out of it
  constexpr int kMemory = 8;            // zlib's default
  const int status = deflateInit2(stream_.get(), Z_BEST_SPEED, Z_DEFLATED, kGzipWindow, kMemory, Z_DEFAULT_STRATEGY);
  if (status == Z_MEM_ERROR) throw std::bad_alloc();
  ORRERY_ASSERT(status == Z_OK);
}

void GzipWriter::compress(std::string_view text, bool ends) {
  std::array<char, std::size_t{1} << 16> compressed;
  do {
    const std::size_t offered = std::min<std::size_t>(text.size(), std::numeric_limits<uInt>::max());
    stream_->next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));  // zlib's interface; it only reads
    stream_->avail_in = static_cast<uInt>(offered);
    const bool is_last = ends && offered == text.size();
    do {
      stream_->next_out = reinterpret_cast<Bytef*>(compressed.data());
      stream_->avail_out = static_cast<uInt>(compressed.size());
      const int status = deflate(stream_.get(), is_last ? Z_FINISH : Z_NO_FLUSH);
      ORRERY_ASSERT(status != Z_STREAM_ERROR);
      file_.write({compressed.data(), compressed.size() - stream_->avail_out});
    } while (stream_->avail_out == 0);
    text.remove_prefix(offered);
  } while (!text.empty());
}

std::optional<std::string> replaceable_file(const std::string& path) {
  struct stat status = {};
  if (::stat(path.c_str(), &status) == 0 && !S_ISREG(status.st_mode)) return std::nullopt;
  constexpr int kMostLinks = 40;  // as the system follows
  std::filesystem::path target = path;
  std::error_code code;
  for (int links = 0; links <= kMostLinks; ++links) {
    const std::string absolute = std::filesystem::absolute(target).lexically_normal().string();
    if (absolute.starts_with("/dev/") || absolute.starts_with("/proc/")) return std::nullopt;
    if (!std::filesystem::is_symlink(target, code)) return target.string();
    target = target.parent_path() / std::filesystem::read_symlink(target, code);
  }
  refuse(path, "cannot be written", ELOOP);
}

OutputFiles::~OutputFiles() {
  for (const std::string& path : unnamed_) ::unlink((path + std::string(kSuffix)).c_str());
}

void OutputFiles::refuse_other_kinds(const std::string& path) {
  struct stat status = {};
  if (::lstat(path.c_str(), &status) != 0 || S_ISREG(status.st_mode) || S_ISLNK(status.st_mode)) return;
  if (S_ISDIR(status.st_mode)) refuse(path, "cannot be replaced", EISDIR);
  throw InputError({path}, "is not a regular file, and would be replaced by one", "write to another directory");
}

void OutputFiles::name(const std::string& path) {
  if (std::rename((path + std::string(kSuffix)).c_str(), path.c_str()) != 0) refuse(path, "cannot be written", errno);
}

void OutputFiles::commit(const std::string& last) {
  const auto found = std::ranges::find(unnamed_, last);
  ORRERY_ASSERT(found != unnamed_.end());
  std::iter_swap(found, unnamed_.begin());
  if (::unlink(last.c_str()) != 0 && errno != ENOENT) refuse(last, "cannot be replaced", errno);
  for (; !unnamed_.empty(); unnamed_.pop_back()) name(unnamed_.back());
}

}  // namespace orrery
