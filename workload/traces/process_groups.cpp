// SPDX-License-Identifier: MIT
// The process groups in PyTorch's metadata nodes. Their text is JSON inside a Python string inside a Python list; it is
// turned into JSON once per level and parsed as such.
#include <algorithm>
#include <functional>
#include <optional>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/files/json.h"
#include "workload/traces/groups.h"

namespace orrery::workload {
namespace {

using Json = nlohmann::json;

// One Python string literal at the start of `text`: its value, and `text` moved behind it.
std::optional<std::string> python_string(std::string_view& text) {
  const char quote = text.front();
  std::string value;
  for (std::size_t i = 1; i < text.size(); ++i) {
    if (text[i] == quote) {
      text.remove_prefix(i + 1);
      return value;
    }
    if (text[i] != '\\') {
      value += text[i];
      continue;
    }
    if (++i == text.size()) break;
    // \" and \\ lose their backslash. Others keep it, because JSON inside the string knows \n, \t and \u as well.
    if (text[i] != '\\' && text[i] != '\'' && text[i] != '"') value += '\\';
    value += text[i];
  }
  return std::nullopt;
}

// Python's notation of lists, dicts, strings, numbers, True, False and None as JSON. Keeps what it does not know.
std::optional<std::string> json_of_python(std::string_view text) {
  constexpr std::pair<std::string_view, std::string_view> kWords[] = {
      {"True", "true"}, {"False", "false"}, {"None", "null"}};
  std::string json;
  while (!text.empty()) {
    if (text.front() == '\'' || text.front() == '"') {
      const std::optional<std::string> value = python_string(text);
      if (!value) return std::nullopt;
      json += dump_json(Json(*value));
      continue;
    }
    const auto word = std::ranges::find_if(kWords, [&](const auto& w) { return text.starts_with(w.first); });
    if (word != std::end(kWords)) {
      json += word->second;
      text.remove_prefix(word->first.size());
    } else {
      json += text.front();
      text.remove_prefix(1);
    }
  }
  return json;
}

// A blank text lists nothing.
std::optional<Json> parse(std::string_view text) {
  if (text.find_first_not_of(" \t\r\n") == std::string_view::npos) return Json::array();
  if (std::optional<Json> plain = orrery::json_of<Json>(text)) return plain;
  const std::optional<std::string> json = json_of_python(text);
  return json ? orrery::json_of<Json>(*json) : std::nullopt;
}

// The list of objects, out of any lists and strings around it.
std::optional<Json> unwrap(std::string_view text) {
  constexpr int kLevels = 4;
  std::optional<Json> value = parse(text);
  for (int level = 0; level < kLevels && value; ++level) {
    if (value->is_string()) {
      value = parse(value->get<std::string>());
    } else if (value->is_array() && value->size() == 1 && (value->front().is_string() || value->front().is_array())) {
      Json inner = std::move(value->front());
      value = std::move(inner);
    } else {
      break;
    }
  }
  return value;
}

// `fail` throws what is wrong.
ProcessGroup group_of(const Json& entry, const std::function<void(const std::string&)>& fail) {
  if (!entry.is_object() || !entry.contains("pg_name") || !entry.contains("ranks"))
    fail("an entry is not an object with pg_name and ranks");
  const Json& name = entry["pg_name"];
  if (!name.is_string() && !name.is_number_integer()) fail("a pg_name is not a string");
  ProcessGroup group;
  group.name = name.is_string() ? name.get<std::string>() : dump_json(name);
  const Json& ranks = entry["ranks"];
  if (!ranks.is_array()) fail(fmt::format("the ranks of group {} are not a list", in_quotes(group.name)));
  for (const Json& rank : ranks) {
    if (!rank.is_number_unsigned() || rank.get<std::uint64_t>() > UINT32_MAX)
      fail(fmt::format("group {} has an invalid rank; ranks are whole numbers from 0", in_quotes(group.name)));
    group.ranks.push_back(rank.get<std::uint32_t>());
  }
  std::vector<std::uint32_t> sorted = group.ranks;
  std::ranges::sort(sorted);
  const auto twice = std::ranges::adjacent_find(sorted);
  if (twice != sorted.end()) fail(fmt::format("group {} has rank {} twice", in_quotes(group.name), *twice));
  group.is_world = group.ranks.empty();
  const auto size = entry.find("group_size");
  if (group.is_world && size != entry.end() && size->is_number_unsigned()) group.world = size->get<std::uint64_t>();
  return group;
}

}  // namespace

bool is_process_group_node(std::string_view node_name) {
  return node_name.find("process_group:init") != std::string_view::npos;
}

std::vector<ProcessGroup> read_process_groups(const Location& where, const std::string& node, std::string_view values) {
  const auto fail = [&](const std::string& problem) {
    throw InputError(
        where, fmt::format("{}: {}", node, problem),
        "expected a list of {\"pg_name\": ..., \"ranks\": [...]}, as PyTorch's execution trace observer writes");
  };
  const std::optional<Json> list = unwrap(values);
  if (!list) fail(fmt::format("its process groups cannot be read: {}", printable(values, 60)));
  if (list->is_null()) return {};
  if (!list->is_array()) fail("its process groups are not a list");

  std::vector<ProcessGroup> groups;
  for (const Json& entry : *list) groups.push_back(group_of(entry, fail));
  return groups;
}

}  // namespace orrery::workload
