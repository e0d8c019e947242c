// SPDX-License-Identifier: MIT
// Drawings of the schedule of a pipeline: a row for each stage, a box for each pass, scaled to time; as a picture for a
// paper, and as text for a terminal.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "report/passes/passes.h"
#include "report/plot/picture.h"

namespace orrery::report {

// Passes of the first iteration, or of all where they run into one another. The text of an SVG file of this look, whose
// letters in boxes are smaller by an eighth. The caption, which has the bubble, is always there. Boxes say what they
// are in attributes: data-kind (F, B, W), data-micro, data-chunk, data-stage, data-virtual-stage, data-iteration, and
// data-start-ps, data-end-ps.
std::string schedule_svg(const Passes& passes, const PictureLook& look);

// Draws the same as text, in lines as wide as the screen. Where there are more passes in a row than columns, or more rows
// than a terminal shows, one line that says so.
std::string schedule_text(const Passes& passes);

// Half of a stage's row in which a pass is drawn.
enum class Lane : std::uint8_t { kWhole, kUpper, kLower };

// Lists the lane of each pass: a half where it runs beside another, forward passes above, else the whole row.
std::vector<Lane> lanes_of(const RankPasses& rank);

}  // namespace orrery::report
