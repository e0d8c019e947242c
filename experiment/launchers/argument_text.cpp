// SPDX-License-Identifier: MIT
// Arguments as the text of a file, and TOML as a tree.
#include <toml++/toml.h>

#include <algorithm>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <nlohmann/json.hpp>

#include "core/files/json.h"
#include "experiment/launchers/argument_files.h"

namespace orrery::experiment {
namespace {

Location place_of(const toml::source_region& source, const std::string& file) {
  return {file, static_cast<int>(source.begin.line), static_cast<int>(source.begin.column)};
}

std::string scalar_text(const toml::node& node) {
  if (const auto* text = node.as_string()) return text->get();
  if (const auto* truth = node.as_boolean()) return truth->get() ? "true" : "false";
  if (const auto* whole = node.as_integer()) return std::to_string(whole->get());
  if (const auto* real = node.as_floating_point()) return fmt::format("{}", real->get());
  std::ostringstream text;
  node.visit([&](const auto& date) {
    if constexpr (toml::is_date<decltype(date)> || toml::is_time<decltype(date)> || toml::is_date_time<decltype(date)>)
      text << date.get();
  });
  return text.str();
}

constexpr std::size_t kMostTomlValues = 1'000'000;

// `left`: how many values more there may be. Throws InputError.
ConfigValue tree_of_toml(const toml::node& node, const std::string& file, std::size_t& left) {
  ConfigValue value;
  value.where = place_of(node.source(), file);
  if (left-- == 0) throw InputError(value.where, fmt::format("more than {} values", kMostTomlValues));
  if (const toml::table* table = node.as_table()) {
    value.kind = ConfigValue::Kind::kMap;
    for (const auto& [key, member] : *table)
      value.entries.push_back({std::string(key.str()), place_of(key.source(), file), tree_of_toml(member, file, left)});
    // Tables are sorted by name; files are read in their order.
    value.entries.sort([](const ConfigEntry& a, const ConfigEntry& b) {
      return std::pair(a.where.line, a.where.column) < std::pair(b.where.line, b.where.column);
    });
  } else if (const toml::array* array = node.as_array()) {
    value.kind = ConfigValue::Kind::kList;
    for (const toml::node& item : *array) value.items.push_back(tree_of_toml(item, file, left));
  } else {
    value.kind = ConfigValue::Kind::kScalar;
    value.scalar = scalar_text(node);
  }
  return value;
}

// The first line with so many points that a key of as many parts may be in it, which the parser's and the tree's
// recursions have no stack for; 0 if there is none.
int line_of_points(std::string_view text) {
  constexpr std::ptrdiff_t kMostPoints = 1000;
  int line = 1;
  for (std::size_t start = 0; start < text.size(); ++line) {
    const std::size_t end = std::min(text.find('\n', start), text.size());
    if (std::ranges::count(text.substr(start, end - start), '.') > kMostPoints) return line;
    start = end + 1;
  }
  return 0;
}

using FileJson = nlohmann::ordered_json;

bool is_option(const LauncherArgument& argument) { return argument.name.starts_with("--"); }

FileJson value_of(const ArgumentRow& row, const LauncherArgument& argument) {
  if (row.shape == ArgumentShape::kList) return argument.values;
  if (row.shape == ArgumentShape::kAny) {  // lists of lists
    FileJson list = FileJson::array();
    for (const std::string& value : argument.values) list.push_back(parse_json<FileJson>(value));
    return list;
  }
  if (argument.values.empty()) return true;
  const std::string& text = argument.values.front();
  const bool is_bare =
      row.shape == ArgumentShape::kSwitch || row.shape == ArgumentShape::kNumber || row.shape == ArgumentShape::kReal;
  return is_bare ? parse_json<FileJson>(text) : FileJson(text);
}

}  // namespace

ConfigValue parse_toml(std::string_view text, const std::string& file, Diagnostics& diagnostics) {
  if (const int line = line_of_points(text); line > 0) {
    diagnostics.error({file, line}, "not TOML that is read: a line with more than 1000 points",
                      "shorter keys, or a list on several lines");
    return {ConfigValue::Kind::kMap, {file}, {}, {}, {}};
  }
  try {
    std::size_t left = kMostTomlValues;
    return tree_of_toml(toml::parse(text, file), file, left);
  } catch (const InputError& error) {
    for (const Problem& problem : error.problems()) diagnostics.error(problem.where, problem.message, problem.hint);
  } catch (const toml::parse_error& error) {
    diagnostics.error(place_of(error.source(), file), fmt::format("not TOML: {}", printable(error.description(), 200)));
  }
  return {ConfigValue::Kind::kMap, {file}, {}, {}, {}};
}

std::string json_of_arguments(const LauncherTable& table, const WrittenLaunch& launch) {
  const ArgumentIndex index(table);
  FileJson root = FileJson::object();
  for (const LauncherArgument& argument : launch.arguments) {
    if (is_option(argument)) continue;
    FileJson* place = &root;
    std::string_view rest = argument.name;
    for (std::size_t dot = rest.find('.'); dot != std::string_view::npos; dot = rest.find('.')) {
      place = &(*place)[std::string(rest.substr(0, dot))];
      rest.remove_prefix(dot + 1);
    }
    (*place)[std::string(rest)] = value_of(*index.row(table.canonical(argument.name)), argument);
  }
  return dump_json(root, 2) + "\n";
}

std::string toml_of_arguments(const LauncherTable& table, const WrittenLaunch& launch) {
  const ArgumentIndex index(table);
  std::vector<std::pair<std::string, std::string>> sections;  // by name: their lines
  for (const LauncherArgument& argument : launch.arguments) {
    if (is_option(argument)) continue;
    const std::size_t dot = argument.name.rfind('.');
    const std::string section = argument.name.substr(0, dot);
    auto place = std::ranges::find(sections, section, &std::pair<std::string, std::string>::first);
    if (place == sections.end()) place = sections.insert(place, {section, {}});
    place->second += fmt::format("{} = {}\n", argument.name.substr(dot + 1),
                                 dump_json(value_of(*index.row(table.canonical(argument.name)), argument)));
  }
  std::string text;
  for (const auto& [section, lines] : sections)
    text += fmt::format("{}[{}]\n{}", text.empty() ? "" : "\n", section, lines);
  return text;
}

}  // namespace orrery::experiment
