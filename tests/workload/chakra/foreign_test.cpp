// SPDX-License-Identifier: MIT
#include "workload/chakra/foreign.h"

#include <utility>

#include <catch2/catch.hpp>

#include "tests/workload/chakra/bytes.h"
#include "tests/workload/chakra/contents.h"
#include "workload/chakra/reader.h"

using namespace orrery;
using namespace orrery::workload;
using namespace orrery::test;
using Catch::Contains;
using namespace std::string_literals;

namespace {

std::string tar_archive() {
  std::string header(512, '\0');
  header.replace(0, 7, "rank.et");
  header.replace(257, 5, "ustar");
  return header + std::string(1024, 'x');
}

std::string error_reading(const std::string& content) {
  return error_of([&] { read_chakra("file.0.et", content); });
}

}  // namespace

TEST_CASE("a file of another format is refused with a hint what it is") {
  const std::string rest(600, '\x01');
  const std::pair<std::string, const char*> cases[] = {
      {tar_archive(), "a tar archive"},
      {gzip(tar_archive()), "a gzipped tar archive"},
      {gzip(gzip("abc")), "gzipped twice"},
      {"\x28\xB5\x2F\xFD" + rest, "zstd"},
      {"\xFD"
       "7zXZ\0"s +
           rest,
       "xz data"},
      {"BZh9" + rest, "bzip2"},
      {"\x04\x22\x4D\x18" + rest, "lz4"},
      {"PK\x03\x04" + rest, "zip archive"},
      {"\x7F"
       "ELF\x02\x01" +
           rest,
       "ELF"},
      {"SQLite format 3\0"s + rest, "SQLite"},
      {"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a2146\nsize 12345\n", "git lfs pull"},
      {"<!DOCTYPE html>\n<html><body>Not found</body></html>\n", "web page"},
      {"HYBRID_TRANSFORMER model_parallel_NPU_group: 8\n32\n", "ASTRA-sim 1.0 text workload"},
      {"DATA\n1\nlayer1 -1 100 NONE 0 100 NONE 0 100 ALLREDUCE 1024 100\n", "ASTRA-sim 1.0 text workload"},
      {"hello, this is no trace at all\n", "text file"},
      {"{ 'id': 1 }", "looks like JSON"},
  };
  for (const auto& [content, expected] : cases)
    CHECK_THAT(error_reading(content), Contains("file.0.et") && Contains(expected));
}

TEST_CASE("an ordinary trace raises no suspicion") {
  CHECK(foreign_format_hint(trace({compute_node(1)}), false).empty());
}

TEST_CASE("JSON is told from a binary trace whose first length is a brace") {
  CHECK(starts_like_json("{\"id\":1}"));
  CHECK(starts_like_json("\xEF\xBB\xBF \r\n\t{ \n \"id\":1}"));
  CHECK(starts_like_json("[ {\"id\":1}]"));
  CHECK(starts_like_json("{}"));
  CHECK(starts_like_json("[]"));
  CHECK_FALSE(starts_like_json(""));
  CHECK_FALSE(starts_like_json("{"));
  CHECK_FALSE(starts_like_json("[1, 2]"));

  // A metadata frame of 123 bytes starts with "{" and a line feed; one of 10 bytes with two line feeds.
  for (const std::size_t size : {123u, 91u, 10u, 13u, 32u, 9u}) {
    chakra::GlobalMetadata metadata;
    metadata.set_version(std::string(size - 2, 'v'));
    const std::string content = frame(metadata) + frame(compute_node(7));
    REQUIRE(static_cast<unsigned char>(content[0]) == size);
    CHECK_FALSE(starts_like_json(content));
    CHECK(read_chakra("f", content).nodes.size() == 1);
  }
}
