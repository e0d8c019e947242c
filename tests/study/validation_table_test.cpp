// SPDX-License-Identifier: MIT
// The shipped measurements read, name machines that exist, and are what was taken down; wrong ones are refused where
// they stand.
#include "experiment/files/file_kinds.h"
#include "study/validate/collectives/validate.h"
#include "tests/shipped_files.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include <fmt/format.h>

using namespace orrery;
using namespace orrery::collectives;
using namespace orrery::study;

namespace {

const std::filesystem::path kSource(ORRERY_SOURCE_DIR);

std::string text_of(const std::filesystem::path& path) {
  std::ifstream stream(path);
  return {std::istreambuf_iterator<char>(stream), {}};
}

struct ReadTable {
  ValidationTable table;
  std::string errors;
};

ReadTable read(const std::string& text) {
  Diagnostics diagnostics;
  ReadTable result;
  ConfigValue root = parse_config(text, "x.yaml", diagnostics);
  result.table = table_from<ValidationTable>(std::move(root), kFiles, diagnostics);
  for (const Problem& problem : diagnostics.problems()) result.errors += to_string(problem) + "\n";
  return result;
}

const std::string kGood =
    "table: t\n"
    "source: a page\n"
    "measured: 16 x A100\n"
    "system: s\n"
    "cluster: dgx-a100\n"
    "nodes: 2\n"
    "gpus_per_node: 8\n"
    "op: all_reduce\n"
    "launch: single-process\n"
    "launch_source: the page prints -g 8\n"
    "column: in-place\n"
    "column_reason: warm\n"
    "forced: [Tree, LL128]\n"
    "scored: true\n"
    "rows:\n"
    "  - [8, 36.47]\n"
    "  - [16, 35]\n";

// kGood with `from`, which stands in it once, replaced.
std::string with(const std::string& from, const std::string& to) {
  std::string text = kGood;
  const std::size_t at = text.find(from);
  REQUIRE(at != std::string::npos);
  REQUIRE(text.find(from, at + 1) == std::string::npos);
  return text.replace(at, from.size(), to);
}

// What a table's rows were taken from: bytes and microseconds by column.
using Csv = std::vector<std::map<std::string, std::string>>;

std::vector<std::string> cells_of(const std::string& line) {
  std::vector<std::string> cells;
  std::istringstream stream(line);
  for (std::string cell; std::getline(stream, cell, ',');) cells.push_back(cell);
  return cells;
}

Csv read_csv(const std::filesystem::path& path) {
  std::ifstream stream(path);
  std::string line;
  std::getline(stream, line);
  const std::vector<std::string> names = cells_of(line);
  Csv rows;
  while (std::getline(stream, line)) {
    const std::vector<std::string> cells = cells_of(line);
    auto& row = rows.emplace_back();
    for (std::size_t i = 0; i < std::min(names.size(), cells.size()); ++i) row[names[i]] = cells[i];
  }
  return rows;
}

std::string column_name(ValidationColumn column) {
  switch (column) {
    case ValidationColumn::kInPlace:
      return "ip_time_us";
    case ValidationColumn::kOutOfPlace:
      return "oop_time_us";
    case ValidationColumn::kMedian:
      break;
  }
  return "time_us_median";
}

// The rows of a table's file that are of its shape; kernel files hold several, so that names end in "_2n8g".
Csv rows_for(const ValidationTable& table, const std::filesystem::path& folder) {
  const std::string shape = fmt::format("_{}n{}g", table.nodes, table.gpus_per_node);
  std::string name = table.name;
  if (table.timed == TimedPart::kKernels) {
    REQUIRE(name.ends_with(shape));
    name.resize(name.size() - shape.size());
  }
  constexpr std::array<std::string_view, kAllTableCollections.size()> kFolders = {"", "2026", "third"};
  const std::filesystem::path file = folder / kFolders[static_cast<std::size_t>(table.collection)] / (name + ".csv");
  REQUIRE(std::filesystem::exists(file));
  Csv rows = read_csv(file);
  std::erase_if(rows, [&](auto& row) {
    if (row["size_bytes"] == "0") return true;
    return table.timed == TimedPart::kKernels &&
           (row["nodes"] != std::to_string(table.nodes) || row["gpus_per_node"] != std::to_string(table.gpus_per_node));
  });
  return rows;
}

// A '|' would end a cell of a table.
std::string escaped(const std::string& text) {
  std::string result;
  for (const char c : text) result += c == '|' ? std::string("\\|") : std::string(1, c);
  return result;
}

// Microseconds with at most six decimals, as picoseconds.
Duration picoseconds(const std::string& microseconds) {
  const std::size_t dot = std::min(microseconds.find('.'), microseconds.size());
  std::string digits = microseconds.substr(0, dot);
  std::string decimals = dot < microseconds.size() ? microseconds.substr(dot + 1) : std::string();
  REQUIRE(decimals.size() <= 6);
  decimals.resize(6, '0');
  return Duration(std::stoll(digits + decimals));
}

}  // namespace

TEST_CASE("every shipped validation table reads, on a cluster that is large enough") {
  const std::vector<ValidationTable> tables = list_tables<ValidationTable>(kFiles);
  CHECK(tables.size() == 57 + 94 + 15);
  CHECK(std::ranges::is_sorted(tables, {}, &ValidationTable::name));
  std::size_t scored = 0;
  std::size_t labelled = 0;
  for (const ValidationTable& table : tables) {
    INFO(table.name);
    CHECK(std::filesystem::path(table.where.file).stem() == table.name);
    CHECK((table.rows.size() >= 3 || table.collection != TableCollection::kFirst));
    const bool is_written_out = table.cluster.starts_with("{");
    CHECK(
        (table.cluster.empty() || is_written_out || std::ranges::count(kFiles.names("clusters"), table.cluster) == 1));
    scored += table.scored;
    labelled += table.launch.has_value();
  }
  // By hand: 42 benchmark tables, of which 8 are not scored; 15 of kernels, none of which is; of the 94 of the second
  // collection 8 are not scored, and 3 do not say who launched; of the 15 of the third one is not scored, which does
  // not say who launched.
  CHECK(scored == 34 + 86 + 14);
  CHECK(labelled == 25 + 91 + 14);
}

TEST_CASE("a validation table has what its file says") {
  const ReadTable result = read(kGood);
  REQUIRE(result.errors == "");
  const ValidationTable& table = result.table;
  CHECK(table.name == "t");
  CHECK(table.source == "a page");
  CHECK(table.measured == "16 x A100");
  CHECK(table.system == "s");
  CHECK(table.cluster == "dgx-a100");
  CHECK(table.nodes == 2);
  CHECK(table.gpus_per_node == 8);
  CHECK(table.operation.name == "all_reduce");
  CHECK(table.timed == TimedPart::kCalls);
  CHECK(table.nccl == "");
  CHECK(table.launch == LaunchMode::kSingleProcess);
  CHECK(table.launch_source == "the page prints -g 8");
  CHECK(table.column == ValidationColumn::kInPlace);
  CHECK(table.column_reason == "warm");
  CHECK(table.forced == std::vector<std::string>{"Tree", "LL128"});
  CHECK(table.scored);
  REQUIRE(table.rows.size() == 2);
  CHECK(table.rows[0].bytes == Bytes(8));
  CHECK(table.rows[0].time == Duration(36'470'000));  // 36.47 us
  CHECK(table.rows[1].time == Duration(35'000'000));
}

TEST_CASE("a cluster that a table writes out has a title for people") {
  const auto machine_with = [](const std::string& cluster) {
    std::string text = kGood;
    text.replace(text.find("dgx-a100"), 8, cluster);
    const ReadTable result = read(text);
    CHECK(result.errors == "");
    return result.table.machine;
  };
  const std::string scale_out = "scale_out: {topology: switch, network: ethernet, latency: 600 ns}}";
  CHECK(machine_with("dgx-a100") == "dgx-a100");
  CHECK(machine_with("{node: dgx-a100, " + scale_out) == "s by ethernet");
  CHECK(machine_with("{name: ours, node: dgx-a100, " + scale_out) == "ours");
}

TEST_CASE("no shipped table shows its cluster as JSON") {
  for (const ValidationTable& table : list_tables<ValidationTable>(kFiles))
    CHECK(table.machine.find('{') == std::string::npos);
}

TEST_CASE("names of choices are those that the reader takes") {
  for (const LaunchMode mode : {LaunchMode::kMpi, LaunchMode::kThreads, LaunchMode::kSingleProcess, LaunchMode::kTorch})
    CHECK(read(with("launch: single-process", fmt::format("launch: {}", name_of(mode)))).table.launch == mode);
  const ReadTable kernels = read(with("column: in-place", "timed: kernels\ncolumn: median"));
  CHECK(kernels.errors == "");
  CHECK(name_of(kernels.table.timed) == "kernels");
  CHECK(name_of(kernels.table.column) == "median");
}

TEST_CASE("a table that is not scored needs a reason, and no cluster") {
  const ReadTable result = read(with("scored: true", "scored: false\nwhy_not: noisy"));
  CHECK(result.errors == "");
  CHECK_FALSE(result.table.scored);
  CHECK(result.table.why_not == "noisy");
  std::string text = with("scored: true", "scored: false\nwhy_not: noisy");
  text.erase(text.find("cluster: dgx-a100\n"), std::string("cluster: dgx-a100\n").size());
  CHECK(read(text).errors == "");
}

TEST_CASE("a wrong validation table is refused where it stands, with what to do") {
  const std::string two_rows = "  - [8, 36.47]\n  - [16, 35]\n";
  const std::pair<std::string, std::string> cases[] = {
      {with("36.47", "0"), "x.yaml:16:9: error: invalid time '0'; expected microseconds\n  hint: a number above 0"},
      {with("36.47", "-1"), "x.yaml:16:9: error: invalid time '-1'; expected microseconds"},
      {with("36.47", "5 us"), "x.yaml:16:9: error: invalid time '5 us'; expected microseconds"},
      {with("36.47", "nan"), "invalid time 'nan'; expected microseconds"},
      {with("[8, ", "[0, "),
       "x.yaml:16:6: error: invalid size '0'; expected bytes\n  hint: a whole number, at least 1"},
      {with("[8, ", "[8 B, "), "invalid size '8 B'; expected bytes"},
      {with("[8, ", "[16, "), "x.yaml:17:5: error: 16 bytes after 16\n  hint: sizes ascend, and each stands once"},
      {with("[8, ", "[32, "), "x.yaml:17:5: error: 16 bytes after 32"},
      {with("[8, 36.47]", "[8]"), "x.yaml:16:5: error: a row is two numbers: [bytes, microseconds]"},
      {with("[8, 36.47]", "[8, [1]]"), "a row is two numbers"},
      {with("[8, 36.47]", "8"), "a row is two numbers"},
      {with("rows:\n" + two_rows, "rows: []\n"), "x.yaml:15:7: error: 'rows' must be a list of [bytes, microseconds]"},
      {with("rows:\n" + two_rows, ""), "'rows' must be a list"},
      {with("cluster: dgx-a100", "cluster: dgx-a10"),
       "x.yaml:5:10: error: no 'dgx-a10' among the shipped clusters\n  hint: did you mean 'dgx-a100'?"},
      {with("gpus_per_node: 8", "gpus_per_node: 9"),
       "x.yaml:7:16: error: 9 GPUs of a node, but a node of 'dgx-a100' has 8"},
      {with("gpus_per_node: 8", "gpus_per_node: 0"), "0 is out of range"},
      {with("nodes: 2\ngpus_per_node: 8", "nodes: 1\ngpus_per_node: 1"), "one GPU has no other to talk to"},
      {with("op: all_reduce", "op: all_reduced"),
       "x.yaml:8:5: error: op: unknown value 'all_reduced'\n  hint: did you"},
      {with("launch: single-process", "launch: mpirun"), "launch: unknown value 'mpirun'\n  hint: did you mean 'mpi'?"},
      {with("launch_source: the page prints -g 8\n", ""), "x.yaml:9:9: error: 'launch' has no 'launch_source'"},
      {with("launch: single-process\n", ""), "'launch_source' without 'launch'"},
      {with("Tree", "Treee"), "NCCL has no algorithm or protocol 'Treee'\n  hint: did you mean 'Tree'?"},
      {with("column: in-place", "column: median"), "calls are timed in-place or out-of-place, they have no median"},
      {with("column: in-place", "column: in-place\ntimed: kernels"), "kernels have a median"},
      {with("column_reason: warm\n", ""), "'column_reason' is missing"},
      {with("source: a page", "source: ''"), "x.yaml:2:9: error: 'source' is empty"},
      {with("scored: true", "scored: false"), "x.yaml:14:9: error: a table that is not scored has no reason"},
      {with("scored: true", "scored: maybe"), "'maybe' is neither true nor false"},
      {with("scored: true", "scored: true\nwhy_not: noisy"), "a reason not to score a table that is scored"},
      {with("cluster: dgx-a100\n", ""), "a table that is scored has no 'cluster'"},
      {with("system: s", "system: s\nsytem: s"),
       "x.yaml:5:1: error: unknown key 'sytem'\n  hint: did you mean 'system'?"},
      {with("table: t\n", ""), "'table' is missing"},
      {"7\n", "a map of keys is expected"},
      {"", "x.yaml"},
  };
  for (const auto& [text, expected] : cases) {
    INFO(text);
    const std::string errors = read(text).errors;
    INFO(errors);
    CHECK(errors.find(expected) != std::string::npos);
  }
}

TEST_CASE("a validation table is told by its keys, and settings change it") {
  const std::filesystem::path folder = std::filesystem::path(ORRERY_BINARY_DIR) / "validation_table_file";
  std::filesystem::create_directories(folder);
  const std::string file = (folder / "t.yaml").string();
  std::ofstream(file) << kGood;
  CHECK(experiment::measurements_of(file, kFiles) == "nccl");
  CHECK_FALSE(experiment::measurements_of((kSource / "configs" / "clusters" / "dgx-a100.yaml").string(), kFiles) ==
              "nccl");
  CHECK_FALSE(experiment::measurements_of((folder / "absent.yaml").string(), kFiles) == "nccl");
  CHECK_FALSE(experiment::measurements_of((folder / "t.et").string(), kFiles) == "nccl");
  Diagnostics diagnostics;
  CHECK(load_table<ValidationTable>(file, {"gpus_per_node=4"}, kFiles, diagnostics).gpus_per_node == 4);
  CHECK_FALSE(diagnostics.has_errors());
  load_table<ValidationTable>(file, {"cluster=none-such"}, kFiles, diagnostics);
  CHECK(diagnostics.error_count() == 1);
}

TEST_CASE("a table that cannot be predicted is refused without a simulation, in the words of one") {
  const auto error_of = [](const auto& ask) -> std::string {
    try {
      ask();
    } catch (const InputError& error) {
      return error.what();
    }
    return {};
  };
  for (const auto& [text, expected] : std::vector<std::pair<std::string, std::string>>{
           {with("op: all_reduce", "op: sendrecv"), "sendrecv has no algorithm"},
           {with("op: all_reduce", "op: all_reduce\nnccl: new"), "invalid NCCL version 'new'"},
           {with("forced: [Tree, LL128]", "forced: [NVLS]"), "cannot run all_reduce"}}) {
    const ReadTable found = read(text);
    INFO(text);
    REQUIRE(found.errors.empty());
    const std::string refused = error_of([&] { check_prediction(found.table, kFiles); });
    CHECK(refused.find(expected) != std::string::npos);
    CHECK(refused == error_of([&] { validate({&found.table, 1}, kFiles); }));
    ValidationTable left_out = found.table;
    left_out.scored = false;
    CHECK_NOTHROW(check_prediction(left_out, kFiles));
  }
  CHECK_NOTHROW(check_prediction(read(kGood).table, kFiles));
}

TEST_CASE("two validation tables of one name are refused") {
  std::vector<ValidationTable> tables = {read(with("table: t", "table: b")).table, read(kGood).table,
                                         read(with("table: t", "table: a")).table};
  sort_tables(tables);
  CHECK(tables.front().name == "a");
  CHECK(tables.back().name == "t");
  tables.push_back(read(kGood).table);
  CHECK_THROWS_WITH(sort_tables(tables), Catch::Contains("x.yaml:1:8: error: two tables are named 't'"));
}

TEST_CASE("problems of several files come together, and a folder without tables is empty") {
  const std::filesystem::path folder = std::filesystem::path(ORRERY_BINARY_DIR) / "validation_table_test";
  std::filesystem::remove_all(folder);
  CHECK(list_tables<ValidationTable>(ConfigFiles(folder)).empty());
  std::filesystem::create_directories(folder / "validation" / "nccl");
  std::ofstream(folder / "validation" / "nccl" / "a.yaml") << "table: [\n";
  std::ofstream(folder / "validation" / "nccl" / "b.yaml") << "table: b\n";
  try {
    list_tables<ValidationTable>(ConfigFiles(folder));
    FAIL("no error");
  } catch (const InputError& error) {
    const std::string text = error.what();
    INFO(text);
    CHECK(text.find("a.yaml:") != std::string::npos);
    CHECK(text.find("b.yaml:1:1: error: 'source' is missing") != std::string::npos);
  }
}

TEST_CASE("every row of a shipped validation table is one of the measurements it was taken from") {
  const std::filesystem::path folder = kSource / ".." / "shared" / "data" / "nccl";
  if (!std::filesystem::exists(folder)) {
    WARN("SKIPPED: " << folder << " is not there");
    return;
  }
  for (const ValidationTable& table : list_tables<ValidationTable>(kFiles)) {
    INFO(table.name);
    const Csv rows = rows_for(table, folder);
    std::map<std::int64_t, std::string> times;
    for (const auto& row : rows) times[std::stoll(row.at("size_bytes"))] = row.at(column_name(table.column));
    // Kernels are thinned; of a benchmark every size is there.
    if (table.timed == TimedPart::kCalls) CHECK(table.rows.size() == times.size());
    for (const ValidationRow& row : table.rows) {
      INFO(row.bytes.count() << " bytes");
      REQUIRE(times.contains(row.bytes.count()));
      CHECK(picoseconds(times.at(row.bytes.count())) == row.time);
    }
  }
}

namespace {

std::string size_text(Bytes bytes) {
  constexpr std::array<std::string_view, 5> kUnits = {"B", "KiB", "MiB", "GiB", "TiB"};
  std::int64_t count = bytes.count();
  std::size_t unit = 0;
  for (; unit + 1 < kUnits.size() && count >= 1024 && count % 1024 == 0; ++unit) count /= 1024;
  return fmt::format("{} {}", count, kUnits[unit]);
}

std::string sizes_of(const ValidationTable& table) {
  const std::string first = size_text(table.rows.front().bytes), last = size_text(table.rows.back().bytes);
  return first == last ? first : fmt::format("{} to {}", first, last);
}

std::string operation_of(const ValidationTable& table) {
  std::string text(table.operation.name);
  if (table.timed == TimedPart::kKernels) text += ", kernels";
  if (!table.forced.empty()) text += fmt::format(", {}", fmt::join(table.forced, " "));
  return text;
}

std::string line_of(const ValidationTable& table) {
  return fmt::format("| `{}` | {} | {} | {} | {} | {} x {} | {} | {} | {} | {} |\n", table.name,
                     name_of(table.collection), table.system,
                     table.cluster.empty() ? "" : fmt::format("`{}`", table.machine), operation_of(table), table.nodes,
                     table.gpus_per_node, sizes_of(table), table.rows.size(),
                     table.launch ? collectives::name_of(*table.launch) : "", table.scored ? "yes" : "no");
}

// A line for each text that `what` has of tables, with the names of these; none for an empty one.
template <class What>
std::string said_of(std::span<const ValidationTable> tables, What what) {
  std::vector<std::pair<std::string, std::string>> lines;  // text and names, in the order of the tables
  for (const ValidationTable& table : tables) {
    const std::string said = std::invoke(what, table);
    if (said.empty()) continue;
    auto line = std::ranges::find(lines, said, &std::pair<std::string, std::string>::first);
    if (line == lines.end()) line = lines.insert(line, {said, {}});
    line->second += fmt::format("{}`{}`", line->second.empty() ? "" : ", ", table.name);
  }
  std::string text;
  for (const auto& [said, names] : lines) text += fmt::format("* {}: {}.\n", names, said);
  return text;
}

// The tables as docs/validation.md shows them.
std::string validation_list(std::span<const ValidationTable> tables) {
  std::string text = "| table | collection | system | cluster | op | nodes x GPUs | sizes | rows | launch | scored |\n";
  text += "|---|---|---|---|---|---|---|---|---|---|\n";
  for (const ValidationTable& table : tables) text += line_of(table);
  text += "\nWhat was measured, and where it was published:\n\n";
  text += said_of(tables, [](const ValidationTable& t) { return fmt::format("{}. {}", t.measured, t.source); });
  text += "\nWhat says how calls were launched:\n\n";
  text += said_of(tables, [](const ValidationTable& t) {
    return t.launch ? fmt::format("{}: {}", collectives::name_of(*t.launch), t.launch_source) : std::string();
  });
  text += "\nWhy not all of them are scored:\n\n";
  return text + said_of(tables, &ValidationTable::why_not);
}

}  // namespace

TEST_CASE("docs/validation.md lists the shipped tables and all keys") {
  const std::filesystem::path written = std::filesystem::path(ORRERY_BINARY_DIR) / "validation.md";
  std::string keys = "| key | type | default | meaning |\n|---|---|---|---|\n";
  for (const KeyDescription& key : describe_table<ValidationTable>(kFiles))
    keys += fmt::format("| `{}` | {} | {} | {} |\n", key.path, escaped(key.type), key.fallback, key.meaning);
  const std::string list = validation_list(list_tables<ValidationTable>(kFiles));
  std::ofstream(written) << keys << "\n" << list;
  const std::string docs = text_of(kSource / "docs" / "validation.md");
  INFO("what should stand there is in " << written);
  CHECK(docs.find(keys) != std::string::npos);
  CHECK(docs.find(list) != std::string::npos);
}
