// SPDX-License-Identifier: MIT
// The lines of a sweep's table: points side by side that differ along the compared axis only, one in place of those
// that differ along the aggregated axis only; those that are wanted, in the order that is wanted.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "study/sweep/sweep.h"

namespace orrery::study {

// Points that differ along the aggregated axis only, else one.
struct SweepCell {
  std::vector<std::size_t> points;  // those that ran, the fastest first; if none did, one that did not
  // Median point, which stands for all.
  std::size_t median() const { return points[(points.size() - 1) / 2]; }
};
using SweepLine = std::vector<SweepCell>;  // by compared value, where these stand side by side, else one

struct SweepLines {
  std::optional<std::size_t> across;  // the axis whose values stand side by side
  std::optional<SweepCell> first;     // that others are relative to, where lines are compared with one another
  std::vector<SweepLine> lines;
};

// Before there are results: throws InputError where no result can have what is asked for.
void check_view(const Sweep& sweep);

// Throws InputError where figures that are asked for are not there.
SweepLines lines_of(const Sweep& sweep, std::span<const SweepPoint> points);

// Spread of a cell's iteration times; a quantile is the least time that this share of them does not exceed.
struct TimeSpread {
  Duration mean{};
  Duration median{};
  Duration p99{};
  Duration most{};
};
TimeSpread spread_of(const SweepCell& cell, std::span<const SweepPoint> points);

}  // namespace orrery::study
