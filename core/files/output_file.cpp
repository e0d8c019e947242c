// SPDX-License-Identifier: MIT
#include "core/files/output_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstddef>
#include <cstdio>
#include <filesystem>
#include <limits>
#include <memory>
#include <new>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "core/assert.h"
#include "core/error.h"
#include "core/files/input_files.h"

namespace orrery {
namespace {

constexpr std::size_t kBuffer = std::size_t{1} << 20;
constexpr mode_t kReadableByAll = 0666;  // less what the umask takes away
// Bringing one file to the disk takes milliseconds; more than so many go together.
constexpr std::size_t kBroughtAlone = 16;

using Compression = std::unique_ptr<z_stream_s, void (*)(z_stream_s*)>;

Compression start_compression() {
  Compression stream(new z_stream{}, [](z_stream* ended) {
    deflateEnd(ended);
    delete ended;
  });
  constexpr int kGzipWindow = 15 + 16;  // the largest window, and gzip framing; zlib leaves time and name out of it
  constexpr int kMemory = 8;            // zlib's default
  const int status = deflateInit2(stream.get(), Z_BEST_SPEED, Z_DEFLATED, kGzipWindow, kMemory, Z_DEFAULT_STRATEGY);
  if (status == Z_MEM_ERROR) throw std::bad_alloc();
  ORRERY_ASSERT(status == Z_OK);
  return stream;
}

[[noreturn]] void refuse(const std::string& path, const char* what, int reason) {
  throw InputError({path}, std::string(what) + ": " + std::generic_category().message(reason));
}

// The open descriptor that "/dev/stdout", "/dev/fd/3" or "/proc/self/fd/3" stands for; -1 of other paths.
int descriptor_named(const std::string& path) {
  if (path == "/dev/stdout") return STDOUT_FILENO;
  if (path == "/dev/stderr") return STDERR_FILENO;
  for (const std::string_view folder : {"/dev/fd/", "/proc/self/fd/"}) {
    if (!path.starts_with(folder) || path.size() == folder.size() || path.size() > folder.size() + 4) continue;
    int number = 0;
    for (const char digit : path.substr(folder.size())) {
      if (digit < '0' || digit > '9') return -1;
      number = 10 * number + (digit - '0');
    }
    return number;
  }
  return -1;
}

// Name of a file under construction, unique among the writers of this process; other processes have other numbers.
std::string partial_name(const std::string& target) {
  static std::atomic<unsigned> written = 0;
  constexpr std::size_t kMostOfName = 200;  // of 255
  const std::filesystem::path path(target);
  const std::string name =
      fmt::format("{}.{}-{}.partial", path.filename().string().substr(0, kMostOfName), ::getpid(), ++written);
  return (path.parent_path() / name).string();
}

// The process of a name that partial_name() gives, "TARGET.PROCESS-NUMBER.partial"; nothing of other names.
std::optional<pid_t> writer_of_partial(std::string_view name) {
  constexpr std::string_view kEnd = ".partial";
  if (!name.ends_with(kEnd)) return std::nullopt;
  name.remove_suffix(kEnd.size());
  std::string_view number;
  for (const char before : {'-', '.'}) {
    const std::size_t digits = name.find_last_not_of("0123456789");
    if (digits == std::string_view::npos || digits + 1 == name.size() || name[digits] != before) return std::nullopt;
    number = name.substr(digits + 1);
    name = name.substr(0, digits);
  }
  pid_t process = 0;
  const auto read = std::from_chars(number.data(), number.data() + number.size(), process);
  if (name.empty() || read.ec != std::errc()) return std::nullopt;
  return process;
}

// True for another process that runs on this machine, as far as can be seen from here.
bool is_running(pid_t process) {
  return process > 0 && process != ::getpid() && (::kill(process, 0) == 0 || errno == EPERM);
}

// All that the file system of a file has not written yet.
void bring_to_disk(const std::string& file) {
  const std::string folder = std::filesystem::path(file).parent_path().string();
  const int descriptor = ::open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) refuse(file, "cannot be written", errno);
  const int reason = ::syncfs(descriptor) == 0 ? 0 : errno;
  ::close(descriptor);
  if (reason != 0) refuse(file, "cannot be written", reason);
}

}  // namespace

// POSIX files rather than streams, because streams lose the reason of a failure.
OutputFile::OutputFile(std::string path, Durability durability)
    : path_(std::move(path)),
      durability_(durability),
      target_(replaceable_file(path_).value_or("")),
      compression_(path_.ends_with(".gz") ? start_compression() : Compression(nullptr, [](z_stream*) {})) {
  if (is_input(path_)) throw InputError({path_}, "is read and would be written over", "write to another place");
  if (target_.empty())
    open_in_place();
  else
    open_beside(target_);
}

OutputFile::~OutputFile() {
  if (!partial_.empty()) ::unlink(partial_.c_str());
  if (descriptor_ >= 0) ::close(descriptor_);
}

void OutputFile::open_beside(const std::string& target) {
  int reason = EEXIST;
  while (reason == EEXIST) {
    partial_ = partial_name(target);
    unfinished_.emplace(partial_);
    descriptor_ = ::open(partial_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, kReadableByAll);
    if (descriptor_ >= 0) return keep_permissions();
    reason = errno;
    unfinished_.reset();
  }
  partial_.clear();
  const bool is_closed = reason == EACCES || reason == EPERM || reason == EROFS;
  if (!is_closed || ::access(target.c_str(), W_OK) != 0) fail("cannot be created", reason);
  target_.clear();
  open_in_place();
}

void OutputFile::open_in_place() {
  const int open_already = descriptor_named(path_);
  descriptor_ = open_already >= 0 ? ::fcntl(open_already, F_DUPFD_CLOEXEC, 0)
                                  : ::open(path_.c_str(), O_WRONLY | O_TRUNC | O_CLOEXEC);
  if (descriptor_ < 0) fail("cannot be created", errno);
}

// Keeping the owner of a file needs a permission that the process may lack; then the file gets a new owner.
void OutputFile::keep_permissions() const {
  struct stat before = {};
  if (::stat(target_.c_str(), &before) != 0) return;
  [[maybe_unused]] const int given = ::fchown(descriptor_, before.st_uid, before.st_gid);
  constexpr mode_t kPermissions = 0777;
  if (::fchmod(descriptor_, before.st_mode & kPermissions) != 0) fail("cannot be created", errno);
}

void OutputFile::write(std::string_view bytes) {
  ORRERY_ASSERT(descriptor_ >= 0);
  if (compression_) return compress(bytes, false);
  put(bytes);
}

void OutputFile::put(std::string_view bytes) {
  size_ += bytes.size();
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

void OutputFile::finish(Durability durability) {
  if (compression_) compress({}, true);
  flush(std::exchange(buffer_, {}));
  if (!partial_.empty() && durability == Durability::kDisk && ::fsync(descriptor_) != 0)
    fail("cannot be written", errno);
  // The descriptor is gone even when closing reports that the disk is full.
  if (::close(std::exchange(descriptor_, -1)) != 0) fail("cannot be written", errno);
}

void OutputFile::take_name() {
  if (partial_.empty()) return;
  if (std::rename(partial_.c_str(), target_.c_str()) == 0) {
    partial_.clear();
  } else if (errno == EBUSY) {
    copy_into_place();  // a file that a container has mounted
  } else {
    fail("cannot be written", errno);
  }
  unfinished_.reset();
}

void OutputFile::copy_into_place() const {
  std::error_code code;
  std::filesystem::copy_file(partial_, target_, std::filesystem::copy_options::overwrite_existing, code);
  if (code) fail("cannot be written", code.value());
}

void OutputFile::close() {
  finish(durability_);
  take_name();
}

void OutputFile::fail(const char* what, int reason) const { refuse(path_, what, reason); }

void OutputFile::compress(std::string_view bytes, bool ends) {
  std::array<char, std::size_t{1} << 16> compressed;
  do {
    const std::size_t offered = std::min<std::size_t>(bytes.size(), std::numeric_limits<uInt>::max());
    // zlib's interface takes what it only reads without const.
    compression_->next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
    compression_->avail_in = static_cast<uInt>(offered);
    const bool is_last = ends && offered == bytes.size();
    do {
      compression_->next_out = reinterpret_cast<Bytef*>(compressed.data());
      compression_->avail_out = static_cast<uInt>(compressed.size());
      const int status = deflate(compression_.get(), is_last ? Z_FINISH : Z_NO_FLUSH);
      ORRERY_ASSERT(status != Z_STREAM_ERROR);
      put({compressed.data(), compressed.size() - compression_->avail_out});
    } while (compression_->avail_out == 0);
    bytes.remove_prefix(offered);
  } while (!bytes.empty());
}

void remove_partial_files(const std::string& folder) {
  std::vector<std::filesystem::path> partial;
  std::error_code code;
  for (const auto& entry : std::filesystem::directory_iterator(folder, code)) {
    const std::optional<pid_t> writer = writer_of_partial(entry.path().filename().string());
    if (writer && !is_running(*writer) && entry.is_regular_file(code)) partial.push_back(entry.path());
  }
  for (const std::filesystem::path& file : partial) {
    std::filesystem::remove(file, code);
    if (code) refuse(file.string(), "cannot be removed", code.value());
  }
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

void OutputFiles::refuse_other_kinds(const std::string& path) {
  struct stat status = {};
  if (::lstat(path.c_str(), &status) != 0 || S_ISREG(status.st_mode) || S_ISLNK(status.st_mode)) return;
  if (S_ISDIR(status.st_mode)) refuse(path, "cannot be replaced", EISDIR);
  throw InputError({path}, "is not a regular file, and would be replaced by one", "write to another directory");
}

void OutputFiles::finish(std::unique_ptr<OutputFile> file) {
  file->finish(unnamed_.size() < kBroughtAlone ? Durability::kDisk : Durability::kNone);
  unnamed_.push_back(std::move(file));
}

void OutputFiles::commit(const std::string& last) {
  const auto found = std::ranges::find(unnamed_, last, [](const auto& file) { return file->path_; });
  ORRERY_ASSERT(found != unnamed_.end());
  std::iter_swap(found, unnamed_.begin());
  const std::string& before = unnamed_.front()->target_;
  if (unnamed_.size() > kBroughtAlone) bring_to_disk(last);
  const WithoutInterruption together;
  if (unnamed_.size() > 1 && !before.empty() && ::unlink(before.c_str()) != 0 && errno != ENOENT)
    refuse(last, "cannot be replaced", errno);
  for (; !unnamed_.empty(); unnamed_.pop_back()) unnamed_.back()->take_name();
}

}  // namespace orrery
