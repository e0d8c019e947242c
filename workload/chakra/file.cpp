// SPDX-License-Identifier: MIT
#include "workload/chakra/file.h"

#include <zlib.h>

#include <algorithm>
#include <limits>
#include <vector>

#include <fmt/format.h>

#include "core/assert.h"
#include "core/error.h"

namespace orrery::workload {
namespace {

constexpr std::size_t kOutputStep = 256 << 10;
constexpr int kGzipWindow = 15 + 16;  // the largest window, and gzip framing only

class Inflater {
 public:
  Inflater(const std::string& file, std::string_view bytes, const InflateLimits& limits)
      : file_(file), rest_(bytes), compressed_(bytes.size()), limits_(limits), buffer_(kOutputStep) {
    const int status = inflateInit2(&stream_, kGzipWindow);
    ORRERY_ASSERT(status == Z_OK);
  }
  ~Inflater() { inflateEnd(&stream_); }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;

  std::string run() {
    do {
      inflate_member();
    } while (is_gzip(rest_));
    // gzip(1) pads with zeros on tapes and ignores them.
    if (rest_.find_first_not_of('\0') != std::string_view::npos)
      fail(fmt::format("has {} bytes after the end of its gzip data", rest_.size()), "the archive is damaged");
    return std::move(output_);
  }

 private:
  void inflate_member() {
    inflateReset(&stream_);
    int status = Z_OK;
    while (status != Z_STREAM_END) {
      status = step();
      if (status == Z_OK || status == Z_STREAM_END) continue;
      if (status == Z_BUF_ERROR)
        fail("is truncated: the gzip data ends before its end mark", "the file was cut; copy or download it again");
      fail(fmt::format("has corrupt gzip data at byte {}: {}", compressed_ - rest_.size(),
                       stream_.msg == nullptr ? "unreadable" : stream_.msg),
           "the archive is damaged; `gzip -t` says the same");
    }
  }

  // One call of inflate; Z_BUF_ERROR when the input has run out.
  int step() {
    const std::size_t offered = std::min<std::size_t>(rest_.size(), std::numeric_limits<uInt>::max());
    stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(rest_.data()));  // zlib's interface; it only reads
    stream_.avail_in = static_cast<uInt>(offered);
    stream_.next_out = buffer_.data();
    stream_.avail_out = static_cast<uInt>(buffer_.size());
    const int status = inflate(&stream_, Z_NO_FLUSH);
    rest_.remove_prefix(offered - stream_.avail_in);
    output_.append(reinterpret_cast<const char*>(buffer_.data()), buffer_.size() - stream_.avail_out);
    guard();
    return status;
  }

  void guard() const {
    const bool too_large = output_.size() > limits_.bytes;
    const bool too_dense = output_.size() > limits_.free_bytes && output_.size() / limits_.ratio > compressed_;
    if (!too_large && !too_dense) return;
    fail(fmt::format("inflates to more than {} bytes from {}", output_.size(), compressed_),
         fmt::format("refused beyond {} bytes, or {} times its size beyond {}; if the trace is really that large, "
                     "unpack it with gunzip",
                     limits_.bytes, limits_.ratio, limits_.free_bytes));
  }

  [[noreturn]] void fail(std::string message, std::string hint) const {
    throw InputError({file_}, std::move(message), std::move(hint));
  }

  const std::string& file_;
  std::string_view rest_;
  std::size_t compressed_;
  InflateLimits limits_;
  std::vector<Bytef> buffer_;
  std::string output_;
  z_stream stream_ = {};
};

}  // namespace

bool is_gzip(std::string_view bytes) { return bytes.starts_with("\x1f\x8b"); }

std::string inflate_gzip(const std::string& file, std::string_view bytes, const InflateLimits& limits) {
  return Inflater(file, bytes, limits).run();
}

}  // namespace orrery::workload
