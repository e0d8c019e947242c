// SPDX-License-Identifier: MIT
#include "cli/printed_figures.h"

#include <array>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/config/csv_lines.h"
#include "core/config/quantity_text.h"
#include "core/error.h"
#include "core/files/json.h"
#include "core/suggest.h"
#include "report/figures.h"
#include "workload/training/layers/layer_program.h"

namespace orrery::cli {
namespace {

using Json = nlohmann::ordered_json;

std::string exposed_name(std::string_view family) { return fmt::format("exposed.{}_s", family); }

// Figures that the document of a run has not, and parts of an iteration by family, mean over ranks; those that a job of
// its kind may have, but this one has not, are zero.
std::map<std::string, Json> figures_beside(const report::Result& result) {
  const report::FigureSource source = report::figure_source(result);
  std::map<std::string, Json> beside;
  for (const auto& [name, value] : report::figure_values(source)) beside[name] = report::to_json(value);
  for (std::size_t family = 0; family < workload::kGroupFamilyCount; ++family)
    beside[exposed_name(workload::name_of(static_cast<workload::GroupFamily>(family)))] = 0.0;
  beside[exposed_name("pipeline")] = 0.0;
  for (const report::Part& part : source.parts)
    if (part.kind == report::PartKind::kCommunication) beside[exposed_name(part.family)] = part.seconds;
  return beside;
}

// Value at `path` in the document; null if there is none.
const Json* find(const Json& document, std::string_view path) {
  const Json* at = &document;
  while (!path.empty()) {
    const std::size_t dot = path.find('.');
    const std::string key(path.substr(0, dot));
    const auto index = parse_whole_number(key);
    if (at->is_object() && at->contains(key))
      at = &(*at)[key];
    else if (at->is_array() && index && *index >= 0 && static_cast<std::size_t>(*index) < at->size())
      at = &(*at)[static_cast<std::size_t>(*index)];
    else
      return nullptr;
    path = dot == std::string_view::npos ? std::string_view() : path.substr(dot + 1);
  }
  return at;
}

std::string text_of(const Json& value, bool as_csv) {
  if (!value.is_string()) return dump_json(value);
  const std::string text = printable(value.get<std::string>(), SIZE_MAX);
  return as_csv ? csv_cell(text) : text;
}

// Sections of the document of a run that options of `run` make.
constexpr std::array<std::pair<std::string_view, std::string_view>, 5> kMadeByOptions = {
    {{"critical_path", "--critical-path"},
     {"slack", "--critical-path"},
     {"undisturbed_s", "--cost"},
     {"launcher", "--launcher-flags NAME"},
     {"seeds", "--seeds N"}}};
// Commands whose figures they are.
constexpr std::array<std::pair<std::string_view, std::string_view>, 4> kOfCommands = {
    {{"goodput", "orrery goodput"},
     {"points", "orrery sweep"},
     {"plans", "orrery search"},
     {"sensitivity", "orrery explain"}}};

// Figure by one of its names, or by a part of them: "energy" of energy_kwh.
const report::Figure* figure_like(std::string_view name) {
  const report::Figure* like = nullptr;
  for (const report::Figure& figure : report::figures()) {
    if (figure.name() == name || figure.full_path() == name || figure.column_name() == name) return &figure;
    const bool is_better = like == nullptr || (like->key.empty() && !figure.key.empty());
    if (is_better && figure.name().starts_with(name)) like = &figure;
  }
  return like;
}

// Refuses what this job has not, but another job, option or command would give.
void refuse_what_others_make(std::string_view name, const std::map<std::string, Json>& beside) {
  const std::string_view first = name.substr(0, name.find('.'));
  const auto refuse = [&](std::string hint) {
    throw InputError({"--print"}, fmt::format("this run has no '{}'", printable(name, 60)), std::move(hint));
  };
  for (const auto& [section, option] : kMadeByOptions)
    if (first == section) refuse(fmt::format("{} makes it; --json FILE has it then", option));
  for (const auto& [section, command] : kOfCommands)
    if (first == section) refuse(fmt::format("it is a figure of `{}`", command));
  const report::Figure* figure = name.empty() ? nullptr : figure_like(name);
  if (figure == nullptr) return;
  if (beside.contains(figure->name())) refuse(fmt::format("did you mean '{}'?", figure->name()));
  refuse(fmt::format("{}: {}", figure->name(), figure->needed()));
}

// The first figures in a section.
std::string several_hint(std::string_view name, const Json& value) {
  constexpr std::size_t kShown = 4;
  std::vector<std::string> below;
  if (value.is_object())
    for (const auto& [key, one] : value.items())
      if (one.is_primitive() && below.size() < kShown) below.push_back(fmt::format("{}.{}", name, key));
  return below.empty() ? "--json prints all of it"
                       : fmt::format("such as {}; --json prints all of it", fmt::join(below, ", "));
}

[[noreturn]] void refuse_unknown(const std::string& name, const Json& document,
                                 const std::map<std::string, Json>& beside) {
  refuse_what_others_make(name, beside);
  std::vector<std::string> names;
  for (const auto& [key, value] : document.items())
    if (value.is_primitive()) names.push_back(key);
  for (const auto& [key, value] : beside)
    if (!document.contains(key)) names.push_back(key);
  throw InputError({"--print"}, fmt::format("unknown figure '{}'", printable(name, 60)), suggestion(name, names));
}

}  // namespace

std::string printed_figures(const std::vector<std::string>& names, bool as_csv, const Json& document,
                            const report::Result& result) {
  const std::map<std::string, Json> beside = figures_beside(result);
  std::string text;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const std::string& name = names[i];
    Json value;
    if (const auto figure = beside.find(name); figure != beside.end())
      value = figure->second;
    else if (const Json* found = name.empty() ? nullptr : find(document, name))
      value = *found;
    else
      refuse_unknown(name, document, beside);
    if (value.is_structured())
      throw InputError({"--print"}, fmt::format("'{}' is not one figure but several", printable(name, 60)),
                       several_hint(name, value));
    text += as_csv ? fmt::format("{}{}", i == 0 ? "" : ",", text_of(value, true))
                   : fmt::format("{} {}\n", name, text_of(value, false));
  }
  return as_csv ? text + "\n" : text;
}

}  // namespace orrery::cli
