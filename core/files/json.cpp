// SPDX-License-Identifier: MIT
#include "core/files/json.h"

#include <algorithm>

#include <fmt/format.h>

namespace orrery {

std::string json_reason(const nlohmann::json::exception& error) {
  std::string_view text = error.what();
  if (const std::size_t bracket = text.find("] "); bracket != std::string_view::npos) text.remove_prefix(bracket + 2);
  const std::size_t colon = text.find(": ");
  if (text.starts_with("parse error") && colon != std::string_view::npos) text.remove_prefix(colon + 2);
  return printable(text, 200);
}

namespace {

// Behind the quoted text that begins at `at`.
std::size_t end_of_text(std::string_view text, std::size_t at) {
  for (++at; at < text.size() && text[at] != '"'; ++at)
    if (text[at] == '\\') ++at;
  return std::min(at + 1, text.size());
}

// Behind the value that begins at `at`, up to what ends it.
std::size_t end_of_value(std::string_view text, std::size_t at) {
  for (std::size_t depth = 0; at < text.size();) {
    const char c = text[at];
    if (c == '"') {
      at = end_of_text(text, at);
      continue;
    }
    if (c == '[' || c == '{') ++depth;
    if (depth == 0 && (c == ',' || c == '}' || c == ']')) return at;
    if (c == ']' || c == '}') --depth;
    ++at;
  }
  return at;
}

}  // namespace

void check_json_depth(std::string_view text) {
  std::size_t depth = 0;
  for (std::size_t at = 0; at < text.size(); ++at) switch (text[at]) {
      case '"':
        at = end_of_text(text, at) - 1;
        break;
      case '[':
      case '{':
        if (++depth > kDeepestJson)
          throw JsonError(JsonError::Kind::kDepth, at, fmt::format("nested deeper than {} levels", kDeepestJson));
        break;
      case ']':
      case '}':
        if (depth > 0) --depth;
        break;
      default:
        break;
    }
}

template <class Json>
Json parse_json(std::string_view text, const typename Json::parser_callback_t& look) {
  check_json_depth(text);
  try {
    return Json::parse(text.begin(), text.end(), look);
  } catch (const nlohmann::json::parse_error& error) {
    throw JsonError(JsonError::Kind::kSyntax, error.byte == 0 ? 0 : error.byte - 1, json_reason(error));
  } catch (const nlohmann::json::out_of_range& error) {  // quotes the number
    const std::string_view what = error.what();
    const std::size_t begin = what.find('\'') + 1;
    const std::size_t at = text.find(what.substr(begin, what.rfind('\'') - begin));
    throw JsonError(JsonError::Kind::kNumber, at == std::string_view::npos ? 0 : at, json_reason(error));
  }
}

template <class Json>
std::optional<Json> json_of(std::string_view text) {
  try {
    return parse_json<Json>(text);
  } catch (const JsonError&) {
    return std::nullopt;
  }
}

template nlohmann::json parse_json(std::string_view, const nlohmann::json::parser_callback_t&);
template nlohmann::ordered_json parse_json(std::string_view, const nlohmann::ordered_json::parser_callback_t&);
template std::optional<nlohmann::json> json_of(std::string_view);
template std::optional<nlohmann::ordered_json> json_of(std::string_view);

std::string dump_json(const nlohmann::json& value, int indent) {
  return value.dump(indent, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::string dump_json(const nlohmann::ordered_json& value, int indent) {
  return value.dump(indent, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

bool is_json(std::string_view text) {
  try {
    check_json_depth(text);
  } catch (const JsonError&) {
    return false;
  }
  return nlohmann::json::accept(text.begin(), text.end());
}

Location place_in(const std::string& file, std::string_view text, std::size_t offset) {
  const std::string_view before = text.substr(0, offset);
  const std::size_t line_start = before.rfind('\n') + 1;  // npos + 1 is 0
  return {file, static_cast<int>(std::ranges::count(before, '\n')) + 1,
          static_cast<int>(before.size() - line_start) + 1};
}

std::string_view json_member(std::string_view text, std::string_view key) {
  constexpr std::string_view kSpaces = " \t\r\n";
  std::size_t at = text.find('{');
  while (at != std::string_view::npos && at < text.size() && text[at] != '}') {
    const std::size_t name = text.find('"', at);
    if (name == std::string_view::npos) return {};
    const std::size_t behind = end_of_text(text, name);
    const std::size_t value = text.find_first_not_of(kSpaces, text.find(':', behind) + 1);
    if (value == std::string_view::npos) return {};
    const std::size_t end = end_of_value(text, value);
    if (text.substr(name + 1, behind - name - 2) == key) return text.substr(value, end - value);
    at = end;
  }
  return {};
}

}  // namespace orrery
