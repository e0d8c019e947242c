// SPDX-License-Identifier: MIT
#include "workload/chakra/file.h"

#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>

#include <catch2/catch.hpp>

#include "core/files/read_file.h"
#include "tests/workload/chakra/bytes.h"

using namespace orrery;
using namespace orrery::workload;
using namespace orrery::test;
using Catch::Contains;
using Catch::StartsWith;

namespace {

class TemporaryFolder {
 public:
  TemporaryFolder()
      : path_(std::filesystem::temp_directory_path() / ("orrery_chakra_file_" + std::to_string(::getpid()))) {
    std::filesystem::create_directories(path_);
  }
  ~TemporaryFolder() { std::filesystem::remove_all(path_); }
  std::string file(const std::string& name) const { return (path_ / name).string(); }
  std::string path() const { return path_.string(); }

 private:
  std::filesystem::path path_;
};

void write(const std::string& path, std::string_view content) { std::ofstream(path, std::ios::binary) << content; }

}  // namespace

TEST_CASE("a file is read whole, zero bytes and all") {
  const TemporaryFolder folder;
  std::string content(100'000, '\0');
  for (std::size_t i = 0; i < content.size(); ++i) content[i] = static_cast<char>(i * 7 % 251);
  write(folder.file("a"), content);
  CHECK(read_file(folder.file("a")) == content);
  write(folder.file("empty"), "");
  CHECK(read_file(folder.file("empty")).empty());
}

TEST_CASE("a missing file, a directory and a device are refused by name and reason") {
  const TemporaryFolder folder;
  const std::string missing = folder.file("missing.0.et");
  CHECK_THAT(error_of([&] { read_file(missing); }), StartsWith(missing) && Contains("No such file or directory"));
  CHECK_THAT(error_of([&] { read_file(folder.path()); }), StartsWith(folder.path()) && Contains("is a directory"));
  CHECK_THAT(error_of([&] { read_file("/dev/null"); }), Contains("is neither a regular file nor a pipe"));
}

TEST_CASE("gzip data of one, several and empty members inflates to their concatenation") {
  const std::string large(1'000'000, 'x');
  CHECK(inflate_gzip("f", gzip("abc")) == "abc");
  CHECK(inflate_gzip("f", gzip("abc") + gzip("") + gzip("def")) == "abcdef");
  CHECK(inflate_gzip("f", gzip(large) + gzip("end")) == large + "end");
  CHECK(inflate_gzip("f", gzip("")).empty());
  // gzip(1) ignores trailing zeros: tapes pad with them.
  CHECK(inflate_gzip("f", gzip("abc") + std::string(512, '\0')) == "abc");
}

TEST_CASE("gzip data cut at any byte is an error that names the file") {
  const std::string whole = gzip(trace({compute_node(1), compute_node(2)}));
  for (std::size_t length = 2; length < whole.size(); ++length) {
    const std::string error = error_of([&] { inflate_gzip("rank.0.et.gz", whole.substr(0, length)); });
    CHECK_THAT(error, StartsWith("rank.0.et.gz: error: is truncated"));
  }
}

TEST_CASE("corrupt gzip data and a wrong checksum are errors") {
  std::string flipped = gzip(std::string(1000, 'a') + "tail");
  flipped[flipped.size() - 8] = static_cast<char>(flipped[flipped.size() - 8] ^ 1);  // the checksum's first byte
  CHECK_THAT(error_of([&] { inflate_gzip("f", flipped); }),
             Contains("corrupt gzip data") && Contains("incorrect data check"));
  CHECK_THAT(error_of([&] { inflate_gzip("f", std::string("\x1f\x8b\x09") + std::string(20, 'z')); }),
             Contains("corrupt"));
  CHECK_THAT(error_of([&] { inflate_gzip("f", gzip("abc") + "rubbish"); }),
             Contains("7 bytes after the end of its gzip data"));
}

TEST_CASE("a decompression bomb is refused, with the limit in the hint") {
  // 4 MiB of zeros deflate to about 4 kB, 1000:1.
  const std::string bomb = gzip(std::string(4 << 20, '\0'));
  const InflateLimits dense{.bytes = 1 << 30, .free_bytes = 1 << 20, .ratio = 400};
  CHECK_THAT(error_of([&] { inflate_gzip("f", bomb, dense); }),
             Contains("inflates to more than") && Contains("400 times its size"));
  const InflateLimits small{.bytes = 1 << 20, .free_bytes = 1 << 20, .ratio = 10'000};
  CHECK_THAT(error_of([&] { inflate_gzip("f", bomb, small); }), Contains("refused beyond 1048576 bytes"));
  CHECK(inflate_gzip("f", bomb).size() == 4 << 20);  // below the size where the ratio counts
}
