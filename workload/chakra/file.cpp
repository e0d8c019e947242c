#include "workload/chakra/file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <system_error>

#include "core/error.h"
#include "core/input_files.h"

namespace orrery {
namespace {

// POSIX files rather than streams, because streams lose the reason of a failure.
class OpenFile {
 public:
  explicit OpenFile(const std::string& path)
      : path_(path), descriptor_(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {
    if (descriptor_ < 0) fail("cannot be opened", errno);
    note_input(path);
  }
  ~OpenFile() { ::close(descriptor_); }
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;

  // InputError unless this is a regular file: a pipe or a device may never end.
  std::size_t regular_size() const {
    struct stat status = {};
    if (::fstat(descriptor_, &status) != 0) fail("cannot be examined", errno);
    if (S_ISDIR(status.st_mode)) throw InputError({path_}, "is a directory, expected a file");
    if (!S_ISREG(status.st_mode)) throw InputError({path_}, "is not a regular file", "write the trace to a file first");
    return static_cast<std::size_t>(status.st_size);
  }

  // Up to `count` bytes; 0 at the end.
  std::size_t read(char* to, std::size_t count) const {
    while (true) {
      const ssize_t got = ::read(descriptor_, to, count);
      if (got >= 0) return static_cast<std::size_t>(got);
      if (errno != EINTR) fail("cannot be read", errno);
    }
  }

 private:
  [[noreturn]] void fail(const char* what, int reason) const {
    throw InputError({path_}, std::string(what) + ": " + std::generic_category().message(reason));
  }

  std::string path_;
  int descriptor_;
};

constexpr std::uint64_t rotate_left(std::uint64_t x, int bits) { return (x << bits) | (x >> (64 - bits)); }

constexpr std::uint64_t avalanche(std::uint64_t x) {
  x = (x ^ (x >> 33)) * 0xff51afd7ed558ccdULL;
  x = (x ^ (x >> 33)) * 0xc4ceb9fe1a85ec53ULL;
  return x ^ (x >> 33);
}

constexpr std::uint64_t kMix1 = 0x87c37b91114253d5ULL;
constexpr std::uint64_t kMix2 = 0x4cf5ad432745937fULL;

std::uint64_t load_word(const char* from, std::size_t count) {
  std::uint64_t word = 0;
  std::memcpy(&word, from, count);
  return word;
}

}  // namespace

// MurmurHash3_x64_128 (Austin Appleby, public domain).
ContentHash content_hash(std::string_view bytes) {
  std::uint64_t low = 0;
  std::uint64_t high = 0;
  const std::size_t size = bytes.size();
  while (bytes.size() >= 16) {
    low ^= rotate_left(load_word(bytes.data(), 8) * kMix1, 31) * kMix2;
    low = (rotate_left(low, 27) + high) * 5 + 0x52dce729;
    high ^= rotate_left(load_word(bytes.data() + 8, 8) * kMix2, 33) * kMix1;
    high = (rotate_left(high, 31) + low) * 5 + 0x38495ab5;
    bytes.remove_prefix(16);
  }
  if (bytes.size() > 8) {
    high ^= rotate_left(load_word(bytes.data() + 8, bytes.size() - 8) * kMix2, 33) * kMix1;
    bytes = bytes.substr(0, 8);
  }
  if (!bytes.empty()) low ^= rotate_left(load_word(bytes.data(), bytes.size()) * kMix1, 31) * kMix2;
  low ^= size;
  high ^= size;
  low += high;
  high += low;
  low = avalanche(low);
  high = avalanche(high);
  low += high;
  high += low;
  return {low, high};
}

std::string read_file(const std::string& path) {
  const OpenFile file(path);
  // One byte more than its size, so that the end is seen without growing; the file may still change while it is read.
  std::string bytes(file.regular_size() + 1, '\0');
  std::size_t used = 0;
  while (const std::size_t got = file.read(bytes.data() + used, bytes.size() - used)) {
    used += got;
    if (used == bytes.size()) bytes.resize(used + std::max(used / 2, std::size_t{4096}));
  }
  bytes.resize(used);
  return bytes;
}

}  // namespace orrery
