// SPDX-License-Identifier: MIT
#include "study/sweep/sweep.h"

#include <atomic>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <stdexcept>

#include <fmt/format.h>
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "core/in_parallel.h"
#include "experiment/files/file_kinds.h"
#include "tests/shipped_files.h"

using namespace orrery;
using namespace orrery::report;
using namespace orrery::study;

namespace {

std::vector<SweepPoint> run_sweep(const Sweep& sweep, unsigned jobs, const ConfigFiles& files,
                                  const PointDone& done = {}) {
  Points points({.jobs = jobs});
  return run_sweep(sweep, false, points, files, done);
}

const std::filesystem::path kSource = ORRERY_SOURCE_DIR;

// BERT-large on 2, 4 and 8 devices of a switch; of three devices none of 8 sequences can be shared out.
constexpr std::string_view kGood = R"(title: a title
experiment:
  cluster:
    device: a100-sxm-80gb
    dims: [{topology: switch, size: 8, bandwidth: 300 GB/s, latency: 700 ns}]
  workload: {model: bert-large, batch: {global: 8, micro: 1}}
vary:
  - key: workload.batch.global
    values: [8, 16]
  - name: devices
    settings:
      two: {workload.parallel.data: 2}
      four: {workload.parallel: {data: 4}}
      eight: {workload.parallel.data: 8}
compare: devices
)";

std::string file_with(std::string_view text, const std::string& name = "sweep.yaml") {
  const std::filesystem::path folder = std::filesystem::path(ORRERY_BINARY_DIR) / "sweep_test";
  std::filesystem::create_directories(folder);
  std::ofstream(folder / name) << text;
  return (folder / name).string();
}

std::string with(std::string_view old, std::string_view replacement) {
  std::string text(kGood);
  const std::size_t at = text.find(old);
  REQUIRE(at != std::string::npos);
  return text.replace(at, old.size(), replacement);
}

Sweep load(std::string_view text, const std::vector<std::string>& settings = {}) {
  return load_sweep(file_with(text), settings, kFiles);
}

std::string errors_of(std::string_view text, const std::vector<std::string>& settings = {}) {
  try {
    load(text, settings);
  } catch (const InputError& error) {
    return error.what();
  }
  return {};
}

std::string text_of(const std::filesystem::path& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

}  // namespace

TEST_CASE("a sweep has a point for every combination, the first axis the slowest") {
  const Sweep sweep = load(kGood);
  REQUIRE(sweep.point_count() == 6);
  CHECK(sweep.title == "a title");
  CHECK(sweep.axes[0].name == "global");  // the end of its key
  CHECK(sweep.layout.compared == 1U);
  CHECK(sweep.choices_of(0) == std::vector<std::size_t>{0, 0});
  CHECK(sweep.choices_of(2) == std::vector<std::size_t>{0, 2});
  CHECK(sweep.choices_of(3) == std::vector<std::size_t>{1, 0});
  CHECK(sweep.label(1, sweep.choices_of(4)) == "four");
  Diagnostics diagnostics;
  const ConfigValue root = configuration_of(sweep, 4, kFiles, diagnostics);
  const ConfigValue& workload = root.find("workload")->value;
  CHECK(workload.find("batch")->value.find("global")->value.scalar == "16");
  CHECK(workload.find("parallel")->value.find("data")->value.scalar == "4");
  CHECK_FALSE(diagnostics.has_errors());
}

TEST_CASE("the points of a sweep are what each would be by itself, however many run at a time") {
  const Sweep sweep = load(kGood);
  std::set<std::size_t> told;
  const auto tell = [&](std::size_t point, const SweepPoint& found, const nlohmann::ordered_json& result) {
    CHECK(found.ran());
    CHECK(!result.is_null());
    CHECK(told.insert(point).second);
  };
  const std::vector<SweepPoint> points = run_sweep(sweep, 1, kFiles, tell);
  CHECK(told.size() == 6);
  REQUIRE(std::ranges::all_of(points, &SweepPoint::ran));
  for (const unsigned jobs : {2U, 5U, 64U}) {
    const std::vector<SweepPoint> again = run_sweep(sweep, jobs, kFiles);
    CHECK(sweep_text(sweep, again) == sweep_text(sweep, points));
    CHECK(sweep_csv(sweep, again) == sweep_csv(sweep, points));
    CHECK(sweep_json(sweep, again) == sweep_json(sweep, points));
  }
  // Parts are disjoint and sum to the iteration: rounded to the picosecond on each of 8 devices.
  for (const SweepPoint& point : points) {
    double sum = 0;
    for (const Part& part : point.figures->parts) sum += part.seconds;
    CHECK(std::abs(sum - seconds(point.figures->iteration_time)) < 1e-11);
  }
  // The same work on more devices takes less time, but not in proportion: the exchange does not shrink.
  const auto time = [&](std::size_t point) { return points[point].figures->iteration_time; };
  CHECK(time(1) < time(0));
  CHECK(2 * time(1) > time(0));
}

// Takes the values of points from what their figures have, as run_sweep() does.
void take_values(std::vector<SweepPoint>& points, const TrainingFigures* training = nullptr) {
  for (SweepPoint& point : points)
    point.figures->values = figure_values({point.figures->iteration_time, training, nullptr, nullptr, true,
                                           point.figures->parts, point.figures->links, Bound{"compute", 0.75}});
}

std::vector<std::string> split(const std::string& text, char at) {
  std::vector<std::string> pieces;
  std::istringstream in(text);
  for (std::string piece; std::getline(in, piece, at);) pieces.push_back(piece);
  return pieces;
}

// Cells of a line below the headings that are not empty, by column.
std::map<std::string, std::string> cells_of(const std::string& csv, std::size_t line) {
  const std::vector<std::string> lines = split(csv, '\n');
  const std::vector<std::string> columns = split(lines.front(), ','), cells = split(lines[line + 1], ',');
  std::map<std::string, std::string> found;
  for (std::size_t i = 0; i < std::min(columns.size(), cells.size()); ++i)
    if (!cells[i].empty()) found[columns[i]] = cells[i];
  return found;
}

TEST_CASE("the table lays the compared axis out in columns, with ratios to its first value") {
  Sweep sweep = load(kGood);
  SweepFigures figures;
  figures.iteration_time = Duration(2'000'000'000);  // 2 ms
  figures.parts = {{"device compute", 1.5e-3, PartKind::kCompute, {}},
                   {"exposed communication (data)", 4.9e-4, PartKind::kCommunication, "data"},
                   {"idle", 1e-5, PartKind::kIdle, {}}};
  std::vector<SweepPoint> points(6);
  for (SweepPoint& point : points) point.figures = figures;
  points[1].figures->iteration_time = Duration(1'000'000'000);
  take_values(points);
  // 75 % of the path; 24.5 % data rounds to 24; 0.5 % idle is below 1 %. At half the time the parts' shares are double.
  const std::string text = sweep_text(sweep, points);
  INFO(text);
  CHECK(text.starts_with("a title\n\n  global  two: time  MFU  bound by      exposed    four: time  ratio  MFU"));
  CHECK(text.find("  8        2.000 ms    -  compute 75 %  data 24 %    1.000 ms  0.500    -  compute 75 %") !=
        std::string::npos);
  CHECK(std::ranges::count(text, '\n') == 2 + 1 + 2);  // title, heading, two batches

  points[0] = {};
  points[0].refusal = {{Severity::kError, {"x"}, "it does not fit", "less"}};
  points[5] = {};
  points[5].stuck = "rank 0 waits:\nfor ever";
  const std::string broken = sweep_text(sweep, points);
  INFO(broken);
  CHECK(broken.find("\n  8       refused (1)    -  -") != std::string::npos);
  CHECK(broken.find("  stuck (2)  ") != std::string::npos);
  CHECK(broken.ends_with("\n\n  (1) it does not fit; less\n  (2) rank 0 waits\n"));
  CHECK(broken.find("ever") == std::string::npos);
  const std::string csv = sweep_csv(sweep, points);
  INFO(csv);
  CHECK(csv.starts_with("point,global,devices,iteration_time_s,mfu,"));
  using Cells = std::map<std::string, std::string>;
  CHECK(cells_of(csv, 0) == Cells{{"point", "1"}, {"global", "8"}, {"devices", "two"}, {"error", "it does not fit"}});
  CHECK(cells_of(csv, 1) == Cells{{"point", "2"},
                                  {"global", "8"},
                                  {"devices", "four"},
                                  {"iteration_time_s", "0.001"},
                                  {"exposed_data_s", "0.00049"},
                                  {"compute_s", "0.0015"},
                                  {"host_s", "0.0"},
                                  {"slowed_s", "0.0"},
                                  {"bubble_s", "0.0"},
                                  {"wait_s", "0.0"},
                                  {"idle_s", "1e-05"},
                                  {"bound_by", "compute"},
                                  {"bound_share", "0.75"}});
}

TEST_CASE("the busiest links of a point are named, with how busy they are") {
  Sweep sweep = load(kGood);
  sweep.layout.columns = {"iteration_time", "links"};
  std::vector<SweepPoint> points(6);
  for (SweepPoint& point : points) {
    point.figures.emplace();
    point.figures->iteration_time = Duration(1'000'000'000);
    point.figures->links = {{"nvlink", 0.957}, {"host", 0.687}, {"nic", 0.66}, {"pcie", 0.1}};
  }
  points[1].figures->links.clear();
  take_values(points);
  const std::string text = sweep_text(sweep, points);
  INFO(text);
  CHECK(text.find("1.000 ms  nvlink 96 %, host 69 %, nic 66 %  ") != std::string::npos);
  CHECK(text.find("pcie") == std::string::npos);
  const std::string csv = sweep_csv(sweep, points);
  CHECK(csv.find(",nvlink,0.957,") != std::string::npos);
  CHECK(sweep_json(sweep, points)["points"][0]["busiest_link_class"] == "nvlink");
  CHECK_FALSE(sweep_json(sweep, points)["points"][1].contains("busiest_link_class"));
}

TEST_CASE("the reasons of refused points stand below the table, each once and in full") {
  const Sweep sweep = load(kGood);
  std::string reason = "beginning";
  for (int word = 0; word < 60; ++word) reason += fmt::format(" word-{:02}", word);  // 9 + 60 * 8 characters
  std::vector<SweepPoint> points(6);
  for (SweepPoint& point : points) point.refusal = {{Severity::kError, {"x"}, reason, "less"}};
  points[4].refusal = {{Severity::kError, {"x"}, "another", {}}, {Severity::kError, {"x"}, "and one more", {}}};
  const std::string text = sweep_text(sweep, points);
  INFO(text);
  const auto count = [&](const std::string& words) {
    std::size_t found = 0;
    for (std::size_t at = text.find(words); at != std::string::npos; at = text.find(words, at + 1)) ++found;
    return found;
  };
  CHECK(count("refused (1)") == 5);
  CHECK(count("refused (2)") == 1);
  CHECK(text.ends_with("\n  (2) another; and one more\n"));
  // Lines of notes have up to 80 columns: the first 6 + 9 + 8 * 8 = 79.
  const std::string notes = text.substr(text.find("  (1) "));
  for (int word = 0; word < 60; ++word) CHECK(notes.find(fmt::format("word-{:02}", word)) != std::string::npos);
  CHECK(notes.find("word-07\n      word-08 ") != std::string::npos);
  std::istringstream lines(notes);
  for (std::string line; std::getline(lines, line);) CHECK(line.size() <= 80);
  CHECK(sweep_csv(sweep, points).find("," + reason + "\n") != std::string::npos);
  CHECK(sweep_csv(sweep, points).find(",another; and one more\n") != std::string::npos);
}

TEST_CASE("a compared value that is a bare number or none is told with its axis") {
  const std::string axis =
      "  - name: devices\n    settings:\n      two: {workload.parallel.data: 2}\n"
      "      four: {workload.parallel: {data: 4}}\n      eight: {workload.parallel.data: 8}\n";
  const std::pair<std::string, std::string> cases[] = {
      {"  - {name: devices, key: workload.parallel.data, values: [2, 4]}\n", "devices 2: time "},
      {"  - {name: devices, key: workload.recompute, values: [full, none]}\n", "devices full: time "},
      {"  - {name: devices, key: workload.overlap.bucket, values: [500 kB, 1 MB]}\n", "devices 500 kB: time "},
      {"  - {name: devices, settings: {\"8\": {nodes: 1}, \"16\": {nodes: 2}}}\n", "devices 16: time "},
      {"  - {name: devices, settings: {2 chunks: {nodes: 1}, gpipe: {nodes: 2}}}\n", "  2 chunks: time "},
      {"  - {name: devices, key: workload.schedule.kind, values: [1f1b, gpipe]}\n", "  1f1b: time "},
      {"  - {name: devices, key: cluster, values: [dgx-a100, hgx-a800]}\n", "  hgx-a800: time "},
  };
  for (const auto& [vary, heading] : cases) {
    const Sweep sweep = load(with(axis, vary));
    std::vector<SweepPoint> points(sweep.point_count());
    for (SweepPoint& point : points) point.figures.emplace();
    const std::string text = sweep_text(sweep, points);
    INFO(text);
    CHECK(text.find(heading) != std::string::npos);
  }
}

TEST_CASE("efficiency is throughput of a device relative to the first value, the bubble idle time over the rest") {
  Sweep sweep = load(with("compare: devices\n", "compare: devices\nshow: [efficiency, bubble, throughput]\n"));
  SweepFigures figures;
  figures.iteration_time = Duration(1'000'000'000);
  figures.parts = {{"device compute", 8e-4, PartKind::kCompute, {}}, {"waiting for other stages", 2e-4, PartKind::kBubble, {}}};
  TrainingFigures training;
  training.tokens_per_s_per_gpu = 400;
  std::vector<SweepPoint> points(6);
  for (SweepPoint& point : points) point.figures = figures;
  take_values(points, &training);
  points[1].figures->values.erase("tokens_per_s_per_gpu");
  points[1].figures->values["samples_per_s_per_gpu"] = 300.0;
  const std::string text = sweep_text(sweep, points);
  INFO(text);  // 0.2 / 0.8 idle; 300 / 400
  CHECK(text.find(" 100.0 %     25.0 %  400.0 tokens/s            75.0 %     25.0 %  300.0 samples/s ") != std::string::npos);
}

TEST_CASE("the values of an only axis that is compared stand below one another, with ratios to the first") {
  const Sweep sweep = load(with("  - key: workload.batch.global\n    values: [8, 16]\n", ""));
  REQUIRE(sweep.axes.size() == 1);
  REQUIRE(sweep.layout.compared == 0U);
  const std::vector<SweepPoint> points = run_sweep(sweep, 2, kFiles);
  const std::string text = sweep_text(sweep, points);
  INFO(text);
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  REQUIRE(lines.size() == 3 + points.size());  // the title, an empty line, the heading
  CHECK(lines[2].starts_with("  devices"));
  CHECK(lines[2].find("  time  ratio ") != std::string::npos);
  for (std::size_t i = 0; i < points.size(); ++i) {
    const double ratio = seconds(points[i].figures->iteration_time) / seconds(points[0].figures->iteration_time);
    CHECK(lines[3 + i].starts_with("  " + sweep.axes[0].choices[i].label));
    CHECK(lines[3 + i].find(fmt::format("  {:.3f} ", ratio)) != std::string::npos);
    CHECK(lines[3 + i].size() < 120);
  }
}

TEST_CASE("points that are refused do not stop the others") {
  const Sweep sweep = load(with("eight: {workload.parallel.data: 8}", "three: {workload.parallel.data: 3}"));
  const std::vector<SweepPoint> points = run_sweep(sweep, 2, kFiles);
  CHECK(points[0].ran());
  CHECK_FALSE(points[2].ran());
  CHECK_FALSE(points[5].ran());
  const std::vector<Problem> refusals = refusals_of(sweep, points);
  REQUIRE(refusals.size() == 2);  // of 8 and of 16 sequences
  CHECK(refusals[0].message.starts_with("point '8, three': "));
  CHECK(refusals[0].where.line > 0);
  CHECK_NOTHROW(refuse_if_all_refused(sweep, points));
  const std::vector<SweepPoint> checked = check_points(sweep, 2, false, kFiles);
  for (std::size_t i = 0; i < points.size(); ++i) {
    CHECK(checked[i].refusal.empty() == points[i].refusal.empty());
    CHECK_FALSE(checked[i].ran());
  }
}

TEST_CASE("a value that no point can be simulated with is an error, other refused points are warnings") {
  // Of three devices neither 8 nor 16 sequences can be shared out, of 16 devices 8 sequences cannot.
  const Sweep sweep = load(with("eight: {workload.parallel.data: 8}",
                                "three: {workload.parallel.data: 3}\n"
                                "      sixteen: {workload.parallel.data: 16, cluster.dims.0.size: 16}"));
  const std::vector<SweepPoint> points = check_points(sweep, 2, false, kFiles);
  const std::vector<Problem> errors = refused_values(sweep, points);
  REQUIRE(errors.size() == 1);
  INFO(to_string(errors[0]));
  CHECK(errors[0].severity == Severity::kError);
  CHECK(errors[0].where.line == 14);
  CHECK(errors[0].message.starts_with("none of the 2 points with devices 'three' can be simulated: "));
  const std::vector<Problem> warnings = refused_combinations(sweep, points);
  REQUIRE(warnings.size() == 1);
  INFO(to_string(warnings[0]));
  CHECK(warnings[0].severity == Severity::kWarning);
  CHECK(warnings[0].message.starts_with("point '8, sixteen': "));
  CHECK(to_string(warnings[0]).find('\n') == std::string::npos);
}

TEST_CASE("the error of a value is the commonest of its points, and with its hint") {
  const Sweep sweep = load(with("eight: {workload.parallel.data: 8}", "misspelt: {workload.model: bert-lrage}"));
  const std::vector<Problem> errors = refused_values(sweep, check_points(sweep, 2, false, kFiles));
  REQUIRE(errors.size() == 1);
  CHECK(
      to_string(errors[0]).ends_with("sweep.yaml:14:7: error: none of the 2 points with devices 'misspelt' can be "
                                     "simulated: no 'bert-lrage' among the shipped models\n  hint: did you mean "
                                     "'bert-large'?"));
}

TEST_CASE("what is wrong with a key of an axis is told once, and a warning with its points") {
  const Sweep sweep = load(with("workload.batch.global", "workload.batch.globl"));
  std::vector<SweepPoint> points = check_points(sweep, 2, false, kFiles);
  CHECK(refusals_of(sweep, points).size() == 1);
  const Problem warning{Severity::kWarning, {"x"}, "slow", {}};
  for (SweepPoint& point : points) point.warnings = {warning};
  CHECK(warnings_of(sweep, points).front().message == "slow");  // all of them
  points[0].warnings.clear();
  CHECK(warnings_of(sweep, points).front().message == "5 points, '8, four' first: slow");
}

TEST_CASE("a sweep whose points are all refused says why, once") {
  const Sweep sweep = load(with("model: bert-large", "model: bert-lrage"));
  const std::vector<SweepPoint> points = run_sweep(sweep, 2, kFiles);
  CHECK_THROWS_WITH(refuse_if_all_refused(sweep, points),
                    Catch::Contains("none of 6 points can be simulated:") &&
                        Catch::Contains("sweep.yaml:6:21: error: 6 points, '8, two' first: no 'bert-lrage' among the "
                                        "shipped models\n  hint: did you mean 'bert-large'?"));
}

TEST_CASE("settings change the experiment of all points, but no key of an axis") {
  const Sweep sweep = load(kGood, {"workload.batch.micro=2"});
  CHECK(sweep.experiment.find("workload")->value.find("batch")->value.find("micro")->value.scalar == "2");
  CHECK(errors_of(kGood, {"workload.batch.global=64"}).find("varies along the axis 'global'") != std::string::npos);
  CHECK(errors_of(kGood, {"workload.parallel.sequence=true"}).find("varies along the axis 'devices'") !=
        std::string::npos);
  CHECK(errors_of(kGood, {"workload"}).find("expected key.path=value") != std::string::npos);
}

TEST_CASE("a wrong sweep is refused where it stands, with what to do") {
  const std::pair<std::string, std::string> cases[] = {
      {with("vary:", "varry:"), "sweep.yaml:7:1: error: unknown key 'varry'\n  hint: did you mean 'vary'?"},
      {with("title: a title", "titel: a"), "unknown key 'titel'"},
      {with("experiment:", "experimnt:"), "'experiment' is missing"},
      {with("values: [8, 16]", "values: []"), "'vary[].values' must be a list of values"},
      {with("values: [8, 16]", "values: 8"), "'vary[].values' must be a list of values"},
      {with("values: [8, 16]", "values: [8, ~]"), "a value of the axis 'global' is missing"},
      {with("values: [8, 16]", "values: [8, 8]"), "sweep.yaml:9:17: error: '8' stands twice on the axis 'global'"},
      {with("  - key: workload.batch.global\n    values", "  - values"), "'values' without the 'key' that takes them"},
      {with("    values: [8, 16]\n", ""), "an axis has either 'key' and 'values', or 'name' and 'settings'"},
      {with("name: devices", "key: devices"), "'key' does not go with 'settings'"},
      {with("  - name: devices\n    settings", "  - settings"), "an axis of settings has no 'name'"},
      {with("name: devices", "name: global"), "two axes are called 'global'"},
      {with("{workload.parallel: {data: 4}}", "4"), "a map of keys is expected"},
      {with("{workload.parallel: {data: 4}}", "{nodes: }"), "'nodes' has no value"},
      {with("{workload.parallel: {data: 4}}", "{workload: {model: gpt-1.7b}}"),
       "axis 'devices' sets 'workload', which would undo 'workload.batch.global' of axis 'global'"},
      {with("{workload.parallel: {data: 4}}", "{workload.parallel.data: 4, workload.parallel: {tensor: 4}}"),
       "'workload.parallel' would undo 'workload.parallel.data', which stands before it"},
      {with("compare: devices", "compare: device"), "no axis is called 'device'\n  hint: did you mean 'devices'?"},
      {with("compare: devices", "show: [mfus]"), "unknown column 'mfus'\n  hint: did you mean 'mfu'?"},
      {with("compare: devices", "show: efficiency"), "'efficiency' has nothing to be relative to"},
      {"experiment: {}\nvary: []\n", "'vary' has no axis"},
      {"experiment: {}\nvary: 7\n", "'vary' is a plain value; a list is expected"},
      {"experiment: none-such\nvary: [{key: nodes, values: [1]}]\n", "no 'none-such' among the shipped studies"},
      {"experiment: [1]\nvary: [{key: nodes, values: [1]}]\n", "'experiment' is a list; a map of keys is expected"},
      {"experiment: smoke-sweep\nvary: [{key: nodes, values: [1]}]\n",
       "'experiment' is itself a sweep; one experiment is expected"},
      {"experiment: {vary: []}\nvary: [{key: nodes, values: [1]}]\n", "sweep.yaml:1:13: error: 'experiment' is itself"},
      {"experiment: ./absent.yaml\nvary: [{key: nodes, values: [1]}]\n", "there is no such file"},
  };
  for (const auto& [text, expected] : cases) {
    INFO(text);
    const std::string errors = errors_of(text);
    INFO(errors);
    CHECK(errors.find(expected) != std::string::npos);
  }
}

TEST_CASE("a sweep of more points than anyone waits for is refused") {
  std::string text = "experiment: {}\nvary:\n";
  for (const char axis : {'a', 'b', 'c', 'd', 'e', 'f'})
    text += fmt::format("  - {{key: {}, values: [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]}}\n", axis);
  CHECK(errors_of(text).find("more than 100000 points") != std::string::npos);  // 10^6
}

TEST_CASE("an experiment may be another file, and its paths are relative to that") {
  const std::filesystem::path folder = std::filesystem::path(ORRERY_BINARY_DIR) / "sweep_test";
  std::filesystem::create_directories(folder / "inner");
  file_with("{name: m, hidden: 64, layers: 2, heads: 2, vocab: 128, sequence: 32}\n", "inner/model.yaml");
  file_with("cluster: dgx-a100\nworkload: {model: ./model.yaml, batch: {global: 8, micro: 1}}\n", "inner/job.yaml");
  const Sweep sweep = load("experiment: inner/job.yaml\nvary: [{key: workload.parallel.data, values: [1, 2]}]\n");
  CHECK(std::ranges::all_of(run_sweep(sweep, 1, kFiles), &SweepPoint::ran));
}

TEST_CASE("a sweep is told by its keys") {
  CHECK(experiment::file_kind(file_with(kGood), kFiles) == experiment::FileKind::kSweep);
  CHECK(experiment::file_kind(file_with("{\"vary\": [], \"experiment\": {}}", "sweep.json"), kFiles) ==
        experiment::FileKind::kSweep);
  CHECK_FALSE(experiment::file_kind((kSource / "configs" / "studies" / "replay-a100.yaml").string(), kFiles) ==
              experiment::FileKind::kSweep);
  CHECK_FALSE(experiment::file_kind((kSource / "configs" / "validation" / "training" / "bloom.yaml").string(),
                                    kFiles) == experiment::FileKind::kSweep);
  CHECK_FALSE(experiment::file_kind("absent.yaml", kFiles) == experiment::FileKind::kSweep);
  CHECK_FALSE(experiment::file_kind(file_with(kGood, "sweep.txt"), kFiles) == experiment::FileKind::kSweep);
}

TEST_CASE("work in parallel is done once each, and the first failure comes out") {
  for (const unsigned threads : {1U, 2U, 7U}) {
    std::vector<std::atomic<int>> done(100);
    in_parallel(done.size(), threads, [&](std::size_t i) { ++done[i]; });
    CHECK(std::ranges::all_of(done, [](const std::atomic<int>& count) { return count == 1; }));
    in_parallel(0, threads, [](std::size_t) { FAIL("there is nothing to do"); });
    const auto fail = [&](std::size_t i) {
      ++done[i];
      if (i % 10 == 7) throw std::runtime_error(fmt::format("piece {}", i));
    };
    CHECK_THROWS_WITH(in_parallel(done.size(), threads, fail), "piece 7");
    CHECK(std::ranges::all_of(done, [](const std::atomic<int>& count) { return count == 2; }));
  }
}

TEST_CASE("docs/sweeps.md has all keys of a sweep") {
  std::string keys = "| key | type | default | meaning |\n|---|---|---|---|\n";
  for (const KeyDescription& key : describe_sweep(kFiles))
    keys += fmt::format("| `{}` | {} | {} | {} |\n", key.path, key.type, key.fallback, key.meaning);
  const std::filesystem::path written = std::filesystem::path(ORRERY_BINARY_DIR) / "sweeps.md";
  std::ofstream(written) << keys;
  INFO("what should stand there is in " << written);
  CHECK(text_of(kSource / "docs" / "sweeps.md").find(keys) != std::string::npos);
}
