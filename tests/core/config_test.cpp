// SPDX-License-Identifier: MIT
#include "core/config/config.h"

#include <fmt/format.h>
#include <catch2/catch.hpp>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

using namespace orrery;

namespace {

const std::vector<std::string> kShapes = {"ring", "switch", "fully-connected"};

struct Read {
  std::string errors;
  std::string resolved;
  std::int64_t size = 0;
  Bandwidth bandwidth{1};
  Duration latency{};
  std::size_t shape = 0;
};

// A small format that uses every accessor.
void read_example(Section& s, Read& read) {
  read.size = WholeNumber("size", "how many", {1, 64}).required(s);
  read.bandwidth = s.required<Bandwidth>("bandwidth", "of a link");
  read.latency = s.optional<Duration>("latency", Duration(700'000), "of a link");
  read.shape = Choice("shape", "how they are joined", kShapes).optional(s, 1);
  s.maybe<double>("efficiency", "share that is usable");
  s.list("dims", "dimensions", [](Section& d) { WholeNumber("size", "members", {1, 8}).required(d); });
  s.map("ranks", "rank", "per rank", [](const ConfigEntry&, Section& r) { r.required<Duration>("start", "offset"); });
  s.words("algorithms", "names");
  s.note("source", "where the figures come from");
}

Read read_text(std::string_view text, std::vector<std::string> settings = {}) {
  Diagnostics diagnostics;
  const ConfigFiles files("no-such-folder");
  ConfigContext context(files, diagnostics);
  ConfigValue root = parse_config(text, "x.yaml", diagnostics);
  for (const std::string& setting : settings) apply_setting(root, setting, files, diagnostics);
  Read read;
  read_config(root, context, [&](Section& s) { read_example(s, read); });
  for (const Problem& problem : diagnostics.problems()) read.errors += to_string(problem) + "\n";
  read.resolved = to_json(root).dump();
  return read;
}

}  // namespace

TEST_CASE("a section with defaults is read whether or not it is there") {
  const auto read = [](std::string_view text) {
    Diagnostics diagnostics;
    const ConfigFiles files("no-such-folder");
    ConfigContext context(files, diagnostics);
    ConfigValue root = parse_config(text, "x.yaml", diagnostics);
    int times = 0;
    read_config(root, context, [&](Section& section) {
      section.defaulted_section("inner", "what is in it", [&](Section& inner) {
        ++times;
        WholeNumber("size", "how many", {1, 9}).optional(inner, 3);
      });
    });
    CHECK(times == 1);
    CHECK(diagnostics.error_count() <= 1);
    return to_json(root).dump() + (diagnostics.has_errors() ? " " + diagnostics.problems()[0].message : "");
  };
  CHECK(read("{}") == R"({"inner":{"size":3}})");
  CHECK(read("inner: {}") == R"({"inner":{"size":3}})");
  CHECK(read("inner: {size: 5}") == R"({"inner":{"size":5}})");
  CHECK(read("inner: 7").starts_with(R"({"inner":{"size":3}} 'inner' is a plain value)"));
  CHECK(read("inner: ").starts_with(R"({"inner":{"size":3}} 'inner' has no value)"));
  CHECK(read("inner: nowhere.yaml").starts_with(R"({"inner":{"size":3}} cannot read)"));
}

TEST_CASE("a right file is read, and defaults become part of the resolved configuration") {
  const Read read = read_text("size: 8\nbandwidth: 300 GB/s\nshape: fully_connected\n");
  CHECK(read.errors == "");
  CHECK(read.size == 8);
  CHECK(read.bandwidth == Bandwidth(300'000'000'000));
  CHECK(read.shape == 2);
  CHECK(read.resolved == R"({"size":8,"bandwidth":"300 GB/s","shape":"fully_connected","latency":"700 ns"})");
}

TEST_CASE("all problems of a file are reported together, with line and column") {
  const Read read =
      read_text("size: 99\nbandwith: 300 GB/s\nlatency: 700\nshape: rign\nsize: 2\ndims: [{size: 9}, 4]\n");
  CHECK(read.errors ==
        "x.yaml:5:1: error: key 'size' is given twice; the first is at line 1\n  hint: keep one of them\n"
        "x.yaml:1:7: error: size: 99 is out of range; expected 1 to 64\n"
        "x.yaml:1:1: error: 'bandwidth' is missing (bandwidth)\n  hint: of a link\n"
        "x.yaml:3:10: error: latency: '700' has no unit\n  hint: write a time such as '700 ns'\n"
        "x.yaml:4:8: error: shape: unknown value 'rign'\n  hint: did you mean 'ring'?\n"
        "x.yaml:6:15: error: dims[].size: 9 is out of range; expected 1 to 8\n"
        "x.yaml:6:19: error: 'dims[]' is a plain value; a map of keys is expected\n"
        "x.yaml:2:1: error: unknown key 'bandwith'\n  hint: did you mean 'bandwidth'?\n");
}

TEST_CASE("broken YAML is one error with its place") {
  const char* text = GENERATE("a: [1, 2", "a: b: c", "\tx: 1", "a: *nowhere", "%", "{{{{", "- - -\n a", "a: \"\\q\"",
                              "--- a\n--- b\n", "", "~", "? [1]: 2\n", "!!binary x");
  INFO(text);
  const Read read = read_text(text);
  CHECK(read.errors.find("x.yaml") == 0);
}

TEST_CASE("aliases that multiply and deep nesting are refused, not expanded") {
  std::string bomb = "a: &a [x, x, x, x, x, x, x, x, x, x]\n";
  for (char c = 'b'; c < 'k'; ++c)
    bomb += fmt::format("{0}: &{0} [*{1}, *{1}, *{1}, *{1}, *{1}, *{1}, *{1}, *{1}, *{1}, *{1}]\n", c,
                        static_cast<char>(c - 1));
  CHECK(read_text(bomb).errors.find("more than 1000000 values") != std::string::npos);
  CHECK(read_text("a: " + std::string(100, '[') + std::string(100, ']')).errors.find("nested deeper") !=
        std::string::npos);
  CHECK(read_text("a: " + std::string(100'000, '[')).errors.find("x.yaml") == 0);
}

TEST_CASE("--set edits before validation") {
  CHECK(read_text("size: 8\nbandwidth: 1 GB/s\n", {"size=4", "dims=[{size: 2}]", "dims.0.size=3"}).errors == "");
  CHECK(read_text("size: 8\nbandwidth: 1 GB/s\n", {"size=4"}).size == 4);
  CHECK(read_text("size: 8\nbandwidth: 1 GB/s\n", {"sise=4"}).errors ==
        "--set sise=4: error: unknown key 'sise'\n  hint: did you mean 'size'?\n");
  CHECK(read_text("size: 8\nbandwidth: 1 GB/s\n", {"dims.0.size=3", "novalue", "size.x=1", "size="})
            .errors.find("--set novalue: error: expected key.path=value") != std::string::npos);
}

TEST_CASE("the list of keys has every key, nested ones too, and no repeated ones") {
  Read read;
  const std::vector<KeyDescription> keys = list_keys(ConfigFiles("no-such-folder"), [&](Section& s) {
    read_example(s, read);
    s.repeated_section("again", "the same keys", [&](Section& again) { read_example(again, read); });
  });
  std::string paths;
  for (const KeyDescription& key : keys) paths += key.path + " ";
  CHECK(paths ==
        "size bandwidth latency shape efficiency dims dims[].size ranks ranks.<rank>.start algorithms source again ");
  CHECK(keys[2].fallback == "700 ns");
  CHECK(keys[3].type == "ring | switch | fully-connected");
}

namespace {

enum class Shape : std::uint8_t { kRing, kSwitch, kFullyConnected };

struct Declared {
  std::int64_t size = 0;
  std::uint32_t count = 2;
  Bandwidth bandwidth{1};
  std::optional<Duration> latency;
  Shape shape = Shape::kSwitch;
  bool is_open = true;
  Bytes part{7};
  int checks = 0;
};

void read_declared(Section& s, Declared& d) {
  s.needs("size", d.size, {1, 64}, "how many");
  s.takes("count", d.count, {1, 9}, "how often");
  s.needs("bandwidth", d.bandwidth, "bandwidth of a link");
  s.takes("latency", d.latency, "latency of a link");
  s.takes("shape", d.shape, kShapes, "how they are joined");
  s.takes("open", d.is_open, "whether it is open");
  s.when(d.shape == Shape::kRing, [&] { s.takes("part", d.part, "of a ring", "as it comes"); });
  if (s.sound()) ++d.checks;
}

}  // namespace

TEST_CASE("a declaration fills in the members, whose values are the defaults") {
  const auto read = [](std::string_view text, Declared& declared) {
    Diagnostics diagnostics;
    const ConfigFiles files("no-such-folder");
    ConfigContext context(files, diagnostics);
    ConfigValue root = parse_config(text, "x.yaml", diagnostics);
    read_config(root, context, [&](Section& s) { read_declared(s, declared); });
    std::string problems;
    for (const Problem& problem : diagnostics.problems()) problems += problem.message + "\n";
    for (const ConfigEntry& entry : root.entries)
      if (!entry.defaulted.empty())
        problems += fmt::format("{}: {} ({})\n", entry.key, entry.value.scalar, entry.defaulted);
    return problems;
  };
  Declared least;
  CHECK(read("size: 3\nbandwidth: 1 GB/s\n", least) ==
        "count: 2 (default)\nshape: switch (default)\nopen: true (default)\n");
  CHECK((least.size == 3 && least.count == 2 && least.shape == Shape::kSwitch && least.checks == 1));
  CHECK_FALSE(least.latency.has_value());
  Declared most;
  CHECK(read("{size: 64, count: 9, bandwidth: 2 GB/s, latency: 1 us, shape: ring, open: false}", most) ==
        "part: 7 B (as it comes)\n");
  CHECK((most.count == 9 && most.latency == Duration(1'000'000) && most.shape == Shape::kRing && !most.is_open));
  Declared wrong;
  CHECK(read("{size: 65, count: 10, shape: rnig, part: 1 B}", wrong) ==
        "size: 65 is out of range; expected 1 to 64\ncount: 10 is out of range; expected 1 to 9\n"
        "'bandwidth' is missing (bandwidth)\nshape: unknown value 'rnig'\nunknown key 'part'\nopen: true (default)\n");
  CHECK(wrong.checks == 0);
}

TEST_CASE("the list of keys has their ranges, and the parts that not every file has") {
  Declared declared;
  std::string text;
  for (const KeyDescription& key :
       list_keys(ConfigFiles("no-such-folder"), [&](Section& s) { read_declared(s, declared); }))
    text += fmt::format("{} {} {}, ", key.path, key.range, key.fallback);
  CHECK(text ==
        "size 1 to 64 required, count 1 to 9 2, bandwidth  required, latency  optional, shape  switch, open  true, "
        "part  as it comes, ");
  CHECK(declared.checks == 0);
}

TEST_CASE("a file that changes is read anew, and a broken one is told of each time") {
  const auto folder = std::filesystem::temp_directory_path() / "orrery-config-load-test";
  std::filesystem::create_directories(folder);
  const std::string file = (folder / "x.yaml").string();
  const ConfigFiles files(folder);
  const auto text_of = [&] {
    Diagnostics diagnostics;
    const ConfigValue value = files.load(file, {}, diagnostics);
    return to_json(value).dump() + (diagnostics.has_errors() ? " " + diagnostics.problems()[0].message : "");
  };
  std::ofstream(file) << "size: 1\n";
  CHECK(text_of() == R"({"size":1})");
  CHECK(text_of() == R"({"size":1})");
  CHECK(files.peek(file).find("size") != nullptr);
  std::ofstream(file) << "size: 2\n";
  CHECK(text_of() == R"({"size":2})");
  std::ofstream(file) << "size: [\n";
  CHECK(text_of().starts_with("null not valid YAML"));
  CHECK(text_of().starts_with("null not valid YAML"));
  CHECK(files.peek(file).kind == ConfigValue::Kind::kNull);
  CHECK(files.peek((folder / "x.et").string()).kind == ConfigValue::Kind::kNull);
  std::filesystem::remove_all(folder);
}

TEST_CASE("a file is opened once while it stays as it is, and its problems are told each time") {
  const auto folder = std::filesystem::temp_directory_path() / "orrery-config-once-test";
  std::filesystem::create_directories(folder);
  const std::string file = (folder / "x.yaml").string();
  const ConfigFiles files(folder);
  const auto write = [&](const char* text, std::chrono::hours ago) {
    std::ofstream(file) << text;
    std::filesystem::last_write_time(file, std::filesystem::file_time_type::clock::now() - ago);
  };
  const auto time = [&] { return std::filesystem::last_write_time(file); };
  const auto text_of = [&] {
    Diagnostics diagnostics;
    const ConfigValue value = files.load(file, {}, diagnostics);
    return to_json(value).dump() + (diagnostics.has_errors() ? " " + diagnostics.problems()[0].message : "");
  };
  write("size: 1\nsize: 1\n", std::chrono::hours(2));
  const auto before = time();
  const std::string twice = R"({"size":1} key 'size' is given twice; the first is at line 1)";
  CHECK(text_of() == twice);
  CHECK(text_of() == twice);
  write("size: 2\n#ize: 2\n", std::chrono::hours(2));
  std::filesystem::last_write_time(file, before);  // as long, and nothing says that it has changed
  CHECK(text_of() == twice);
  CHECK(files.beginning(file).starts_with("size: 1\n"));
  write("size: 2\n#ize: 2\n", std::chrono::hours(1));
  CHECK(text_of() == R"({"size":2})");
  CHECK(files.beginning(file).starts_with("size: 2\n"));
  std::filesystem::remove_all(folder);
}

TEST_CASE("an alias is the value that it names, and a value within itself is refused") {
  CHECK(read_text("size: &n 8\nbandwidth: 1 GB/s\ndims: [{size: *n}, &d {size: 2}, *d]\n").errors == "");
  CHECK(read_text("size: 1\nbandwidth: 1 GB/s\nranks: {0: &a {start: *a}}\n").errors.find("nested deeper") !=
        std::string::npos);
}

TEST_CASE("a name or a path stands for a file, relative to the file that names it") {
  const auto folder = std::filesystem::temp_directory_path() / "orrery-config-test";
  std::filesystem::create_directories(folder / "shipped" / "things");
  std::filesystem::create_directories(folder / "mine");
  std::ofstream(folder / "shipped" / "things" / "small.yaml") << "size: 1\n";
  std::ofstream(folder / "mine" / "own.yaml") << "size: 2\n";
  const ConfigFiles files(folder / "shipped");
  const auto size_of = [&](const std::string& name, std::string& errors) {
    Diagnostics diagnostics;
    ConfigContext context(files, diagnostics);
    ConfigValue root = parse_config("thing: " + name, (folder / "mine" / "x.yaml").string(), diagnostics);
    std::int64_t size = 0;
    read_config(root, context, [&](Section& s) {
      s.section(
          "thing", "a thing", [&](Section& t) { size = WholeNumber("size", "how many", {}).required(t); }, "things");
    });
    for (const Problem& problem : diagnostics.problems()) errors += problem.message + " " + problem.hint + "\n";
    return size;
  };
  std::string errors;
  CHECK(size_of("small", errors) == 1);
  CHECK(size_of("own.yaml", errors) == 2);
  CHECK(size_of("./own.yaml", errors) == 2);
  CHECK(errors == "");
  size_of("smal", errors);
  CHECK(errors == "no 'smal' among the shipped things did you mean 'small'?\n");
  errors.clear();
  size_of("missing.yaml", errors);
  CHECK(errors.find("there is no such file") != std::string::npos);
  std::filesystem::remove_all(folder);
}
