// SPDX-License-Identifier: MIT
// Which axis of a sweep is horizontal, which are colours, lines and panels.
#include "study/sweep/picture.h"

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "study/sweep/axis_numbers.h"
#include "tests/shipped_files.h"

using namespace orrery;
using namespace orrery::report;
using namespace orrery::study;
using Catch::Matchers::Contains;

namespace {

SweepAxis axis(const std::vector<std::string>& labels) {
  SweepAxis axis{"axis", {}, {}};
  for (const std::string& label : labels) axis.choices.push_back({label, {}, {}});
  return axis;
}

Sweep load(const std::string& axes) {
  const std::filesystem::path folder = std::filesystem::path(ORRERY_BINARY_DIR) / "sweep_picture_test";
  std::filesystem::create_directories(folder);
  const std::string file = (folder / "sweep.yaml").string();
  std::ofstream(file)
      << "experiment: {cluster: dgx-a100, workload: {model: bert-large, batch: {global: 16, micro: 1}}}\n"
      << axes;
  return load_sweep(file, {}, kFiles);
}

// Points that take 1 s, 2 s, 3 s, ...
std::vector<SweepPoint> points_of(const Sweep& sweep) {
  std::vector<SweepPoint> points(sweep.point_count());
  for (std::size_t i = 0; i < points.size(); ++i) {
    PointFigures figures;
    figures.iteration_time = Duration(static_cast<std::int64_t>(i + 1) * 1'000'000'000'000);
    figures.values["iteration_time_s"] = static_cast<double>(i + 1);
    figures.values["mfu"] = 0.5 / static_cast<double>(i + 1);
    points[i].figures = figures;
  }
  return points;
}

constexpr const char* kThree =
    "vary:\n"
    "  - {name: gpu, settings: {A100: {cluster: dgx-a100}, A800: {cluster: hgx-a800}}}\n"
    "  - {name: nvlink, key: cluster.node.fabric.bandwidth, values: [400 GB/s, 100 GB/s, 200 GB/s]}\n"
    "  - {name: micro, key: workload.batch.micro, values: [1, 2]}\n";

}  // namespace

TEST_CASE("labels of quantities and numbers are numbers of an axis") {
  const auto bandwidths = numbers_of(axis({"25 GB/s", "50 GB/s", "100 GB/s"}));
  REQUIRE(bandwidths);
  CHECK(bandwidths->values == std::vector<double>{25e9, 50e9, 100e9});
  CHECK(bandwidths->unit.name == "GB/s");
  CHECK(bandwidths->ticks.front().label == "25");
  CHECK(bandwidths->is_logarithmic);
  const auto bits = numbers_of(axis({"200 Gb/s", "400 Gb/s"}));
  REQUIRE(bits);
  CHECK(bits->values == std::vector<double>{25e9, 50e9});
  CHECK(bits->unit.size == Approx(1.25e8));  // bytes per second of 1 Gb/s
  CHECK(bits->is_logarithmic);               // the second twice the first
  const auto sizes = numbers_of(axis({"64 KiB", "1 MiB"}));
  REQUIRE(sizes);
  CHECK(sizes->values == std::vector<double>{65536, 1048576});
  CHECK(sizes->unit.name.empty());  // labels keep theirs
  CHECK(sizes->ticks.back().label == "1 MiB");
  CHECK(sizes->is_logarithmic);  // 16 times
  const auto times = numbers_of(axis({"2 us", "500 ns"}));
  REQUIRE(times);
  CHECK(times->values[0] == Approx(2e-6));
  CHECK(times->ticks.front().label == "500 ns");
  const auto relative = numbers_of(axis({"x0.5", "x1", "x2"}));
  REQUIRE(relative);
  CHECK(relative->unit.name == "relative");
  CHECK(relative->ticks[0].label ==
        "\xC3\x97"
        "0.5");
  CHECK(relative->values == std::vector<double>{0.5, 1, 2});
  CHECK(numbers_of(axis({"1", "2", "3"}))->is_logarithmic == false);
  for (const std::vector<std::string>& names : std::vector<std::vector<std::string>>{
           {"dgx-a100", "hgx-a800"}, {"8", "eight"}, {"1 GB/s", "1 GiB"}, {"x2", "2"}, {"1 KiB", "1024 B"}, {}}) {
    INFO((names.empty() ? "" : names.front()));
    CHECK_FALSE(numbers_of(axis(names)));
  }
}

TEST_CASE("values that double, or reach far, are read on a logarithmic axis") {
  CHECK(are_logarithmic({1, 2, 4}));
  CHECK(are_logarithmic({1, 3, 8}));
  CHECK_FALSE(are_logarithmic({1, 2, 3, 4}));
  CHECK(are_logarithmic({1, 2}));
  CHECK_FALSE(are_logarithmic({2, 3}));
  CHECK_FALSE(are_logarithmic({2}));
  CHECK_FALSE(are_logarithmic({0, 8, 80}));
}

TEST_CASE("the first axis of numbers is horizontal, the next is lines, the third panels") {
  const Sweep sweep = load(kThree);
  check_picture(sweep);
  const Picture picture = sweep_picture(sweep, points_of(sweep));
  REQUIRE(picture.kind == PictureKind::kCurves);
  REQUIRE(picture.panels.size() == 2);
  CHECK(picture.panels[0].title == "micro 1");
  CHECK(picture.panels[0].x.field == "nvlink");
  CHECK(picture.panels[0].x.is_logarithmic);
  REQUIRE(picture.panels[0].series.size() == 2);
  const PictureSeries& a800 = picture.panels[1].series[1];
  CHECK(a800.name == "A800");
  CHECK((a800.colour == 1 && a800.mark == 1));
  // By bandwidth, not in the order of the file: point 10 is (A800, 100 GB/s, 2 micro), 12 and 8 those of 200 and 400.
  REQUIRE(a800.spots.size() == 3);
  CHECK(a800.spots[0].text == "100 GB/s");
  CHECK(std::vector<double>{a800.spots[0].y, a800.spots[1].y, a800.spots[2].y} == std::vector<double>{10, 12, 8});
  CHECK(picture.panels[0].y.unit.name == "s");
}

TEST_CASE("the compared axis is colours, and the next one marks and dashes") {
  const Sweep sweep = load(std::string(kThree) + "compare: micro\n");
  const Picture picture = sweep_picture(sweep, points_of(sweep));
  REQUIRE(picture.panels.size() == 1);
  REQUIRE(picture.panels[0].series.size() == 4);
  CHECK(picture.fields == std::vector<std::string>{"micro", "gpu"});
  REQUIRE(picture.keys.size() == 2);
  CHECK((picture.keys[0].title == "micro" && picture.keys[0].entries[0].colour && !picture.keys[0].entries[0].mark));
  CHECK((picture.keys[1].title == "gpu" && !picture.keys[1].entries[0].colour && picture.keys[1].entries[0].mark));
}

TEST_CASE("axes and the figure may be named") {
  Sweep sweep = load(std::string(kThree) + "picture: {over: [micro], panels: nvlink, figure: mfu, scale: log}\n");
  check_picture(sweep);
  Picture picture = sweep_picture(sweep, points_of(sweep));
  REQUIRE(picture.panels.size() == 3);
  CHECK(picture.panels[0].x.field == "micro");
  CHECK(picture.panels[0].title == "nvlink 400 GB/s");
  CHECK(picture.panels[0].y.field == "mfu");
  CHECK(picture.panels[0].y.unit.name == "%");
  CHECK(picture.panels[0].y.is_logarithmic);
  // Two horizontal axes have a panel each, in which the other is at its first value.
  change_picture(sweep, {.figure = "iteration_time", .over = {"nvlink", "micro"}, .panels = "gpu"});
  picture = sweep_picture(sweep, points_of(sweep));
  REQUIRE(picture.panels.size() == 4);
  CHECK(picture.panels[0].title == "nvlink (micro 1); A100");
  CHECK(picture.panels[2].title == "micro (nvlink 400 GB/s); A100");
  CHECK(picture.panels[0].y.field == "iteration_time_s");
}

TEST_CASE("a second axis of many numbers makes a heat map, whose rows ascend") {
  const Sweep sweep = load(
      "vary:\n"
      "  - {name: nvlink, key: cluster.node.fabric.bandwidth, values: {from: 10 GB/s, to: 160 GB/s, factor: 2}}\n"
      "  - {name: micro, key: workload.batch.micro, values: [9, 8, 7, 6, 5, 4, 3, 2, 1]}\n");
  const Picture picture = sweep_picture(sweep, points_of(sweep));
  CHECK(picture.kind == PictureKind::kHeat);
  REQUIRE(picture.panels.size() == 1);
  REQUIRE(picture.panels[0].series.size() == 9);
  CHECK(picture.panels[0].series[0].name == "1");
  CHECK(picture.panels[0].series[0].spots[0].y == 9);  // the ninth point: 10 GB/s, micro 1
  Sweep curves = sweep;
  change_picture(curves, {.draw = "curves"});
  CHECK(sweep_picture(curves, points_of(curves)).kind == PictureKind::kCurves);
}

TEST_CASE("without an axis of numbers there are bars") {
  const Sweep sweep = load(
      "vary:\n"
      "  - {name: plan, settings: {t8: {workload.parallel.tensor: 8}, t4: {workload.parallel.tensor: 4}}}\n"
      "  - {key: cluster, values: [dgx-a100, hgx-a800]}\n"
      "compare: cluster\n");
  const Picture picture = sweep_picture(sweep, points_of(sweep));
  REQUIRE(picture.kind == PictureKind::kBars);
  REQUIRE(picture.panels[0].x.ticks.size() == 2);
  CHECK(picture.panels[0].x.ticks[1].label == "t4");
  REQUIRE(picture.panels[0].series.size() == 2);
  CHECK(picture.panels[0].series[1].spots[1].y == 4);
}

TEST_CASE("points without a result have their reason, and points of an aggregated axis their extent") {
  const Sweep sweep = load(
      "vary:\n"
      "  - {name: nvlink, key: cluster.node.fabric.bandwidth, values: [100 GB/s, 200 GB/s]}\n"
      "  - {name: seed, key: perturb.jitter.seed, values: [1, 2, 3]}\n"
      "aggregate: seed\n");
  std::vector<SweepPoint> points = points_of(sweep);
  for (std::size_t i = 3; i < 6; ++i) {
    points[i].figures.reset();
    points[i].refusal = {{Severity::kError, {}, "does not fit", ""}};
  }
  const Picture picture = sweep_picture(sweep, points);
  REQUIRE(picture.panels[0].series.size() == 1);
  const std::vector<PictureSpot>& spots = picture.panels[0].series[0].spots;
  REQUIRE(spots.size() == 2);
  CHECK((spots[0].low == 1 && spots[0].y == 2 && spots[0].high == 3));
  CHECK(spots[1].error == "does not fit");
  CHECK_THAT(picture.captions.back(), Contains("does not fit"));
}

TEST_CASE("a picture that no sweep like this has is refused before it runs") {
  Sweep sweep = load(kThree);
  CHECK_THROWS_WITH(change_picture(sweep, {.over = {"nvlin"}}),
                    Contains("no axis is called 'nvlin'") && Contains("nvlink"));
  change_picture(sweep, {.over = {"gpu"}});
  CHECK_THROWS_WITH(check_picture(sweep), Contains("the axis 'gpu' cannot be horizontal"));
  sweep = load(kThree);
  change_picture(sweep, {.figure = "mfuu"});
  CHECK_THROWS_WITH(check_picture(sweep), Contains("no number is called 'mfuu'") && Contains("mfu"));
  sweep = load("vary: [{key: cluster, values: [dgx-a100, hgx-a800]}]\n");
  change_picture(sweep, {.draw = "curves"});
  CHECK_THROWS_WITH(check_picture(sweep), Contains("need an axis of numbers"));
  sweep = load("vary: [{key: nodes, values: [1, 2]}]\n");
  change_picture(sweep, {.draw = "heat"});
  CHECK_THROWS_WITH(check_picture(sweep), Contains("a heat map needs two axes of numbers"));
}
