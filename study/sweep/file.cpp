// SPDX-License-Identifier: MIT
#include "study/sweep/file.h"

#include <algorithm>
#include <array>
#include <set>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/config/other_names.h"
#include "core/config/relative.h"
#include "core/files/json.h"
#include "core/suggest.h"
#include "experiment/experiment.h"
#include "experiment/files/file_kinds.h"
#include "experiment/recorded_run.h"
#include "study/sweep/data.h"
#include "study/sweep/layout.h"

namespace orrery::study {
namespace {

using Kind = ConfigValue::Kind;

// "8", "dgx-a100"; what is no plain value in the notation of JSON.
std::string label_of(const ConfigValue& value) {
  return value.kind == Kind::kScalar ? printable(value.scalar) : dump_json(to_json(value));
}

// `labels`: of the axis so far.
void add_choice(SweepAxis& axis, std::set<std::string>& labels, SweepChoice choice, Diagnostics& diagnostics) {
  if (!labels.insert(choice.label).second)
    return diagnostics.error(choice.where, fmt::format("'{}' stands twice on the axis '{}'", choice.label, axis.name),
                             "keep one of them");
  axis.choices.push_back(std::move(choice));
}

// `values` as a range: a list of them, all standing where the range does.
std::optional<ConfigValue> read_range(Section& section) {
  std::string from, to, factor;
  const Location where = section.where("values");
  std::optional<ConfigValue> list;
  section.repeated_section("values", "the same as a range: a value, that times `factor`, and so on",
                           [&](Section& range) {
                             range.needs("from", from, "first value: a quantity, a number, or relative as `x0.5`");
                             range.needs("to", to, "largest value, if the steps come to it");
                             range.needs("factor", factor, "what each value is multiplied by, above 1");
                             if (!range.sound()) return;
                             const Parsed<std::vector<std::string>> values = geometric_range(from, to, factor);
                             if (!values.value) return section.error("values", values.problem, values.hint);
                             list = ConfigValue{Kind::kList, where, {}, {}, {}};
                             for (const std::string& value : *values.value)
                               list->items.push_back({Kind::kScalar, where, value, {}, {}});
                           });
  return list;
}

// An axis over one key.
void read_values(Section& section, const std::optional<std::string>& key, SweepAxis& axis) {
  const ConfigValue* values = section.raw("values", "list", "required with `key`",
                                          "what it is set to, point by point; `x2`: twice what the experiment has");
  std::optional<ConfigValue> range;
  const bool is_range = values != nullptr && values->kind == Kind::kMap;
  section.when(is_range, [&] { range = read_range(section); });
  if (values == nullptr || !key || (is_range && !range)) return;
  if (range) values = &*range;
  if (values->kind != Kind::kList || values->items.empty())
    return section.error("values", fmt::format("'{}.values' must be a list of values", section.path()),
                         "an axis has at least one value: [8, 16]");
  Diagnostics& diagnostics = section.context().diagnostics();
  std::set<std::string> labels;
  for (const ConfigValue& value : values->items) {
    if (value.kind == Kind::kNull)
      diagnostics.error(value.where, fmt::format("a value of the axis '{}' is missing", axis.name));
    else
      add_choice(axis, labels, {label_of(value), value.where, {{plain_path(*key), value}}}, diagnostics);
  }
}

bool is_blank(std::string_view text) { return text.find_first_not_of(" \t\r\n") == std::string_view::npos; }

// An axis over several keys at once.
void read_settings(Section& section, SweepAxis& axis) {
  Diagnostics& diagnostics = section.context().diagnostics();
  std::set<std::string> labels;
  section.map("settings", "LABEL", "with `name`: what it sets at once, by the label in the table",
              [&](const ConfigEntry& entry, Section& setting) {
                setting.raw("<KEY>", "any", "optional", "a path as in --set, and what it is set to");
                if (is_blank(entry.key))
                  diagnostics.error(entry.where, fmt::format("a setting of the axis '{}' has no label", axis.name),
                                    "the label stands in tables: settings: {LABEL: {...}}");
                SweepChoice choice{printable(entry.key), entry.where, {}};
                for (const ConfigEntry& key : entry.value.entries) {
                  setting.know(key.key);
                  if (key.value.kind == Kind::kNull)
                    diagnostics.error(key.where, fmt::format("'{}' has no value", printable(key.key)));
                  choice.settings.push_back({plain_path(key.key), key.value});
                }
                add_choice(axis, labels, std::move(choice), diagnostics);
              });
}

void read_axis(Section& section, SweepAxis& axis) {
  axis.where = section.where();
  const auto key = section.maybe<std::string>("key", "of the experiment that varies: a path as in --set");
  const auto name = section.maybe<std::string>("name", "of the axis; with `key`, by default the end of its path");
  if (key && name && is_blank(*name))
    section.error("name", "the 'name' of an axis is empty", "leave it out: the end of 'key' names the axis, too");
  axis.name = printable(name ? *name : key ? split_key_path(*key).back() : "");
  read_values(section, key, axis);
  read_settings(section, axis);
  const bool has_values = section.has("values");
  const bool has_settings = section.has("settings");
  if (has_values == has_settings)
    return section.error("", "an axis has either 'key' and 'values', or 'name' and 'settings'");
  if (has_values && !key) section.error("values", "'values' without the 'key' that takes them");
  if (has_settings && key)
    section.error("key", "'key' does not go with 'settings'", "name the axis by 'name'; its settings name their keys");
  if (has_settings && !key && is_blank(axis.name)) section.error("settings", "an axis of settings has no 'name'");
  if (has_settings && axis.choices.empty()) section.error("settings", "an axis has at least one setting");
}

// Data bases do not tell columns apart by it.
std::string lower_case(std::string text) {
  std::ranges::transform(text, text.begin(),
                         [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  return text;
}

void read_axes(Section& section, Sweep& sweep) {
  section.list("vary", "the axes; every combination of their values is a point, the first axis is the slowest",
               [&](Section& axis) { read_axis(axis, sweep.axes.emplace_back()); });
  if (sweep.axes.empty() && (!section.has("vary") || section.value("vary")->kind == Kind::kList))
    section.error("vary", "'vary' has no axis", "vary: [{key: nodes, values: [1, 2]}]");
  Diagnostics& diagnostics = section.context().diagnostics();
  std::size_t points = 1;
  for (std::size_t i = 0; i < sweep.axes.size(); ++i) {
    const SweepAxis& axis = sweep.axes[i];
    const auto same = std::ranges::find(sweep.axes, lower_case(axis.name),
                                        [](const SweepAxis& other) { return lower_case(other.name); });
    if (!axis.name.empty() && same - sweep.axes.begin() < static_cast<std::ptrdiff_t>(i))
      diagnostics.error(axis.where, fmt::format("two axes are called '{}'", axis.name), "give one of them a 'name'");
    if (is_point_column(lower_case(axis.name)))
      diagnostics.error(axis.where,
                        fmt::format("an axis cannot be called '{}', as a figure of points.csv is", axis.name),
                        "give it another 'name'");
    points *= std::max<std::size_t>(axis.choices.size(), 1);
    if (points > kMostPoints)
      return diagnostics.error(axis.where, fmt::format("more than {} points", kMostPoints), "vary less at once");
  }
}

// True if setting `path` replaces all of `other`, or is the same path.
bool covers(std::string_view path, std::string_view other) {
  const std::vector<std::string> parts = split_key_path(path);
  const std::vector<std::string> others = split_key_path(other);
  return parts.size() <= others.size() && std::equal(parts.begin(), parts.end(), others.begin());
}

// The setting of the axis that would undo one of `path`; null if none does.
const SweepSetting* undone_by(const SweepAxis& axis, std::string_view path) {
  for (const SweepChoice& choice : axis.choices)
    for (const SweepSetting& setting : choice.settings)
      if (covers(setting.path, path)) return &setting;
  return nullptr;
}

// Reports a setting that takes back another of the same point.
void check_choice(const SweepChoice& choice, Diagnostics& diagnostics) {
  for (std::size_t later = 1; later < choice.settings.size(); ++later)
    for (std::size_t i = 0; i < later; ++i) {
      const SweepSetting& other = choice.settings[later];
      if (covers(other.path, choice.settings[i].path))
        diagnostics.error(other.value.where,
                          fmt::format("'{}' would undo '{}', which stands before it", printable(other.path),
                                      printable(choice.settings[i].path)),
                          "set it first, or put the one into the other");
    }
}

// No axis takes back what an earlier one sets: the labels of its points would be wrong.
void check_axes(const Sweep& sweep, Diagnostics& diagnostics) {
  std::set<std::pair<std::size_t, std::string>> told;
  for (std::size_t i = 0; i < sweep.axes.size(); ++i)
    for (const SweepChoice& choice : sweep.axes[i].choices) {
      check_choice(choice, diagnostics);
      for (const SweepSetting& setting : choice.settings)
        for (std::size_t later = i + 1; later < sweep.axes.size(); ++later) {
          const SweepSetting* other = undone_by(sweep.axes[later], setting.path);
          if (other == nullptr || !told.insert({later, other->path}).second) continue;
          diagnostics.error(
              other->value.where,
              fmt::format("axis '{}' sets '{}', which would undo '{}' of axis '{}'", sweep.axes[later].name,
                          printable(other->path), printable(setting.path), sweep.axes[i].name),
              "vary a key on one axis only");
        }
    }
}

void read_sweep(Section& section, Sweep& sweep) {
  sweep.title = printable(section.maybe<std::string>("title", "printed above the table").value_or(""), 300);
  const ConfigValue* shared =
      section.raw("experiment", "map, path or name in studies", "required",
                  "what all points share: an experiment, or the path of a result, complete once the keys that vary are "
                  "set");
  read_axes(section, sweep);
  read_layout(section, sweep);
  section.note("source", "where the figures come from");
  if (shared == nullptr) {
    if (!section.has("experiment"))
      section.error("experiment", "'experiment' is missing", "what all points share, as in docs/config.md");
    return;
  }
  sweep.experiment = *shared;
  Diagnostics& diagnostics = section.context().diagnostics();
  const std::string& name = shared->scalar;
  const std::string path = looks_like_path(name) ? path_from(shared->where.file, name).string() : std::string();
  if (auto recorded = path.empty() ? std::nullopt : experiment::load_recorded_run(path, section.context().files()))
    sweep.experiment = std::move(recorded->experiment);
  else if (shared->kind == Kind::kScalar)
    section.context().files().expand(sweep.experiment, "studies", diagnostics);
  spell_out_names(sweep.experiment, section.context().files(), diagnostics);
  if (shared->kind == Kind::kList) section.error("experiment", "'experiment' is a list; a map of keys is expected");
  if (experiment::file_kind(sweep.experiment) == experiment::FileKind::kSweep)
    return section.error("experiment", "'experiment' is itself a sweep; one experiment is expected",
                         "name the experiment of that sweep, and add its axes here");
  if (sweep.combinations() <= kMostPoints) check_axes(sweep, diagnostics);
}

// For all points, so that no axis may take it back.
void change_experiment(Sweep& sweep, const std::string& setting, const ConfigFiles& files, Diagnostics& diagnostics) {
  const std::string path = plain_path(path_of_setting(setting));
  for (const SweepAxis& axis : sweep.axes)
    if (undone_by(axis, path) != nullptr)
      return diagnostics.error({"--set " + printable(setting)},
                               fmt::format("'{}' varies along the axis '{}'", printable(path), axis.name),
                               "change the values of the axis in the file");
  apply_setting(sweep.experiment, setting, files, diagnostics, experiment::resolver(sweep.file, files));
}

}  // namespace

std::size_t Sweep::combinations() const {
  std::size_t count = 1;
  for (const SweepAxis& axis : axes) count *= axis.choices.size();
  return count;
}

std::vector<std::size_t> Sweep::choices_of_combination(std::size_t number) const {
  std::vector<std::size_t> choices(axes.size());
  for (std::size_t i = axes.size(); i-- > 0; number /= axes[i].choices.size())
    choices[i] = number % axes[i].choices.size();
  return choices;
}

std::vector<std::string> Sweep::axis_names() const {
  std::vector<std::string> names;
  for (const SweepAxis& axis : axes) names.push_back(axis.name);
  return names;
}

Sweep load_sweep(const std::string& file, const std::vector<std::string>& settings, const ConfigFiles& files) {
  experiment::refuse_other_than_sweeps(file, files);
  Diagnostics diagnostics;
  ConfigValue root = files.load(file, {}, diagnostics);
  diagnostics.throw_if_errors();
  Sweep sweep;
  sweep.file = file;
  ConfigContext context(files, diagnostics);
  read_config(root, context, [&](Section& section) { read_sweep(section, sweep); });
  diagnostics.throw_if_errors();
  for (const std::string& setting : settings) change_experiment(sweep, setting, files, diagnostics);
  diagnostics.throw_if_errors();
  return sweep;
}

ConfigValue configuration_of(const Sweep& sweep, std::size_t point, const ConfigFiles& files,
                             Diagnostics& diagnostics) {
  ConfigValue root = sweep.experiment;
  const std::vector<std::size_t> choices = sweep.choices_of(point);
  for (std::size_t axis = 0; axis < sweep.axes.size(); ++axis)
    for (const SweepSetting& setting : sweep.axes[axis].choices[choices[axis]].settings)
      set_value(root, setting.path, setting.value, files, diagnostics, experiment::resolver(sweep.file, files));
  return root;
}

std::vector<KeyDescription> describe_sweep(const ConfigFiles& files) {
  Sweep sweep;
  return list_keys(files, [&](Section& section) { read_sweep(section, sweep); });
}

}  // namespace orrery::study
