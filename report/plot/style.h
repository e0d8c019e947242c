// SPDX-License-Identifier: MIT
// Styles of series: told apart by colour, by dash and by mark, so that they are in grey as well.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "report/plot/picture.h"

namespace orrery::report {

// Colours of Okabe and Ito, and two between them: readers with any colour vision tell them apart.
inline constexpr std::array<std::string_view, 8> kColours = {"#0072b2", "#d55e00", "#009e73", "#cc79a7",
                                                             "#b8860b", "#56b4e9", "#7b6fd0", "#8a5a44"};
// Width in lengths of the font, over ten.
inline constexpr std::array<std::string_view, 8> kDashes = {"none", "6 3", "2 2",  "8 3 2 3",
                                                            "4 2",  "1 3", "10 4", "5 2 1 2"};
// Names of Vega's shapes.
inline constexpr std::array<std::string_view, 8> kMarks = {"circle", "square",        "triangle-up", "diamond",
                                                           "cross",  "triangle-down", "circle",      "square"};

// Numbers from 0 to 7; the marks of the last two are hollow.
inline std::size_t style_number(std::size_t number) { return number % kColours.size(); }

// The mark of a series whose colour is this one: no two of the first 64 have both in common.
inline std::size_t mark_beside(std::size_t colour) { return colour + colour / kColours.size(); }

// The style sheet of all pictures.
std::string picture_styles(const PictureLook& look);

// Draws mark `mark` at a spot in the colour `colour`, or that of text.
void draw_mark(Svg& svg, Spot at, double size, std::optional<std::size_t> colour, std::size_t mark);

// About as wide as the text is, in a font without serifs.
double text_width(std::string_view text, double font);
// Cuts the text to what fits, with an ellipsis.
std::string fitting(std::string_view text, double width, double font);

// Parts from 0 to 255.
struct Colour {
  double red = 0, green = 0, blue = 0;

  std::string text() const;  // "#440154"
};

// "#440154" for 0 to "#fde725" for 1, lighter all the way (viridis, by S. van der Walt and N. Smith, CC0).
std::string heat_colour(double share);
// True if dark letters are read on it.
bool is_light(double share);

}  // namespace orrery::report
