// SPDX-License-Identifier: MIT
// A sweep as its file describes it: one experiment, and axes along which keys of it vary. Every combination of their
// values is a point. docs/sweeps.md has the keys.
#pragma once

#include <cstddef>
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

inline constexpr std::size_t kMostPoints = 100'000;  // combinations of axes

struct Sweep {
  std::string file;
  std::string title;
  ConfigValue experiment;
  std::vector<SweepAxis> axes;  // the first is the slowest
  SweepLayout layout;
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

// The experiment of a point, as read_experiment() takes it.
ConfigValue configuration_of(const Sweep& sweep, std::size_t point, const ConfigFiles& files, Diagnostics& diagnostics);

// The keys of a sweep, in the order of the reader.
std::vector<KeyDescription> describe_sweep(const ConfigFiles& files);

}  // namespace orrery::study
