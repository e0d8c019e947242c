// SPDX-License-Identifier: MIT
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

#include <catch2/catch.hpp>

#include "core/config/csv_lines.h"
#include "core/files/input_files.h"
#include "core/files/json.h"
#include "core/files/output_file.h"
#include "core/files/read_file.h"
#include "core/files/trace_events.h"

using namespace orrery;
using Catch::Contains;

namespace {

// Files stay until the program's end, so that each has a number of its own on the disk.
struct Root {
  ~Root() { std::filesystem::remove_all(path); }
  const std::filesystem::path path =
      std::filesystem::temp_directory_path() / ("orrery_files_" + std::to_string(::getpid()));
};
const std::filesystem::path& root() {
  static const Root root;
  return root.path;
}
int& next() {
  static int number = 0;
  return number;
}

class Folder {
 public:
  Folder() : path_(root() / std::to_string(next()++)) { std::filesystem::create_directories(path_); }
  std::string file(const std::string& name) const { return (path_ / name).string(); }
  std::string write(const std::string& name, std::string_view content) const {
    std::ofstream(file(name), std::ios::binary) << content;
    return file(name);
  }
  std::size_t count() const {
    return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator(path_), {}));
  }

 private:
  std::filesystem::path path_;
};

template <class Work>
std::string error_of(Work work) {
  try {
    work();
  } catch (const InputError& error) {
    return error.what();
  }
  return {};
}

std::string nested(std::size_t levels) { return std::string(levels, '[') + std::string(levels, ']'); }

}  // namespace

TEST_CASE("JSON is taken up to 256 levels, whatever its texts hold, and refused where it goes deeper") {
  CHECK(parse_json(nested(kDeepestJson)).is_array());
  try {
    parse_json(nested(kDeepestJson + 1));
    FAIL("must throw");
  } catch (const JsonError& error) {
    CHECK(error.offset() == kDeepestJson);  // of the bracket that is one too many
    CHECK(error.reason() == "nested deeper than 256 levels");
  }
  CHECK(parse_json("[\"" + std::string(1000, '[') + "\\\"{\"]").size() == 1);
  CHECK(!json_of(nested(100'000)));
  CHECK(!is_json(nested(100'000)));
}

TEST_CASE("what is no JSON is told by its place and the reason alone") {
  try {
    parse_json("{\"a\": 1,\n \"b\": x}");
    FAIL("must throw");
  } catch (const JsonError& error) {
    CHECK(error.offset() == 15);  // the x: 9 bytes of the first line, 6 before it in the second
    CHECK_THAT(error.reason(), Catch::StartsWith("syntax error while parsing value"));
    const Location place = place_in("f", "{\"a\": 1,\n \"b\": x}", error.offset());
    CHECK(to_string(place) == "f:2:7");
  }
}

TEST_CASE("a member of an object is found as text, whatever stands before it") {
  const std::string text = R"({"x": {"b": [1, "}"]}, "s\"b": 2, "b": {"c": [3]}, "d": 4})";
  CHECK(json_member(text, "b") == R"({"c": [3]})");
  CHECK(json_member(text, "d") == "4");
  CHECK(json_member(text, "c").empty());
}

TEST_CASE("a file that was replaced by one of the same size and time has another digest") {
  const Folder folder;
  const std::string file = folder.write("a", "old");
  const auto time = std::filesystem::last_write_time(file);
  const std::string names[] = {file};
  const std::string old = digests_of(names).front();
  CHECK(digests_of(names).front() == old);
  folder.write("a", "new");
  std::filesystem::last_write_time(file, time);
  CHECK(digests_of(names).front() != old);
  CHECK(digests_of(names).front() == sha256_of_file(file));
}

TEST_CASE("a pipe gives the same bytes to all who read it") {
  const Folder folder;
  const std::string pipe = folder.file("pipe");
  REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
  std::thread writer([&] { folder.write("pipe", "abc"); });
  CHECK(read_file(pipe) == "abc");
  writer.join();
  CHECK(beginning_of_file(pipe, 2) == "ab");
  CHECK(read_text(pipe) == "abc");
}

TEST_CASE("a text loses the mark of its byte order, and one in UTF-16 is refused") {
  const Folder folder;
  CHECK(read_text(folder.write("marked", "\xEF\xBB\xBFx")) == "x");
  CHECK(read_file(folder.file("marked")) == "\xEF\xBB\xBFx");
  CHECK_THAT(error_of([&] { read_text(folder.write("wide", std::string("\xFF\xFEx\0", 4))); }),
             Contains("is a text in UTF-16, expected UTF-8"));
  CHECK_THAT(error_of([&] { read_text(folder.file("marked"), {.most = 2, .what = "less"}); }),
             Contains("is larger than 2 bytes") && Contains("expected less"));
}

TEST_CASE("an output that is not closed leaves the file of before, and nothing else") {
  const Folder folder;
  folder.write("a", "old");
  {
    OutputFile file(folder.file("a"));
    file.write("new");
    CHECK(read_file(folder.file("a"), {.is_noted = false}) == "old");
    CHECK(folder.count() == 2);
  }
  CHECK(read_file(folder.file("a"), {.is_noted = false}) == "old");
  CHECK(folder.count() == 1);
  OutputFile file(folder.file("a"));
  file.write("new");
  file.close();
  CHECK(read_file(folder.file("a"), {.is_noted = false}) == "new");
  CHECK(folder.count() == 1);
}

TEST_CASE("an output whose name ends with .gz is compressed, the same text to the same bytes") {
  const Folder folder;
  const std::string text(3'000'000, 'x');
  std::string packed;
  for (const char* name : {"a.gz", "b.gz"}) {
    OutputFile file(folder.file(name));
    for (std::size_t i = 0; i < 3; ++i) file.write(text.substr(0, text.size() / 3));
    file.close();
    const std::string bytes = read_file(folder.file(name), {.is_noted = false});
    CHECK(file.size() == bytes.size());
    CHECK(bytes.size() < text.size() / 100);
    CHECK((packed.empty() || packed == bytes));
    packed = bytes;
  }
  gzFile file = gzopen(folder.file("a.gz").c_str(), "rb");
  std::string unpacked(text.size() + 1, '\0');
  const int count = gzread(file, unpacked.data(), static_cast<unsigned>(unpacked.size()));
  CHECK(gzclose(file) == Z_OK);
  CHECK(unpacked.substr(0, static_cast<std::size_t>(count)) == text);
}

TEST_CASE("times of trace events stay what they are where readers cut them off behind the nanosecond") {
  CHECK(trace_time(Duration(1'234'567)) == "1.234567");
  CHECK(trace_time(Duration(29'000)) == "0.0290001");
  CHECK(trace_time_of_nanoseconds(64'440) == "64.4400001");
  // Times as Perfetto reads them; 0.029 alone is 28 ns there.
  for (std::int64_t nanoseconds = 0; nanoseconds < 1000; ++nanoseconds) {
    const std::string time = trace_time(Duration(1000 * nanoseconds));
    CHECK(static_cast<std::int64_t>(std::stod(time) * 1000.0) == nanoseconds);
  }
  // From 0.9 ns to 11.8 ns: cut off, what lies in it ends at 11 ns at the latest, and the next one begins there.
  CHECK(enclosing_length(Time(Duration(900)), Time(Duration(11'800))) == Duration(11'000));
}

TEST_CASE("an output is refused where it is read before or after it is named") {
  const Folder folder;
  note_output(folder.write("out", "x"));
  CHECK_THAT(error_of([&] { read_file(folder.file("out")); }),
             Contains("out: error: is read and would be written over"));
  CHECK_THAT(error_of([&] { OutputFile(folder.file("out")); }), Contains("out: error: is read and would be"));
  read_file(folder.write("in", "x"));
  std::filesystem::create_symlink("in", folder.file("link"));
  CHECK_THAT(error_of([&] { note_output(folder.file("link")); }), Contains("link: error: is read and would be"));
}

TEST_CASE("a file that has the number of one that was read and is gone may be written over") {
  const Folder folder;
  read_file(folder.write("in", "x"));
  CHECK_THROWS_AS(OutputFile(folder.file("in")), InputError);
  // The disk gives a number again as soon as it is free; a second name keeps it here.
  std::filesystem::create_hard_link(folder.file("in"), folder.file("next"));
  std::filesystem::remove(folder.file("in"));
  CHECK(!is_input(folder.file("next")));
  OutputFile file(folder.file("next"));
  file.write("y");
  file.close();
  CHECK(read_file(folder.file("next"), {.is_noted = false}) == "y");
}

TEST_CASE("cells that a spreadsheet would take for formulas are texts; numbers stay numbers") {
  CHECK(csv_cell("=1+1") == "'=1+1");
  CHECK(csv_cell("@SUM(A1)") == "'@SUM(A1)");
  CHECK(csv_cell("+cmd|' /C calc'!A0") == "'+cmd|' /C calc'!A0");
  CHECK(csv_cell("=\"a\",b") == "\"'=\"\"a\"\",b\"");
  for (const char* number : {"-1", "-1.5e-3", "+7", "12"}) CHECK(csv_cell(number) == number);
  CHECK(csv_cell("a-b") == "a-b");
  CHECK(csv_cell("").empty());
}
