// SPDX-License-Identifier: MIT
// A sweep as its file describes it: one experiment, and axes along which keys of it vary. Every combination of their
// values is a point. docs/sweeps.md has the keys.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/config/config.h"
#include "study/constraint.h"

namespace orrery::study {

// One value of a key: `path` as in --set.
struct SweepSetting {
  std::string path;
  ConfigValue value;
};

// Settings that one value of an axis makes at once.
struct SweepChoice {
  std::string label;
  Location where;
  std::vector<SweepSetting> settings;
};

struct SweepAxis {
  std::string name;
  Location where;
  std::vector<SweepChoice> choices;
};

// Layout of a sweep's table, and the part of it that is shown.
struct SweepLayout {
  std::optional<std::size_t> compared;    // the axis that is laid out in columns
  std::optional<std::size_t> aggregated;  // the axis, as of seeds, whose points are one: their mean, quantiles, maximum
  std::vector<std::string> columns;       // names of sweep_columns() (study/sweep/columns.h)
  std::vector<Constraint> where;          // of what comes out, too: lines that are shown
  std::string sort;                       // by this figure; "": in the order of the points
  Location sort_where{};
  std::optional<std::size_t> top;  // so many lines
};

// Kind of a sweep's picture: curves over an axis, cells over two, bars, or time against memory.
enum class SweepDrawing : std::uint8_t { kCurves, kHeat, kBars, kMemory };
inline constexpr std::array<std::string_view, 4> kSweepDrawingNames = {"curves", "heat", "bars", "memory"};

enum class SweepScale : std::uint8_t { kLinear, kLogarithmic };

// The picture that is asked for; what is not said follows from the axes (study/sweep/picture.h).
struct SweepPictureChoice {
  std::string figure = "iteration_time_s";  // key or column of a figure
  Location figure_where{};
  std::vector<std::size_t> over;      // axes: a panel for each of several
  Location over_where{};
  std::optional<std::size_t> panels;  // the axis with a panel for each value
  Location panels_where{};
  std::optional<SweepDrawing> drawing;
  SweepScale scale = SweepScale::kLinear;  // of the vertical axis
};

inline constexpr std::size_t kMostPoints = 100'000;  // combinations of axes

struct Sweep {
  std::string file;
  std::string title;
  ConfigValue experiment;
  std::vector<SweepAxis> axes;  // the first is the slowest
  SweepLayout layout;
  SweepPictureChoice picture;
  std::vector<std::size_t> kept;  // of all combinations those that are points; empty: all

  std::size_t point_count() const { return kept.empty() ? combinations() : kept.size(); }
  std::size_t combinations() const;
  // Choices of a point: one index for each axis.
  std::vector<std::size_t> choices_of(std::size_t point) const {
    return choices_of_combination(kept.empty() ? point : kept[point]);
  }
  std::vector<std::size_t> choices_of_combination(std::size_t number) const;
  std::vector<std::string> axis_names() const;
  const std::string& label(std::size_t axis, const std::vector<std::size_t>& choices) const {
    return axes[axis].choices[choices[axis]].label;
  }
};

// Reads `file`; the `settings` (a.b=v) change the experiment of all points. Throws InputError with all problems.
Sweep load_sweep(const std::string& file, const std::vector<std::string>& settings, const ConfigFiles& files);

// View from the command line, which replaces the file's layout; throws InputError.
struct SweepView {
  std::string sort{};
  std::vector<std::string> show{};
  std::vector<std::string> where{};  // beside the file's; also of points
  std::optional<std::size_t> top{};
};
void change_view(Sweep& sweep, const SweepView& view);

// The picture from the command line, likewise.
struct SweepPictureView {
  std::string figure{};
  std::vector<std::string> over{};
  std::string panels{};
  std::string draw{};   // of kSweepDrawingNames
  std::string scale{};  // "linear" or "log"
};
void change_picture(Sweep& sweep, const SweepPictureView& view);

// The experiment of a point, as read_experiment() takes it.
ConfigValue configuration_of(const Sweep& sweep, std::size_t point, const ConfigFiles& files, Diagnostics& diagnostics);

// The keys of a sweep, in the order of the reader.
std::vector<KeyDescription> describe_sweep(const ConfigFiles& files);

}  // namespace orrery::study
