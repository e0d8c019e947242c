// SPDX-License-Identifier: MIT
#include "core/config/text.h"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <string_view>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/assert.h"
#include "core/error.h"
#include "core/files/json.h"
#include "core/utf8.h"

namespace orrery {
namespace {

using Kind = ConfigValue::Kind;

// Words, numbers and quantities: "ring", "300 GB/s", "80 %", "configs/x.yaml".
bool is_plain(std::string_view text) {
  constexpr std::string_view kInside = " _./%+-()";
  const auto is_word = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; };
  return !text.empty() && is_word(text.front()) && text.back() != ' ' && text != "null" &&
         std::ranges::all_of(text, [&](char c) { return is_word(c) || kInside.find(c) != std::string_view::npos; });
}

// On one line.
std::string flow_text(const ConfigValue& value) {
  std::string text;
  const auto add = [&](std::string part) { text += (text.empty() ? "" : ", ") + std::move(part); };
  switch (value.kind) {
    case Kind::kNull:
      return "~";
    case Kind::kScalar:
      return yaml_scalar(value.scalar, value.where);
    case Kind::kList:
      for (const ConfigValue& item : value.items) add(flow_text(item));
      return "[" + text + "]";
    case Kind::kMap:
      for (const ConfigEntry& entry : value.entries)
        add(yaml_scalar(entry.key, entry.where) + ": " + flow_text(entry.value));
      return "{" + text + "}";
  }
  ORRERY_ASSERT(false);
  return {};
}

bool has_map(const ConfigValue& list) {
  return std::ranges::any_of(list.items, [](const ConfigValue& item) { return item.kind == Kind::kMap; });
}

void write_map(const ConfigValue& map, const std::string& path, std::size_t indent, const CommentOf& comment_of,
               std::string& text) {
  const std::string margin(indent, ' ');
  for (const ConfigEntry& entry : map.entries) {
    const std::string here = path.empty() ? entry.key : path + "." + entry.key;
    text += margin + yaml_scalar(entry.key, entry.where) + ":";
    if (entry.value.kind == Kind::kMap && !entry.value.entries.empty()) {
      text += "\n";
      write_map(entry.value, here, indent + 2, comment_of, text);
    } else if (entry.value.kind == Kind::kList && has_map(entry.value)) {
      text += "\n";
      for (const ConfigValue& item : entry.value.items) text += margin + "  - " + flow_text(item) + "\n";
    } else {
      const std::string comment = comment_of ? comment_of(here) : "";
      text += fmt::format(" {}{}{}\n", flow_text(entry.value), comment.empty() ? "" : "  # ", comment);
    }
  }
}

}  // namespace

std::string yaml_scalar(const std::string& text, const Location& where) {
  if (is_plain(text)) return text;
  if (!is_utf8(text))
    throw InputError(where, fmt::format("'{}' is not UTF-8, as a YAML file is", printable(text, 100)),
                     "a file of that name needs another one");
  return dump_json(nlohmann::json(text));
}

void move_paths(ConfigValue& value, const std::string& target) {
  for (ConfigValue& item : value.items) move_paths(item, target);
  for (ConfigEntry& entry : value.entries) move_paths(entry.value, target);
  if (!value.is_path || value.kind != Kind::kScalar) return;
  const std::filesystem::path path = path_from(value.where.file, value.scalar);
  const std::filesystem::path whole = std::filesystem::absolute(path);
  if (path.is_absolute() || target.empty())
    value.scalar = whole.lexically_normal().string();
  else
    value.scalar = std::filesystem::relative(whole, std::filesystem::absolute(target).parent_path()).string();
  value.is_path = false;
}

std::string yaml_text(const ConfigValue& map) { return yaml_text(map, {}); }

std::string yaml_text(const ConfigValue& map, const CommentOf& comment_of) {
  ORRERY_ASSERT(map.kind == Kind::kMap);
  std::string text;
  write_map(map, {}, 0, comment_of, text);
  return text;
}

}  // namespace orrery
