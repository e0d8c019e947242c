// SPDX-License-Identifier: MIT
#include "experiment/schema.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/config/quantity_text.h"

namespace orrery::experiment {
namespace {

using Json = nlohmann::ordered_json;

// The keys of one map, in the order of their declarations.
struct Node {
  std::vector<const KeyDescription*> declared;  // of this key; several where other keys decide what it holds
  std::vector<std::string> names;               // of its keys
  std::vector<Node> keys;                       // as many, in the same order
  std::vector<Node> element;                    // of a list of maps; one or none
  std::vector<Node> free_key;                   // behind any key; one or none

  Node& at(const std::string& key) {
    const auto found = std::ranges::find(names, key);
    if (found != names.end()) return keys[static_cast<std::size_t>(found - names.begin())];
    names.push_back(key);
    return keys.emplace_back();
  }
  Node& only(std::vector<Node>& part) { return part.empty() ? part.emplace_back() : part.front(); }
};

// Adds the key that "a.b[].<NAME>.c" names.
void add(Node& root, const KeyDescription& key) {
  Node* node = &root;
  std::string_view path = key.path;
  while (!path.empty()) {
    const std::size_t dot = path.find('.');
    std::string_view name = path.substr(0, dot);
    path = dot == std::string_view::npos ? std::string_view() : path.substr(dot + 1);
    const bool is_list = name.ends_with("[]");
    if (is_list) name.remove_suffix(2);
    node = name.starts_with('<') ? &node->only(node->free_key) : &node->at(std::string(name));
    if (is_list) node = &node->only(node->element);
  }
  node->declared.push_back(&key);
}

constexpr std::string_view kNumber = R"(^\s*\+?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?\s*)";

// A regular expression of a quantity as text; empty of other types. Units of long times are words that the program
// checks.
std::string quantity_pattern(std::string_view type) {
  if (type == "long time") return fmt::format("{}[A-Za-z\u00b5]+\\s*$", kNumber);
  const std::vector<std::string_view> units = units_of_type(type);
  if (units.empty()) return {};
  std::string text;
  for (const std::string_view unit : units) {
    std::string one(unit);
    if (const std::size_t bits = one.find("b/"); bits != std::string::npos) one.replace(bits, 1, "(b|[bB]its?)");
    text += (text.empty() ? "" : "|") + one;
  }
  return fmt::format("{}({})\\s*$", kNumber, text);
}

// Words of "a | b | c". Nothing where one of them is no word but a form, as "random(seed)".
std::optional<std::vector<std::string>> words_of(std::string_view type) {
  std::vector<std::string> words;
  while (true) {
    const std::size_t bar = type.find(" | ");
    const std::string_view word = type.substr(0, bar);
    if (word.empty() || word.find_first_of(" (") != std::string_view::npos) return std::nullopt;
    words.emplace_back(word);
    if (bar == std::string_view::npos) return words;
    type = type.substr(bar + 3);
  }
}

// Hyphen and underscore are the same to the reader.
Json enumeration(const std::vector<std::string>& words) {
  Json names = Json::array();
  if (words == std::vector<std::string>{"true", "false"}) names = {true, false};
  const auto put = [&names](const std::string& name) {
    if (std::ranges::find(names, Json(name)) == names.end()) names.push_back(name);
  };
  for (const std::string& word : words) {
    put(word);
    for (const auto& [from, to] : {std::pair('-', '_'), std::pair('_', '-')}) {
      std::string other = word;
      std::ranges::replace(other, from, to);
      put(other);
    }
  }
  // YAML 1.1 reads "on" and "off" as truth values.
  if (std::ranges::find(words, "off") != words.end()) names.push_back(false);
  if (std::ranges::find(words, "on") != words.end()) names.push_back(true);
  return {{"enum", std::move(names)}};
}

// "1 to 8", "at least 1".
void add_range(std::string_view range, Json& schema) {
  constexpr std::string_view kLeast = "at least ", kTo = " to ";
  const auto number = [](std::string_view text) { return parse_whole_number(std::string(text)); };
  if (range.starts_with(kLeast)) {
    if (const auto least = number(range.substr(kLeast.size()))) schema["minimum"] = *least;
    return;
  }
  const std::size_t to = range.find(kTo);
  if (to == std::string_view::npos) return;
  if (const auto least = number(range.substr(0, to))) schema["minimum"] = *least;
  if (const auto most = number(range.substr(to + kTo.size()))) schema["maximum"] = *most;
}

Json one_or_list_of(Json word) { return {{"anyOf", {word, {{"type", "array"}, {"items", word}}}}}; }

// Schema of a value that is no map.
Json scalar_schema(const KeyDescription& key) {
  const std::string_view type = key.type;
  const Json word = {{"type", {"string", "number", "boolean"}}};
  if (const std::string pattern = quantity_pattern(type); !pattern.empty())
    return {{"type", "string"}, {"pattern", pattern}};
  if (type == "number or share")
    return {{"anyOf", {{{"type", "number"}}, {{"type", "string"}, {"pattern", fmt::format("{}%?\\s*$", kNumber)}}}}};
  if (type == "whole number") {
    Json number = {{"type", "integer"}};
    add_range(key.range, number);
    return {{"anyOf", {std::move(number), {{"type", "string"}, {"pattern", R"(^\s*\+?[0-9]+\s*$)"}}}}};  // or quoted
  }
  if (type == "text" || type == "price") return word;
  if (type == "list of whole numbers") return {{"type", "array"}, {"items", {{"type", "integer"}}}};
  if (type == "list of words") return one_or_list_of(word);
  constexpr std::string_view kListOf = "list of ";
  if (type.starts_with(kListOf) && type.find(',') != std::string_view::npos) return one_or_list_of(word);
  if (const auto words = words_of(type); words && (words->size() > 1 || type == "rest")) return enumeration(*words);
  return Json::object();
}

// `is_whole`: keys that are always required have to be there.
Json schema_of(const Node& node, bool is_whole);

Json map_schema(const Node& node, bool is_whole) {
  Json schema = {{"type", "object"}};
  Json required = Json::array();
  for (std::size_t i = 0; i < node.keys.size(); ++i) {
    const std::string& name = node.names[i];
    const Node& key = node.keys[i];
    schema["properties"][name] = schema_of(key, is_whole);
    if (is_whole && !key.declared.empty() && std::ranges::all_of(key.declared, [](const KeyDescription* one) {
          return one->fallback == "required" && !one->is_conditional;
        }))
      required.push_back(name);
  }
  schema["additionalProperties"] = node.free_key.empty() ? Json(false) : schema_of(node.free_key.front(), is_whole);
  if (!required.empty()) schema["required"] = std::move(required);
  return schema;
}

Json forms_of(const Node& node, const KeyDescription* key, bool is_whole) {
  const bool may_be_list = key == nullptr || key->type.starts_with("list");
  const bool may_be_map = key == nullptr || key->type.starts_with("map");
  if (!node.element.empty() && may_be_list)
    return {{"type", "array"}, {"items", map_schema(node.element.front(), is_whole)}};
  const bool has_keys = (!node.keys.empty() || !node.free_key.empty()) && may_be_map;
  if (!has_keys) return key == nullptr ? Json::object() : scalar_schema(*key);
  Json map = map_schema(node, is_whole);
  if (key == nullptr || key->type == "map") return map;
  // A path, a name, or a word in place of the map.
  return {{"anyOf", {std::move(map), {{"type", {"string", "boolean"}}}}}};
}

Json schema_of(const Node& node, bool is_whole) {
  std::vector<Json> forms;
  for (const KeyDescription* key : node.declared)
    if (Json form = forms_of(node, key, is_whole); std::ranges::find(forms, form) == forms.end())
      forms.push_back(std::move(form));
  if (forms.empty()) return forms_of(node, nullptr, is_whole);
  Json schema = forms.size() == 1 ? std::move(forms.front()) : Json{{"anyOf", forms}};
  const KeyDescription& key = *node.declared.front();
  if (!key.meaning.empty()) schema["description"] = key.meaning;
  if (key.fallback != "required" && key.fallback != "optional" && !key.fallback.empty())
    schema["description"] = fmt::format("{}\nDefault: {}", key.meaning, key.fallback);
  return schema;
}

Node tree_of(std::span<const KeyDescription> keys) {
  Node root;
  for (const KeyDescription& key : keys) add(root, key);
  return root;
}

}  // namespace

Json configuration_schema(std::span<const KeyDescription> experiment, std::span<const KeyDescription> sweep) {
  const Node experiment_keys = tree_of(experiment);
  Json sweep_schema = map_schema(tree_of(sweep), false);
  // An axis may give what an experiment misses.
  sweep_schema["properties"]["experiment"] = {{"anyOf", {{{"$ref", "#/$defs/part"}}, {{"type", "string"}}}}};
  const auto has = [](const char* key) { return Json{{"required", {key}}}; };
  return {{"$schema", "https://json-schema.org/draft/2020-12/schema"},
          {"title", "Orrery: an experiment, or a sweep of experiments"},
          {"if", {{"anyOf", {has("vary"), has("experiment")}}}},
          {"then", {{"$ref", "#/$defs/sweep"}}},
          {"else", {{"$ref", "#/$defs/experiment"}}},
          {"$defs",
           {{"experiment", map_schema(experiment_keys, true)},
            {"part", map_schema(experiment_keys, false)},
            {"sweep", std::move(sweep_schema)}}}};
}

}  // namespace orrery::experiment
