// SPDX-License-Identifier: MIT
#include "workload/training/model_files/key_reader.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "core/config/quantity_text.h"

namespace orrery::workload {
namespace {

// Maps that hold parts of the decoder: DBRX has its attention and its MLPs in such, Kimi Linear its linear attention.
constexpr std::array<std::string_view, 3> kMapsOfParts = {"attn_config", "ffn_config", "linear_attn_config"};

void add_flattened(const ConfigValue& map, const std::string& prefix, ConfigValue& flat) {
  for (const ConfigEntry& entry : map.entries)
    if (entry.value.kind == ConfigValue::Kind::kMap)
      add_flattened(entry.value, prefix + entry.key + ".", flat);
    else
      flat.entries.push_back({prefix + entry.key, entry.where, entry.value});
}

bool is_number(const ConfigValue& value, std::int64_t& number) {
  const auto read = value.kind == ConfigValue::Kind::kScalar ? parse_whole_number(value.scalar) : std::nullopt;
  number = read.value_or(0);
  return read.has_value();
}

}  // namespace

const ConfigEntry* value_of(const ConfigValue& contents, std::string_view key) {
  const ConfigEntry* entry = contents.find(key);
  return entry == nullptr || entry->value.kind == ConfigValue::Kind::kNull ? nullptr : entry;
}

std::string text_of(const ConfigValue& value) {
  return value.kind == ConfigValue::Kind::kScalar ? fmt::format("'{}'", printable(value.scalar, 40))
                                                  : std::string(kind_name(value.kind));
}

bool says_none(const ConfigValue& value) {
  if (value.kind == ConfigValue::Kind::kNull) return true;
  if (value.kind == ConfigValue::Kind::kList) return value.items.empty();
  if (value.kind == ConfigValue::Kind::kMap) return value.entries.empty();
  return value.scalar.empty() || value.scalar == "0" || value.scalar == "false" || value.scalar == "False";
}

bool is_map_of_parts(std::string_view key) { return std::ranges::find(kMapsOfParts, key) != kMapsOfParts.end(); }

ConfigValue flattened(const ConfigValue& contents) {
  ConfigValue flat{ConfigValue::Kind::kMap, contents.where, {}, {}, {}};
  for (const ConfigEntry& entry : contents.entries)
    if (entry.value.kind == ConfigValue::Kind::kMap && std::ranges::find(kMapsOfParts, entry.key) != kMapsOfParts.end())
      add_flattened(entry.value, entry.key + ".", flat);
    else
      flat.entries.push_back(entry);
  return flat;
}

const ConfigEntry* KeyReader::value(KeyNames names) {
  know(names);
  for (const ConfigValue* map : {&contents_, static_cast<const ConfigValue*>(&implied_)})
    for (const std::string_view name : names)
      if (const ConfigEntry* entry = value_of(*map, name)) return entry;
  return nullptr;
}

Location KeyReader::where(std::string_view key) const {
  const ConfigEntry* entry = contents_.find(key);
  return entry == nullptr ? contents_.where : entry->where;
}

std::optional<std::int64_t> KeyReader::number_of(const ConfigEntry& entry, Range range) {
  const ConfigValue* value = &entry.value;
  if (value->kind == ConfigValue::Kind::kList && value->items.size() > 1) {
    std::int64_t first = 0, next = 0;
    const auto differs = [&](const ConfigValue& item) { return !is_number(item, next) || next != first; };
    if (is_number(value->items.front(), first)) {
      if (std::ranges::any_of(value->items, differs)) {
        error(value->where, fmt::format("{}: layers have different ones", entry.key),
              "one for all layers is understood; layers of different sizes are not");
        return std::nullopt;
      }
      value = &value->items.front();
    }
  }
  std::int64_t read = 0;
  const bool is_whole = is_number(*value, read);
  if (is_whole && read >= range.least && read <= range.most) return read;
  const std::string what = is_whole ? fmt::format("{} is out of range; expected {}", read, to_text(range))
                                    : text_of(*value) + " is not a whole number";
  error(value->where, fmt::format("{}: {}", entry.key, what));
  return std::nullopt;
}

std::optional<std::int64_t> KeyReader::number(KeyNames names, Range range) {
  const ConfigEntry* entry = value(names);
  return entry == nullptr ? std::nullopt : number_of(*entry, range);
}

std::optional<std::vector<std::int64_t>> KeyReader::numbers(const ConfigEntry& entry) {
  if (entry.value.kind != ConfigValue::Kind::kList) {
    error(entry.value.where, fmt::format("{}: {} is not a list", entry.key, text_of(entry.value)));
    return std::nullopt;
  }
  std::vector<std::int64_t> read;
  for (const ConfigValue& item : entry.value.items)
    if (std::int64_t number = 0; is_number(item, number)) {
      read.push_back(number);
    } else {
      error(item.where, fmt::format("{}: {} is not a whole number", entry.key, text_of(item)));
      return std::nullopt;
    }
  return read;
}

bool KeyReader::flag(KeyNames names, bool otherwise) {
  const ConfigEntry* entry = value(names);
  if (entry == nullptr) return otherwise;
  const auto flag = entry->value.kind == ConfigValue::Kind::kScalar ? parse_boolean(entry->value.scalar) : std::nullopt;
  if (!flag)
    error(entry->value.where, fmt::format("{}: {} is neither true nor false", entry->key, text_of(entry->value)));
  return flag.value_or(otherwise);
}

std::string KeyReader::word(KeyNames names) {
  const ConfigEntry* entry = value(names);
  if (entry == nullptr) return {};
  const std::string& text = entry->value.scalar;
  if (entry->value.kind == ConfigValue::Kind::kScalar && !parse_share(text).value && !parse_boolean(text)) return text;
  error(entry->value.where, fmt::format("{}: {} is not a name", entry->key, text_of(entry->value)), "such as \"silu\"");
  return {};
}

}  // namespace orrery::workload
