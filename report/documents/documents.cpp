// SPDX-License-Identifier: MIT
#include "report/documents/documents.h"

#include <array>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace orrery::report {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kIntroduction =
    "# Keys of results\n\n"
    "`orrery list results` prints this page from the declarations of the program, and `orrery list result-schema` the "
    "same as a JSON\n"
    "Schema, which is also installed, as `share/orrery/result.schema.json`. [results.md](results.md) explains the "
    "documents.\n\n"
    "Times are in seconds, sizes in bytes. Every document has its kind and version as `schema`. Keys in brackets are "
    "not always there; in\n"
    "the names of keys `[]` stands for each element of a list, `<NAME>` for any name.\n";

// Names of the types of keys, by KeyType.
constexpr std::array<std::string_view, 8> kTypes = {"number",        "whole number", "text",         "true \\| false",
                                                    "list of texts", "map",          "list of maps", "any"};

KeyType type_of(FigureUnit unit) {
  return unit == FigureUnit::kText ? KeyType::kText : unit == FigureUnit::kBytes ? KeyType::kWhole : KeyType::kNumber;
}

DocumentKeys keys_of(bool (*is_wanted)(const Figure&)) {
  DocumentKeys keys;
  for (const Figure* figure : keyed_figures())
    if (is_wanted(*figure))
      keys.push_back({type_of(figure->unit), std::string(figure->key), std::string(figure->meaning), {}, true});
  return keys;
}

void add_rows(const DocumentKeys& keys, const std::string& place, std::string& text) {
  for (const DocumentKey& key : keys) {
    const std::string path = place + key.name + (key.type == KeyType::kList ? "[]" : "");
    text += fmt::format(fmt::runtime(key.is_optional ? "| [`{}`] | {} | {} |\n" : "| `{}` | {} | {} |\n"), path,
                        kTypes[static_cast<std::size_t>(key.type)], key.meaning);
    add_rows(key.keys, path + ".", text);
  }
}

Json map_schema(const DocumentKeys& keys);

Json schema_of(const DocumentKey& key) {
  switch (key.type) {
    case KeyType::kNumber:
      return {{"type", {"number", "null"}}};  // null stands for what is no number
    case KeyType::kWhole:
      return {{"type", "integer"}};
    case KeyType::kText:
      return {{"type", "string"}};
    case KeyType::kTruth:
      return {{"type", "boolean"}};
    case KeyType::kTexts:
      return {{"type", "array"}, {"items", {{"type", "string"}}}};
    case KeyType::kMap:
      return map_schema(key.keys);
    case KeyType::kList:
      return {{"type", "array"}, {"items", map_schema(key.keys)}};
    case KeyType::kAny:
      break;
  }
  return Json::object();
}

Json map_schema(const DocumentKeys& keys) {
  Json schema = {{"type", "object"}, {"additionalProperties", false}};
  for (const DocumentKey& key : keys) {
    Json own = schema_of(key);
    if (!key.meaning.empty()) own["description"] = key.meaning;
    const std::size_t open = key.name.find('<'), close = key.name.find('>');
    if (open == std::string::npos) {
      schema["properties"][key.name] = std::move(own);
      if (!key.is_optional) schema["required"].push_back(key.name);
    } else if (key.name.size() == close - open + 1) {
      schema["additionalProperties"] = std::move(own);
    } else {
      schema["patternProperties"]["^" + key.name.substr(0, open) + ".*" + key.name.substr(close + 1) + "$"] =
          std::move(own);
    }
  }
  return schema;
}

}  // namespace

DocumentKey maybe(DocumentKey key) {
  key.is_optional = true;
  return key;
}

DocumentKeys maybe(DocumentKeys keys) {
  for (DocumentKey& key : keys) key.is_optional = true;
  return keys;
}

DocumentKeys joined(std::initializer_list<DocumentKeys> parts) {
  DocumentKeys all;
  for (const DocumentKeys& part : parts) all.insert(all.end(), part.begin(), part.end());
  return all;
}

DocumentKeys figure_keys(FigureGroup group) {
  DocumentKeys keys;
  for (const Figure& figure : figures())
    if (figure.group == group && !figure.path.empty())
      keys.push_back({type_of(figure.unit), std::string(figure.path), std::string(figure.meaning), {}, figure.is_rare});
  return keys;
}

DocumentKeys point_keys() {
  return keys_of([](const Figure&) { return true; });
}

DocumentKeys plan_keys() {
  return keys_of([](const Figure& figure) { return figure.is_of_plans; });
}

DocumentKeys launcher_keys() {
  return {{KeyType::kText, "name", "`megatron`, `torchtitan`, ..."},
          {KeyType::kText, "text", "as the launcher takes them: lines of a script, TOML, JSON"},
          {KeyType::kList,
           "unsaid",
           "what the launcher cannot be told",
           {{KeyType::kText, "key", "of the experiment; empty: of several"},
            {KeyType::kText, "value", "of the job"},
            {KeyType::kText, "instead", "what the launcher has by these arguments"}}}};
}

DocumentKeys failure_keys() {
  DocumentKeys edit = {
      {KeyType::kText, "edit",
       "`add`, `remove`, `change`, `swap`, `unlink` (does not wait for another node) or `leave` (a group)"},
      {KeyType::kWhole, "rank", "whose trace or program is changed"},
      maybe({KeyType::kWhole, "node", "which node of it; of `add`: the one in front of the new one"}),
      maybe({KeyType::kWhole, "other", "the node that it changes places with, or waits for; of `add`: the one behind"}),
      {KeyType::kText, "text", "the change in words"}};
  DocumentKeys problem = {{KeyType::kText, "message", "what is wrong"},
                          maybe({KeyType::kText, "severity", "`warning` of what is no error"}),
                          maybe({KeyType::kText, "hint", "what to do"}),
                          maybe({KeyType::kText, "file", "where it stands: a file, or an option"}),
                          maybe({KeyType::kWhole, "line", "from 1"}),
                          maybe({KeyType::kWhole, "column", "from 1"}),
                          maybe({KeyType::kWhole, "rank", "whose trace or program it is"}),
                          maybe({KeyType::kText, "node", "which operation"}),
                          maybe({KeyType::kList,
                                 "mendings",
                                 "of a job that cannot finish: the smallest changes that are found, each a mending by "
                                 "itself, the likeliest first",
                                 {{KeyType::kTruth, "tried", "whether all ranks do finish with it"},
                                  {KeyType::kList, "edits", "changes that belong together", std::move(edit)}}})};
  DocumentKeys keys = {{KeyType::kWhole, "exit_code",
                        "2 bad input, 3 the job cannot finish, 4 a requested check failed, 5 it does not fit the "
                        "devices' memory"}};
  keys.insert(keys.end(), problem.begin(), problem.end());
  keys.push_back(maybe({KeyType::kList, "problems", "where there are several: all of them", std::move(problem)}));
  return keys;
}

DocumentKeys interval_keys() {
  return {{KeyType::kNumber, "low_s", ""},
          {KeyType::kNumber, "high_s", ""},
          {KeyType::kNumber, "share", "of comparable runs between these"},
          {KeyType::kWhole, "runs", "how many comparable runs there are"}};
}

Document error_document() {
  return {"orrery.error/1",
          "any command that fails, with `--json`",
          "",
          {{KeyType::kText, "version", "of Orrery"}, {KeyType::kMap, "error", "", failure_keys()}}};
}

std::string documents_text(std::span<const Document> documents) {
  std::string text(kIntroduction);
  for (const Document& document : documents) {
    text += fmt::format("\n## {}\n\nWritten by {}.{}\n\n| key | type | meaning |\n|---|---|---|\n", document.schema,
                        document.command, document.about.empty() ? "" : " " + document.about);
    add_rows(document.keys, "", text);
  }
  return text;
}

Json documents_schema(std::span<const Document> documents) {
  Json schema = {{"$schema", "https://json-schema.org/draft/2020-12/schema"},
                 {"title", "Orrery: results of its commands"},
                 {"type", "object"},
                 {"required", {"schema"}}};
  Json names = Json::array(), choices = Json::array(), definitions = Json::object();
  for (const Document& document : documents) {
    Json one = map_schema(document.keys);
    one["properties"]["schema"] = {{"const", document.schema}};
    names.push_back(document.schema);
    choices.push_back({{"if", {{"properties", {{"schema", {{"const", document.schema}}}}}}},
                       {"then", {{"$ref", "#/$defs/" + document.schema.substr(0, document.schema.find('/'))}}}});
    definitions[document.schema.substr(0, document.schema.find('/'))] = std::move(one);
  }
  schema["properties"] = {{"schema", {{"enum", std::move(names)}}}};
  schema["allOf"] = std::move(choices);
  schema["$defs"] = std::move(definitions);
  return schema;
}

}  // namespace orrery::report
