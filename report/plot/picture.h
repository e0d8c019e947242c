// SPDX-License-Identifier: MIT
// A picture as data: axes, panels, series and their values. Its SVG, its Vega-Lite specification, its place in a page
// and its table of values are made from this and from nothing else.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "core/config/quantity_text.h"
#include "report/plot/axis.h"
#include "report/plot/svg.h"

namespace orrery::report {

inline constexpr double kNoValue = std::numeric_limits<double>::quiet_NaN();

struct PictureAxis {
  std::string title;  // without the unit
  std::string field;  // name of its column in data
  Unit unit{};        // in which labels are written; values are in base units
  bool is_logarithmic = false;
  bool from_zero = true;      // of a linear one
  std::vector<Tick> ticks{};  // labels, ascending; none: round numbers
};

struct PictureSpot {
  double x = 0;
  double y = kNoValue;
  double low = kNoValue, high = kNoValue;  // extent of what y stands for, as over seeds
  std::string name{};                      // of Picture::name_field
  std::string text{};                      // x as it was written; empty: its number
  std::string label{};                     // beside it, where there is room
  std::string note{};                      // what a reader of the page is told of it
  std::string error{};                     // why there is no y
};

// kLine: marks on a line. kMarks: marks alone. kBound: a grey line that nothing can pass.
enum class SeriesShape : std::uint8_t { kLine, kMarks, kBound };

struct PictureSeries {
  std::string name;
  SeriesShape shape = SeriesShape::kLine;
  std::size_t colour = 0, mark = 0;   // numbers of styles
  std::vector<std::string> values{};  // of Picture::fields
  std::vector<PictureSpot> spots{};   // by x, ascending
};

// A line across a panel at a value of x, with its name.
struct PictureRule {
  double at = 0;
  std::string name;
};

struct PicturePanel {
  std::string title{};
  PictureAxis x{}, y{};
  std::vector<PictureSeries> series{};
  std::vector<PictureRule> rules{};
};

// Explanation of styles: a title, and of each style its name. One of colour alone has no mark, and the other way round.
struct PictureKey {
  struct Entry {
    std::string name;
    std::optional<std::size_t> colour{}, mark{};
    SeriesShape shape = SeriesShape::kLine;
    bool is_refused = false;  // the cross of a spot without a value
  };
  std::string title{};
  std::vector<Entry> entries{};
};

// kCurves: y over x. kBars: a bar to the right for each tick of x, in it or below one another for each series. kStacks:
// the same one behind the other. kHeat: a cell for each tick of x and each series, whose colour is y.
enum class PictureKind : std::uint8_t { kCurves, kBars, kStacks, kHeat };

struct Picture {
  PictureKind kind = PictureKind::kCurves;
  std::string title;
  std::vector<std::string> captions{};
  std::vector<std::string> fields{};             // columns in data that tell series apart
  std::string name_field{};                      // column of the spots' names; empty: they have none
  std::string rows_title{};                      // of kHeat: what the series are
  std::size_t colour_field = 0, mark_field = 0;  // of `fields`, that colour and marks stand for
  std::vector<PicturePanel> panels{};
  std::vector<PictureKey> keys{};

  bool is_empty() const;  // no spot has a value
};

// Keys of series that each have a style of their own: all that are in a panel, each name once.
PictureKey key_of_series(const std::vector<PicturePanel>& panels);

// Form of a file. `width` and sizes of letters are in its unit.
struct PictureLook {
  double width = 800;
  double font = 12;
  SvgUnit unit = SvgUnit::kPixels;
  bool has_title = true;    // and captions
  bool is_in_page = false;  // takes colours from the page around it
};

// "800px" for a screen; "column" (3.33 in), "2-column" (7 in), "3.3in", "84mm", "8.4cm", "240pt" for paper: letters of
// 8 points, without title and captions, which the paper has.
Parsed<PictureLook> picture_look(std::string_view width);

std::string picture_svg(const Picture& picture, const PictureLook& look = {});
// The specification, with all values in it.
nlohmann::ordered_json picture_vega(const Picture& picture);
// A line for each spot.
std::string picture_csv(const Picture& picture);
// `title`, `heading`, `about`, `captions`, `wide` and `narrow` (SVG), `data` (CSV).
nlohmann::ordered_json picture_for_page(const Picture& picture);

}  // namespace orrery::report
