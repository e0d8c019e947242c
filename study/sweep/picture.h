// SPDX-License-Identifier: MIT
// The picture of a sweep: which of its axes is horizontal, which are colours, lines and panels, and which figure is
// drawn. Axes of quantities or numbers are horizontal, the first of them where none is named; the compared axis is
// colours; the next axis lines, told apart by marks and dashes (without a compared one by colour as well); the others
// are panels. A second axis of numbers with many values makes cells of a heat map, no axis of numbers bars.
#pragma once

#include <optional>
#include <span>

#include "report/plot/picture.h"
#include "study/sweep/sweep.h"

namespace orrery::study {

// Before there are results: throws InputError where no sweep like this has the picture.
void check_picture(const Sweep& sweep);

// The picture that is asked for; throws InputError where no point has the figure.
report::Picture sweep_picture(const Sweep& sweep, std::span<const SweepPoint> points);

// Time against memory of the points; nothing without a point that has both.
std::optional<report::Picture> memory_picture(const Sweep& sweep, std::span<const SweepPoint> points);

}  // namespace orrery::study
