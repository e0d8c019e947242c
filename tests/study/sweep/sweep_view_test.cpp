// SPDX-License-Identifier: MIT
// What of a sweep is a point, and what of its points is shown.
#include <array>
#include <filesystem>
#include <fstream>

#include <fmt/format.h>
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "study/sweep/lines.h"
#include "study/sweep/sweep.h"
#include "tests/shipped_files.h"

using namespace orrery;
using namespace orrery::study;
using Catch::Matchers::Contains;

namespace {

std::vector<SweepPoint> run_sweep(const Sweep& sweep, unsigned jobs, const ConfigFiles& files,
                                  const PointDone& done = {}) {
  Points points({.jobs = jobs});
  return run_sweep(sweep, false, points, files, done);
}

constexpr std::string_view kAxes = R"(experiment:
  cluster: {device: a100-sxm-80gb, dims: [{topology: switch, size: 8, bandwidth: 300 GB/s, latency: 700 ns}]}
  perturb: {jitter: {sigma: 5 %, per: rank}}
  workload: {model: bert-large, batch: {global: 16, micro: 1}, parallel: {data: rest}}
vary:
  - {key: workload.parallel.tensor, values: [1, 2, 4]}
  - {key: workload.parallel.pipeline, values: [1, 2, 4]}
  - {key: perturb.jitter.seed, values: [1, 2, 3, 4]}
)";

Sweep load(const std::string& more, const SweepView& view = {}) {
  const std::filesystem::path folder = std::filesystem::path(ORRERY_BINARY_DIR) / "sweep_view_test";
  std::filesystem::create_directories(folder);
  const std::string file = (folder / "sweep.yaml").string();
  std::ofstream(file) << kAxes << more;
  Sweep sweep = load_sweep(file, {}, kFiles);
  change_view(sweep, view);
  return sweep;
}

// Of each line: the labels of its points, "12" for tensor 1, pipeline 2.
std::vector<std::string> labels_of(const Sweep& sweep, const SweepLines& lines) {
  std::vector<std::string> labels;
  for (const SweepLine& line : lines.lines) {
    const std::vector<std::size_t> choices = sweep.choices_of(line.front().median());
    labels.push_back(sweep.label(0, choices) + sweep.label(1, choices));
  }
  return labels;
}

}  // namespace

TEST_CASE("constraints between axes leave the points that meet them, numbered one after the other") {
  CHECK(load("").point_count() == 36);
  const Sweep sweep = load("where: [tensor * pipeline <= 4, seed != 2]\n");
  REQUIRE(sweep.point_count() == 18);
  for (std::size_t point = 0; point < sweep.point_count(); ++point) {
    const std::vector<std::size_t> choices = sweep.choices_of(point);
    CHECK(std::stoi(sweep.label(0, choices)) * std::stoi(sweep.label(1, choices)) <= 4);
    CHECK(sweep.label(2, choices) != "2");
  }
  CHECK(load("where: tensor > 1\n", {.where = {"pipeline = tensor"}}).point_count() == 8);
  CHECK_THROWS_WITH(load("where: tensor > 4\n"), Contains("sweep.yaml:") && Contains("no combination of the axes"));
  CHECK_THROWS_WITH(load("where: tensor >\n"), Contains("sweep.yaml:") && Contains("is no constraint"));
}

TEST_CASE("seeds are one line: mean, quantiles, maximum; the others are of the median point") {
  const Sweep sweep = load("where: [pipeline = 1, tensor <= 2]\naggregate: seed\nshow: [iteration_time, mfu]\n");
  const std::vector<SweepPoint> points = run_sweep(sweep, 2, kFiles);
  const SweepLines lines = lines_of(sweep, points);
  REQUIRE(lines.lines.size() == 2);
  const SweepCell& cell = lines.lines.front().front();
  REQUIRE(cell.points.size() == 4);
  std::vector<Duration> times;
  for (std::size_t point = 0; point < 4; ++point) times.push_back(points[point].figures->iteration_time);
  std::ranges::sort(times);
  const TimeSpread spread = spread_of(cell, points);
  CHECK(times.front() < times.back());
  CHECK(spread.median == times[1]);
  CHECK(spread.p99 == times[3]);
  CHECK(spread.most == times[3]);
  CHECK(std::abs((spread.mean * 4 - times[0] - times[1] - times[2] - times[3]).count()) <= 2);
  const std::string text = sweep_text(sweep, points);
  CHECK_THAT(text, Contains("mean") && Contains("p99") && !Contains("seed"));
  const auto document = sweep_json(sweep, points);
  REQUIRE(document["aggregates"].size() == 2);
  CHECK(document["aggregates"][0]["settings"].dump() == R"({"tensor":"1","pipeline":"1"})");
  CHECK(document["aggregates"][0]["iteration_time_s"]["max"] == seconds(times[3]));
  CHECK(document["points"].size() == 8);
  CHECK_THROWS_WITH(load("aggregate: sed\n"), Contains("no axis is called 'sed'") && Contains("'seed'"));
  CHECK_THROWS_WITH(load("aggregate: seed\ncompare: seed\n"), Contains("cannot be aggregated"));
}

TEST_CASE("lines are sorted by a figure, filtered by figures, and cut") {
  const Sweep all = load("where: seed = 1\nsort: iteration_time\n");
  const std::vector<SweepPoint> points = run_sweep(all, 2, kFiles);
  const auto lines = [&](const SweepView& view) {
    const Sweep sweep = load("where: seed = 1\n", view);
    return labels_of(sweep, lines_of(sweep, points));
  };
  std::vector<std::string> sorted = labels_of(all, lines_of(all, points));
  REQUIRE(sorted.size() == 9);
  const SweepLines by_time = lines_of(all, points);
  for (std::size_t i = 0; i + 1 < 9; ++i) {
    const auto time = [&](std::size_t line) { return points[by_time.lines[line].front().median()].figures; };
    if (!time(i + 1)) break;
    CHECK(time(i)->iteration_time <= time(i + 1)->iteration_time);
  }
  CHECK(lines({}).front() == "11");
  CHECK(lines({.sort = "mfu"}) == sorted);  // the same work: most FLOP/s in the least time
  CHECK(lines({.sort = "iteration_time_s", .top = 2}) == std::vector(sorted.begin(), sorted.begin() + 2));
  CHECK(lines({.sort = "-iteration_time", .top = 1}).front() != sorted.front());
  const double best = report::number_of(points[by_time.lines.front().front().median()].figures->values, "mfu").value();
  CHECK(lines({.where = {fmt::format("mfu >= {}", best)}}) == std::vector{sorted.front()});
  CHECK(lines({.where = {"bound_by = nothing"}}).empty());
  const auto ran = static_cast<std::size_t>(std::ranges::count_if(points, &SweepPoint::ran));
  CHECK(ran >= 8);
  CHECK(lines({.where = {"mfu > 0"}}).size() == ran);
  CHECK_THROWS_WITH(lines({.sort = "mfuu"}), Contains("--sort") && Contains("'mfu'"));
  CHECK_THROWS_WITH(lines({.where = {"mfuu > 1"}}), Contains("--where") && Contains("'mfu'"));
  CHECK_THROWS_WITH(load("", {.show = {"mfuu"}}), Contains("--show") && Contains("'mfu'"));
}

TEST_CASE("every figure of points.csv is a column, sorts lines with the best first, and may stand in a constraint") {
  Sweep sweep = load("where: [seed = 1, tensor = 1]\n");  // three pipelines
  std::vector<SweepPoint> points(sweep.point_count());
  REQUIRE(points.size() == 3);
  for (const report::Figure* figure : report::keyed_figures()) {
    INFO(figure->key);
    const bool is_text = figure->unit == report::FigureUnit::kText;
    for (std::size_t i = 0; i < points.size(); ++i) {
      const std::array<double, 3> numbers = {2, 1, 3};
      const std::array<std::string, 3> texts = {"b", "a", "c"};
      SweepFigures figures;
      if (is_text)
        figures.values.emplace(figure->key, texts[i]);
      else
        figures.values.emplace(figure->key, numbers[i]);
      points[i].figures = figures;
    }
    const std::string key(figure->key), column(figure->column_name());
    const bool is_most_first = figure->better == report::Better::kMore;
    for (const std::string& name : {key, column}) {
      const auto lines = [&](const SweepView& view) {
        Sweep shown = load("where: [seed = 1, tensor = 1]\n", view);
        check_view(shown);
        return labels_of(shown, lines_of(shown, points));
      };
      CHECK(lines({.sort = name}) ==
            (is_most_first ? std::vector<std::string>{"14", "11", "12"} : std::vector<std::string>{"12", "11", "14"}));
      CHECK(lines({.where = {name + (is_text ? " = c" : " > 2")}}) == std::vector<std::string>{"14"});
    }
    const std::string text = sweep_text(load("where: [seed = 1, tensor = 1]\n", {.show = {column}}), points);
    CHECK(text == sweep_text(load("where: [seed = 1, tensor = 1]\n", {.show = {key}}), points));
    INFO(text);
    CHECK(text.find(figure->heading) != std::string::npos);
    CHECK(text.find(report::cell_text(*figure, is_text ? report::FigureValue("c") : report::FigureValue(3.0))) !=
          std::string::npos);
    CHECK(sweep_csv(sweep, points).find(key) != std::string::npos);
    CHECK(sweep_json(sweep, points)["points"][2][key] == (is_text ? nlohmann::json("c") : nlohmann::json(3.0)));
  }
}

TEST_CASE("a combination that is no point leaves its place beside others empty") {
  const Sweep sweep = load("where: [seed = 1, tensor * pipeline <= 4]\ncompare: pipeline\nshow: iteration_time\n");
  const std::vector<SweepPoint> points = run_sweep(sweep, 2, kFiles);
  const SweepLines lines = lines_of(sweep, points);
  REQUIRE(lines.across == 1U);
  REQUIRE(lines.lines.size() == 3);
  CHECK(lines.lines[2][0].points.size() == 1);
  CHECK(lines.lines[2][1].points.empty());
  CHECK_THAT(sweep_text(sweep, points), Contains("-"));
}

TEST_CASE("points are the same as CSV, as JSON lines and in a data base") {
  const Sweep sweep = load("where: [seed = 1, pipeline = 1]\n");
  const std::vector<SweepPoint> points = run_sweep(sweep, 2, kFiles);
  const auto document = sweep_json(sweep, points);
  const std::string lines = sweep_json_lines(document);
  CHECK(std::ranges::count(lines, '\n') == 3);
  CHECK(nlohmann::ordered_json::parse(lines.substr(0, lines.find('\n'))) == document["points"][0]);
  const std::string base = sweep_sqlite(sweep, points);
  CHECK(base.starts_with("SQLite format 3"));
  CHECK(base == sweep_sqlite(sweep, points));
}

TEST_CASE("a value that has no points left is not one that all are refused with") {
  const Sweep sweep = load("where: [seed = 1, pipeline = 1, tensor <= 2]\n");
  const std::vector<SweepPoint> points = run_sweep(sweep, 2, kFiles);
  REQUIRE(points.size() == 2);
  CHECK(refused_values(sweep, points).empty());
  CHECK(refused_combinations(sweep, points).empty());
  const Sweep refused = load("where: [seed = 1, pipeline <= 2]\n");
  std::vector<SweepPoint> some(refused.point_count());
  for (std::size_t point = 0; point < some.size(); ++point)
    if (refused.label(1, refused.choices_of(point)) == "2")
      some[point].refusal = {{Severity::kError, {"a.yaml"}, "cannot be", ""}};
  const std::vector<Problem> problems = refused_values(refused, some);
  REQUIRE(problems.size() == 1);
  CHECK_THAT(problems.front().message, Contains("none of the 3 points with pipeline '2' can be simulated"));
}

TEST_CASE("one point of a line has to meet all constraints") {
  const Sweep sweep = load("where: [seed = 1, tensor <= 2, pipeline <= 2]\ncompare: pipeline\nshow: iteration_time\n");
  const std::vector<SweepPoint> points = run_sweep(sweep, 2, kFiles);
  const auto time = [&](std::size_t point) { return seconds(points[point].figures->iteration_time); };
  REQUIRE(time(0) != time(1));
  const auto lines = [&](double least, double most) {
    Sweep other = sweep;
    change_view(other,
                {.where = {fmt::format("iteration_time_s >= {}", least), fmt::format("iteration_time_s <= {}", most)}});
    return lines_of(other, points).lines.size();
  };
  CHECK(lines(time(0), time(0)) == 1);
  CHECK(lines(1.01 * std::max({time(0), time(1), time(2), time(3)}), 1e9) == 0);
  CHECK(lines((time(0) + time(1)) / 2, (time(0) + time(1)) / 2) == 0);  // one is below, the other above
}

TEST_CASE("figures that no point can have are told before anything is simulated") {
  CHECK_NOTHROW(check_view(load("where: [exposed_tensor_s > 0, cost < 5]\nsort: -exposed_data_s\n")));
  CHECK_THROWS_WITH(check_view(load("where: mfuu > 0\n")), Contains("unknown name 'mfuu'") && Contains("'mfu'"));
  CHECK_THROWS_WITH(check_view(load("sort: mfuu\n")), Contains("sweep.yaml:") && Contains("unknown figure 'mfuu'"));
}

TEST_CASE("axes are not called as figures are, nor as each other but for capitals") {
  const auto with_axis = [&](const std::string& name) {
    return load(fmt::format("  - {{name: {}, key: workload.batch.micro, values: [1]}}\n", name));
  };
  CHECK_NOTHROW(with_axis("memory"));
  for (const char* name : {"point", "Point", "MFU", "iteration_time_s", "exposed_tensor_s", "error"})
    CHECK_THROWS_WITH(with_axis(name),
                      Contains("an axis cannot be called") && Contains("hint: give it another 'name'"));
  CHECK_THROWS_WITH(with_axis("Tensor"), Contains("two axes are called 'Tensor'"));
}

TEST_CASE("too many combinations are refused at once, constraints or not") {
  std::string values = "[0";
  for (int i = 1; i < 3000; ++i) values += fmt::format(", {}", i);
  std::string more;
  for (const char* name : {"a", "b", "c"})
    more += fmt::format("  - {{name: {}, key: perturb.ranks.{}.start, values: {}]}}\n", name, name[0] - 'a', values);
  CHECK_THROWS_WITH(load(more + "where: a < 5\n"), Contains("more than 100000 points"));
}
