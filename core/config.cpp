#include "core/config.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/quantity_text.h"
#include "core/suggest.h"

namespace orrery {
namespace {

template <class T>
constexpr std::string_view type_name() {
  if constexpr (std::is_same_v<T, Bytes>) return "size";
  if constexpr (std::is_same_v<T, Bandwidth>) return "bandwidth";
  if constexpr (std::is_same_v<T, Duration>) return "time";
  if constexpr (std::is_same_v<T, Flops>) return "operations";
  if constexpr (std::is_same_v<T, FlopRate>) return "rate";
  if constexpr (std::is_same_v<T, bool>) return "true | false";
  if constexpr (std::is_same_v<T, double>) return "number or share";
  return "text";
}

template <class T>
std::string text_of(const T& value) {
  if constexpr (std::is_same_v<T, bool>)
    return value ? "true" : "false";
  else if constexpr (std::is_same_v<T, double>)
    return fmt::format("{}", value);
  else if constexpr (std::is_same_v<T, std::string>)
    return value;
  else
    return to_text(value);
}

// A harmless stand-in after an error: one, where zero could be divided by.
template <class T>
T harmless() {
  if constexpr (std::is_same_v<T, Bandwidth> || std::is_same_v<T, FlopRate>)
    return T(1);
  else
    return T{};
}

Parsed<bool> parse_flag(std::string_view text) {
  if (text == "true") return {true, {}, {}};
  if (text == "false") return {false, {}, {}};
  return {{}, fmt::format("'{}' is neither true nor false", printable(text, 40)), {}};
}

template <class T>
Parsed<T> parse_scalar(std::string_view text) {
  if constexpr (std::is_same_v<T, bool>)
    return parse_flag(text);
  else if constexpr (std::is_same_v<T, double>)
    return parse_share(text);
  else if constexpr (std::is_same_v<T, std::string>)
    return {std::string(text), {}, {}};
  else
    return parse_quantity<T>(text);
}

bool same_word(std::string_view a, std::string_view b) {
  const auto plain = [](char c) { return c == '_' ? '-' : c; };
  return std::ranges::equal(a, b, {}, plain, plain);
}

std::optional<std::int64_t> whole_number(std::string_view text) {
  std::int64_t number = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (code != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return number;
}

// Whether `text` would be a whole number, had it fewer digits.
bool is_long_number(std::string_view text) {
  return text.size() > 18 && std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

}  // namespace

Section::Section(ConfigValue& value, std::string path, ConfigContext& context)
    : value_(&value), path_(std::move(path)), context_(&context) {
  if (value.kind == ConfigValue::Kind::kMap || describes()) return;
  const std::string what = path_.empty() ? "the file" : fmt::format("'{}'", path_);
  context.diagnostics().error(value.where,
                              fmt::format("{} is {}; a map of keys is expected", what, kind_name(value.kind)));
  value = {ConfigValue::Kind::kMap, value.where, {}, {}, {}};
  reported_ = true;
}

template <ConfigScalar T>
T Section::required(std::string_view key, std::string_view meaning) {
  ConfigValue* value = take(key, type_name<T>(), "required", meaning, true);
  if (value == nullptr) return harmless<T>();
  return convert<T>(key, *value).value_or(harmless<T>());
}

template <ConfigScalar T>
T Section::optional(std::string_view key, T fallback, std::string_view meaning) {
  ConfigValue* value = take(key, type_name<T>(), text_of(fallback), meaning, false);
  if (value != nullptr) return convert<T>(key, *value).value_or(fallback);
  set_default(key, text_of(fallback));
  return fallback;
}

template <ConfigScalar T>
std::optional<T> Section::maybe(std::string_view key, std::string_view meaning) {
  ConfigValue* value = take(key, type_name<T>(), "optional", meaning, false);
  if (value == nullptr) return std::nullopt;
  return convert<T>(key, *value);
}

std::int64_t Section::required_integer(std::string_view key, Range range, std::string_view meaning) {
  ConfigValue* value = take(key, "whole number", "required", meaning, true);
  if (value == nullptr) return range.least;
  return convert_integer(key, *value, range).value_or(range.least);
}

std::int64_t Section::optional_integer(std::string_view key, std::int64_t fallback, Range range,
                                       std::string_view meaning) {
  ConfigValue* value = take(key, "whole number", fmt::format("{}", fallback), meaning, false);
  if (value != nullptr) return convert_integer(key, *value, range).value_or(fallback);
  set_default(key, fmt::format("{}", fallback));
  return fallback;
}

std::size_t Section::required_choice(std::string_view key, std::span<const std::string> names,
                                     std::string_view meaning) {
  ConfigValue* value = take(key, fmt::format("{}", fmt::join(names, " | ")), "required", meaning, true);
  return value == nullptr ? 0 : convert_choice(key, *value, names, 0);
}

std::size_t Section::optional_choice(std::string_view key, std::span<const std::string> names, std::size_t fallback,
                                     std::string_view meaning) {
  ConfigValue* value = take(key, fmt::format("{}", fmt::join(names, " | ")), names[fallback], meaning, false);
  if (value != nullptr) return convert_choice(key, *value, names, fallback);
  set_default(key, names[fallback]);
  return fallback;
}

bool Section::section(std::string_view key, std::string_view meaning, const std::function<void(Section&)>& read,
                      std::string_view folder) {
  const std::string type = folder.empty() ? "map" : fmt::format("map, path or name in {}", folder);
  ConfigValue* value = take(key, type, "optional", meaning, false);
  if (value == nullptr && !describes()) return false;
  ConfigValue empty{ConfigValue::Kind::kMap, value_->where, {}, {}, {}};
  if (value != nullptr && !expand(*value, folder)) return true;
  Section inner(value != nullptr ? *value : empty, sub_path(key), *context_);
  read(inner);
  inner.finish();
  return true;
}

bool Section::required_section(std::string_view key, std::string_view meaning,
                               const std::function<void(Section&)>& read, std::string_view folder) {
  if (section(key, meaning, read, folder)) return true;
  if (reported_ || describes() || has(key)) return false;
  error(key, fmt::format("'{}' is missing", sub_path(key)), std::string(meaning));
  return false;
}

bool Section::list(std::string_view key, std::string_view meaning, const std::function<void(Section&)>& read) {
  ConfigValue* value = take(key, "list of maps", "optional", meaning, false);
  const std::string element = sub_path(key) + "[]";
  if (describes()) {
    ConfigValue empty{ConfigValue::Kind::kMap, {}, {}, {}, {}};
    Section inner(empty, element, *context_);
    read(inner);
    return true;
  }
  if (value == nullptr) return false;
  if (value->kind != ConfigValue::Kind::kList) {
    error(key, fmt::format("'{}' is {}; a list is expected", sub_path(key), kind_name(value->kind)));
    return true;
  }
  for (ConfigValue& item : value->items) {
    Section inner(item, element, *context_);
    read(inner);
    inner.finish();
  }
  return true;
}

bool Section::map(std::string_view key, std::string_view key_name, std::string_view meaning,
                  const std::function<void(const ConfigEntry&, Section&)>& read) {
  ConfigValue* value = take(key, "map", "optional", meaning, false);
  if (describes()) {
    ConfigEntry entry{std::string(key_name), {}, {ConfigValue::Kind::kMap, {}, {}, {}, {}}};
    Section inner(entry.value, fmt::format("{}.<{}>", sub_path(key), key_name), *context_);
    read(entry, inner);
    return true;
  }
  if (value == nullptr) return false;
  if (value->kind != ConfigValue::Kind::kMap) {
    error(key, fmt::format("'{}' is {}; a map is expected", sub_path(key), kind_name(value->kind)));
    return true;
  }
  for (ConfigEntry& entry : value->entries) {
    Section inner(entry.value, fmt::format("{}.{}", sub_path(key), printable(entry.key)), *context_);
    read(entry, inner);
    inner.finish();
  }
  return true;
}

std::vector<std::string> Section::words(std::string_view key, std::string_view meaning) {
  const ConfigValue* value = take(key, "list of words", "optional", meaning, false);
  std::vector<std::string> result;
  if (value == nullptr) return result;
  if (value->kind == ConfigValue::Kind::kScalar) return {value->scalar};
  if (value->kind != ConfigValue::Kind::kList) {
    error(key, fmt::format("'{}' is {}; a list of words is expected", sub_path(key), kind_name(value->kind)));
    return result;
  }
  for (const ConfigValue& item : value->items) {
    if (item.kind == ConfigValue::Kind::kScalar) {
      result.push_back(item.scalar);
    } else {
      context_->diagnostics().error(
          item.where, fmt::format("an element of '{}' is {}; a word is expected", sub_path(key), kind_name(item.kind)));
    }
  }
  return result;
}

const ConfigValue* Section::raw(std::string_view key, std::string_view type, std::string_view fallback,
                                std::string_view meaning) {
  return take(key, type, fallback, meaning, false);
}

void Section::note(std::string_view key, std::string_view meaning) { take(key, "any", "optional", meaning, false); }

Location Section::where(std::string_view key) const {
  const ConfigEntry* entry = value_->find(key);
  return entry == nullptr ? value_->where : entry->value.where;
}

void Section::error(std::string_view key, std::string message, std::string hint) {
  if (!describes()) context_->diagnostics().error(where(key), std::move(message), std::move(hint));
}

void Section::warning(std::string_view key, std::string message, std::string hint) {
  if (!describes()) context_->diagnostics().warning(where(key), std::move(message), std::move(hint));
}

void Section::finish() {
  if (describes()) return;
  for (const ConfigEntry& entry : value_->entries) {
    if (std::ranges::find(known_, entry.key) != known_.end()) continue;
    const std::string in = path_.empty() ? "" : fmt::format(" in '{}'", path_);
    context_->diagnostics().error(entry.where, fmt::format("unknown key '{}'{}", printable(entry.key), in),
                                  suggestion(entry.key, known_));
  }
}

ConfigValue* Section::take(std::string_view key, std::string_view type, std::string_view fallback,
                           std::string_view meaning, bool required) {
  known_.emplace_back(key);
  context_->describe({sub_path(key), std::string(type), std::string(fallback), std::string(meaning)});
  if (describes()) return nullptr;
  ConfigEntry* entry = value_->find(key);
  if (entry == nullptr) {
    if (required && !reported_)
      error(key, fmt::format("'{}' is missing ({})", sub_path(key), type), std::string(meaning));
    return nullptr;
  }
  if (entry->value.kind == ConfigValue::Kind::kNull) {
    error(key, fmt::format("'{}' has no value", sub_path(key)), fmt::format("expected: {}", type));
    return nullptr;
  }
  return &entry->value;
}

void Section::set_default(std::string_view key, std::string text) {
  if (describes()) return;
  if (value_->find(key) != nullptr) return;  // present, but without a usable value
  value_->entries.push_back(
      {std::string(key), value_->where, {ConfigValue::Kind::kScalar, value_->where, std::move(text), {}, {}}});
}

template <ConfigScalar T>
std::optional<T> Section::convert(std::string_view key, const ConfigValue& value) {
  if (value.kind != ConfigValue::Kind::kScalar) {
    error(key, fmt::format("'{}' is {}; expected: {}", sub_path(key), kind_name(value.kind), type_name<T>()));
    return std::nullopt;
  }
  Parsed<T> parsed = parse_scalar<T>(value.scalar);
  if (!parsed.value) error(key, fmt::format("{}: {}", sub_path(key), parsed.problem), std::move(parsed.hint));
  return parsed.value;
}

std::optional<std::int64_t> Section::convert_integer(std::string_view key, const ConfigValue& value, Range range) {
  const std::optional<std::int64_t> number =
      value.kind == ConfigValue::Kind::kScalar ? whole_number(value.scalar) : std::nullopt;
  if (!number) {
    const std::string found = value.kind == ConfigValue::Kind::kScalar
                                  ? fmt::format("'{}'", printable(value.scalar, 40))
                                  : std::string(kind_name(value.kind));
    const bool long_number = value.kind == ConfigValue::Kind::kScalar && is_long_number(value.scalar);
    error(key, fmt::format("{}: {} is {}", sub_path(key), found, long_number ? "too large" : "not a whole number"));
    return std::nullopt;
  }
  if (*number >= range.least && *number <= range.most) return number;
  const std::string limit = range.most == INT64_MAX ? fmt::format("at least {}", range.least)
                                                    : fmt::format("{} to {}", range.least, range.most);
  error(key, fmt::format("{}: {} is out of range; expected {}", sub_path(key), *number, limit));
  return std::nullopt;
}

std::size_t Section::convert_choice(std::string_view key, const ConfigValue& value, std::span<const std::string> names,
                                    std::size_t fallback) {
  if (value.kind != ConfigValue::Kind::kScalar) {
    error(key,
          fmt::format("'{}' is {}; expected one of: {}", sub_path(key), kind_name(value.kind), fmt::join(names, ", ")));
    return fallback;
  }
  const auto found =
      std::ranges::find_if(names, [&](const std::string& name) { return same_word(name, value.scalar); });
  if (found != names.end()) return static_cast<std::size_t>(found - names.begin());
  error(key, fmt::format("{}: unknown value '{}'", sub_path(key), printable(value.scalar, 60)),
        suggestion(value.scalar, names));
  return fallback;
}

std::string Section::sub_path(std::string_view key) const {
  return path_.empty() ? std::string(key) : fmt::format("{}.{}", path_, key);
}

bool Section::expand(ConfigValue& value, std::string_view folder) {
  if (folder.empty() || value.kind != ConfigValue::Kind::kScalar) return true;
  return context_->files().expand(value, folder, context_->diagnostics());
}

void read_config(ConfigValue& root, ConfigContext& context, const std::function<void(Section&)>& read) {
  Section section(root, "", context);
  read(section);
  section.finish();
}

nlohmann::ordered_json to_json(const ConfigValue& value) {
  switch (value.kind) {
    case ConfigValue::Kind::kNull:
      return nullptr;
    case ConfigValue::Kind::kList: {
      nlohmann::ordered_json list = nlohmann::ordered_json::array();
      for (const ConfigValue& item : value.items) list.push_back(to_json(item));
      return list;
    }
    case ConfigValue::Kind::kMap: {
      nlohmann::ordered_json map = nlohmann::ordered_json::object();
      for (const ConfigEntry& entry : value.entries) map[printable(entry.key, SIZE_MAX)] = to_json(entry.value);
      return map;
    }
    case ConfigValue::Kind::kScalar:
      break;
  }
  if (value.scalar == "true" || value.scalar == "false") return value.scalar == "true";
  if (const auto number = whole_number(value.scalar)) return *number;
  return printable(value.scalar, SIZE_MAX);
}

// Explicit instances, so that the conversion stays out of the header.
template Bytes Section::required<Bytes>(std::string_view, std::string_view);
template Bytes Section::optional<Bytes>(std::string_view, Bytes, std::string_view);
template std::optional<Bytes> Section::maybe<Bytes>(std::string_view, std::string_view);
template Bandwidth Section::required<Bandwidth>(std::string_view, std::string_view);
template Bandwidth Section::optional<Bandwidth>(std::string_view, Bandwidth, std::string_view);
template std::optional<Bandwidth> Section::maybe<Bandwidth>(std::string_view, std::string_view);
template Duration Section::required<Duration>(std::string_view, std::string_view);
template Duration Section::optional<Duration>(std::string_view, Duration, std::string_view);
template std::optional<Duration> Section::maybe<Duration>(std::string_view, std::string_view);
template Flops Section::required<Flops>(std::string_view, std::string_view);
template Flops Section::optional<Flops>(std::string_view, Flops, std::string_view);
template std::optional<Flops> Section::maybe<Flops>(std::string_view, std::string_view);
template FlopRate Section::required<FlopRate>(std::string_view, std::string_view);
template FlopRate Section::optional<FlopRate>(std::string_view, FlopRate, std::string_view);
template std::optional<FlopRate> Section::maybe<FlopRate>(std::string_view, std::string_view);
template bool Section::required<bool>(std::string_view, std::string_view);
template bool Section::optional<bool>(std::string_view, bool, std::string_view);
template std::optional<bool> Section::maybe<bool>(std::string_view, std::string_view);
template std::string Section::required<std::string>(std::string_view, std::string_view);
template std::string Section::optional<std::string>(std::string_view, std::string, std::string_view);
template std::optional<std::string> Section::maybe<std::string>(std::string_view, std::string_view);
template double Section::required<double>(std::string_view, std::string_view);
template double Section::optional<double>(std::string_view, double, std::string_view);
template std::optional<double> Section::maybe<double>(std::string_view, std::string_view);

}  // namespace orrery
