// SPDX-License-Identifier: MIT
// Pictures: what is drawn where, what is in their data, and the widths of files.
#include <algorithm>
#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "report/plot/front.h"
#include "report/plot/picture.h"
#include "report/plot/style.h"

using namespace orrery;
using namespace orrery::report;
using Catch::Matchers::Contains;

namespace {

// Time over sizes of 1, 2 and 4 GB/s, of two series; the second has no result in the middle.
Picture two_lines() {
  Picture picture;
  picture.title = "a <picture>";
  picture.fields = {"gpu"};
  PicturePanel& panel = picture.panels.emplace_back();
  panel.x = {"link", "link", {"GB/s", 1e9}, true};
  panel.x.ticks = {{1e9, "1"}, {2e9, "2"}, {4e9, "4"}};
  panel.y = {"time", "time_s", {"ms", 1e-3}};
  const auto spot = [](double x, double y, const std::string& text) {
    PictureSpot one{x, y};
    one.text = text;
    return one;
  };
  panel.series = {{"a",
                   SeriesShape::kLine,
                   0,
                   0,
                   {"a"},
                   {spot(1e9, 0.004, "1 GB/s"), spot(2e9, 0.002, "2 GB/s"), spot(4e9, 0.001, "4 GB/s")}},
                  {"b",
                   SeriesShape::kLine,
                   1,
                   1,
                   {"b"},
                   {spot(1e9, 0.006, "1 GB/s"), spot(2e9, kNoValue, "2 GB/s"), spot(4e9, 0.003, "4 GB/s")}}};
  panel.series[1].spots[1].error = "does not fit";
  picture.keys = {key_of_series(picture.panels)};
  return picture;
}

std::size_t count_of(const std::string& text, const std::string& what) {
  std::size_t count = 0;
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++count;
  return count;
}

std::vector<std::string> labels(const Axis& axis) {
  std::vector<std::string> result;
  for (const Tick& tick : axis.ticks()) result.push_back(tick.label);
  return result;
}

using Labels = std::vector<std::string>;

}  // namespace

TEST_CASE("a linear axis runs from 0 between round numbers of its unit") {
  CHECK(labels(Axis::linear(0.0032, 0.0118, {"ms", 1e-3})) == Labels{"0", "2", "4", "6", "8", "10", "12"});
  CHECK(labels(Axis::linear(0.5, 0.62, {"%", 0.01})) == Labels{"0", "10", "20", "30", "40", "50", "60", "70"});
  CHECK(labels(Axis::linear(0.5, 0.62, {"%", 0.01}, false)) == Labels{"50", "52", "54", "56", "58", "60", "62"});
  // Bytes: powers of two.
  const Axis memory = Axis::linear(3e9, 60e9, {"GiB", 0x1p30, true});
  CHECK(labels(memory) == Labels{"0", "8", "16", "24", "32", "40", "48", "56"});
  CHECK(memory.share(28 * 0x1p30) == Approx(0.5));
  CHECK(labels(Axis::linear(-0.1, 0.3, {"%", 0.01})) == Labels{"-10", "0", "10", "20", "30"});
  // One value is within its axis.
  const Axis one = Axis::linear(5, 5, {}, false);
  CHECK((one.share(5) >= 0 && one.share(5) <= 1 && one.ticks().size() >= 2));
}

// From 27.125 to 27.28 GiB steps of 0.02 GiB would be 8, from 27.12 to 27.28; those of 0.05 GiB are 4.
TEST_CASE("parts of a binary unit are decimal") {
  const Axis axis = Axis::linear(27.125 * 0x1p30, 27.28 * 0x1p30, {"GiB", 0x1p30, true}, false);
  CHECK(labels(axis) == std::vector<std::string>{"27.1", "27.15", "27.2", "27.25", "27.3"});
}

TEST_CASE("units suit the largest value") {
  CHECK(unit_for("s", 0.05).name == "ms");
  CHECK(unit_for("s", 2).name == "s");
  CHECK(unit_for("B", 70e9).name == "GiB");
  CHECK(unit_for("B/s", 25e9).name == "GB/s");
  CHECK(unit_for("share", 0.4).name == "%");
  CHECK(unit_for("tokens/s", 1e6).name == "tokens/s");
}

TEST_CASE("a line has a gap where there is no value, which a cross with the reason marks") {
  const std::string svg = picture_svg(two_lines());
  CHECK_THAT(svg, Contains("a &lt;picture&gt;") && Contains("time (ms)") && Contains("link (GB/s)"));
  CHECK(count_of(svg, "class=\"curve stroke0") == 2);      // the line, and its sample in the key
  CHECK(count_of(svg, "class=\"curve stroke1") == 1);      // no two neighbours of b have a value: the sample alone
  CHECK(count_of(svg, "class=\"refused stroke1\"") == 2);  // a cross is two lines
  CHECK_THAT(svg, Contains("<title>b: does not fit</title>"));
  CHECK(svg == picture_svg(two_lines()));
}

TEST_CASE("lines are told apart without colour") {
  for (std::size_t i = 0; i < kMarks.size(); ++i)
    for (std::size_t other = 0; other < i; ++other) {
      INFO(i << " and " << other);
      CHECK(kDashes[i] != kDashes[other]);
      CHECK(kColours[i] != kColours[other]);
    }
}

TEST_CASE("data and Vega-Lite have every spot, and why one has no value") {
  CHECK(picture_csv(two_lines()) ==
        "gpu,link,time_s,error\na,1 GB/s,0.004,\na,2 GB/s,0.002,\na,4 GB/s,0.001,\nb,1 GB/s,0.006,\n"
        "b,2 GB/s,,does not fit\nb,4 GB/s,0.003,\n");
  const nlohmann::ordered_json spec = picture_vega(two_lines());
  CHECK(spec["$schema"] == "https://vega.github.io/schema/vega-lite/v5.json");
  const auto& values = spec["data"]["values"];
  REQUIRE(values.size() == 6);
  CHECK(values[4]["time_s"].is_null());
  CHECK(values[4]["error"] == "does not fit");
  CHECK(values[5]["_x"] == 4e9);
  CHECK(spec["layer"][0]["encoding"]["x"]["scale"]["type"] == "log");
  CHECK(spec["layer"][0]["encoding"]["color"]["scale"]["domain"] == nlohmann::ordered_json({"a", "b"}));
}

TEST_CASE("a heat map has a cell for each value, and a cross where there is none") {
  Picture picture = two_lines();
  picture.kind = PictureKind::kHeat;
  picture.rows_title = "gpu";
  picture.keys.clear();
  const std::string svg = picture_svg(picture);
  CHECK(count_of(svg, "class=\"cell\"") == 5);
  CHECK(count_of(svg, "class=\"refused\"") == 2);
  CHECK(heat_colour(0) == "#440154");
  CHECK(heat_colour(1) == "#fde725");
  CHECK((is_light(1) && !is_light(0)));
  CHECK(picture_vega(picture)["mark"]["type"] == "rect");
}

TEST_CASE("bars stand below one another or end to end") {
  Picture picture = two_lines();
  picture.kind = PictureKind::kStacks;
  picture.panels[0].x.ticks = {{0, "one"}, {1, "two"}};
  for (PictureSeries& series : picture.panels[0].series) {
    series.spots.resize(2);
    series.spots[0].x = 0, series.spots[1].x = 1;
    series.spots[0].y = 0.5, series.spots[1].y = 0.25;
  }
  const std::string stacked = picture_svg(picture);
  CHECK(count_of(stacked, "class=\"bar fill0\"") == 3);                  // two bars and the key
  CHECK_THAT(stacked, Contains(">1000 ms<") && Contains(">500.0 ms<"));  // 0.5 + 0.5 s, 0.25 + 0.25 s
  picture.kind = PictureKind::kBars;
  CHECK(count_of(picture_svg(picture), ">500.0 ms<") == 2);
}

TEST_CASE("widths are those of a screen or of paper") {
  const auto column = picture_look("column").value;
  REQUIRE(column);
  CHECK(column->width == Approx(3.33 * 72));
  CHECK(column->font == 8);
  CHECK_FALSE(column->has_title);
  CHECK(picture_look("84mm").value->width == Approx(84 / 25.4 * 72));
  CHECK(picture_look("3.3 in").value->width == Approx(3.3 * 72));
  CHECK(picture_look("800px").value->has_title);
  for (const char* wrong : {"", "wide", "3.3", "3.3 feet", "-3in", "0.1in", "1000in", "nanin"}) {
    INFO(wrong);
    CHECK_FALSE(picture_look(wrong).value);
  }
  CHECK_THAT(picture_svg(two_lines(), *column), Contains("width=\"239.76pt\"") && Contains("font-size: 8px"));
}

TEST_CASE("the front is what nothing else beats in time and memory") {
  const std::vector<TimeAndMemory> variants = {{"slow and small", 4, 10e9},
                                               {"fast and large", 1, 70e9},
                                               {"beaten", 5, 20e9},
                                               {"between", 2, 30e9},
                                               {"equal, but larger", 2, 31e9}};
  CHECK(front_of(variants) == std::vector<std::size_t>{1, 3, 0});
  const Picture picture = front_picture("plans", variants, 80e9);
  CHECK(picture.panels[0].series[0].spots.size() == 3);
  CHECK(picture.panels[0].series[1].spots.size() == 2);
  CHECK(picture.panels[0].rules.size() == 1);
  CHECK(picture.panels[0].x.unit.name == "GiB");
  CHECK(picture.panels[0].x.from_zero);
  CHECK_FALSE(front_picture("plans", {{"a", 10, 60e9}, {"b", 9, 61e9}}, std::nullopt).panels[0].y.from_zero);
  CHECK(front_picture("plans", variants, 800e9).panels[0].rules.empty());  // far beyond what is needed
  CHECK(count_of(picture_svg(picture), "class=\"label\"") >= 2);
}
