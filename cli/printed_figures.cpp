// SPDX-License-Identifier: MIT
#include "cli/printed_figures.h"

#include <array>
#include <map>
#include <optional>
#include <string_view>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/config/csv_lines.h"
#include "core/config/quantity_text.h"
#include "core/error.h"
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
  if (!value.is_string()) return value.dump();
  const std::string text = printable(value.get<std::string>(), SIZE_MAX);
  return as_csv ? csv_cell(text) : text;
}

[[noreturn]] void refuse_unknown(const std::string& name, const Json& document,
                                 const std::map<std::string, Json>& beside) {
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
                       "--json prints all of it");
    text += as_csv ? fmt::format("{}{}", i == 0 ? "" : ",", text_of(value, true))
                   : fmt::format("{} {}\n", name, text_of(value, false));
  }
  return as_csv ? text + "\n" : text;
}

}  // namespace orrery::cli
