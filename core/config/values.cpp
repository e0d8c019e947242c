// SPDX-License-Identifier: MIT
// The plain values of a Section: reading, checking and describing them.
#include <algorithm>

#include <fmt/format.h>

#include "core/config/config.h"
#include "core/config/quantity_text.h"
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
  if constexpr (std::is_same_v<T, Efficiency>) return "efficiency";
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
  if constexpr (std::is_same_v<T, Bandwidth> || std::is_same_v<T, FlopRate> || std::is_same_v<T, Efficiency>)
    return T(1);
  else
    return T{};
}

Parsed<bool> parse_flag(std::string_view text) {
  if (const auto flag = parse_boolean(text)) return {*flag, {}, {}};
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

// Whether `text` would be a whole number, had it fewer digits.
bool is_long_number(std::string_view text) {
  return text.size() > 18 && std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

}  // namespace

std::string to_text(Range range) {
  if (range.most == INT64_MAX) return fmt::format("at least {}", range.least);
  return fmt::format("{} to {}", range.least, range.most);
}

template <ConfigScalar T>
T Section::required(std::string_view key, std::string_view meaning) {
  ConfigValue* value = declare(key, type_name<T>(), "required", meaning, true);
  if (value == nullptr) return harmless<T>();
  return convert<T>(key, *value).value_or(harmless<T>());
}

template <ConfigScalar T>
T Section::optional(std::string_view key, T fallback, std::string_view meaning, std::string_view documented) {
  const std::string text = documented.empty() ? text_of(fallback) : std::string(documented);
  ConfigValue* value = declare(key, type_name<T>(), text, meaning, false);
  if (value != nullptr) return convert<T>(key, *value).value_or(fallback);
  set_default(key, text_of(fallback), documented);
  return fallback;
}

template <ConfigScalar T>
std::optional<T> Section::maybe(std::string_view key, std::string_view meaning) {
  ConfigValue* value = declare(key, type_name<T>(), "optional", meaning, false);
  if (value == nullptr) return std::nullopt;
  return convert<T>(key, *value);
}

std::int64_t Section::required_integer(std::string_view key, Range range, std::string_view meaning) {
  ConfigValue* value = declare(key, "whole number", "required", meaning, true, range);
  if (value == nullptr) return range.least;
  return convert_integer(key, *value, range).value_or(range.least);
}

std::int64_t Section::optional_integer(std::string_view key, std::int64_t fallback, Range range,
                                       std::string_view meaning) {
  ConfigValue* value = declare(key, "whole number", fmt::format("{}", fallback), meaning, false, range);
  if (value != nullptr) return convert_integer(key, *value, range).value_or(fallback);
  set_default(key, fmt::format("{}", fallback));
  return fallback;
}

std::optional<std::int64_t> Section::maybe_integer(std::string_view key, Range range, std::string_view meaning) {
  const ConfigValue* value = declare(key, "whole number", "optional", meaning, false, range);
  if (value == nullptr) return std::nullopt;
  return convert_integer(key, *value, range);
}

std::size_t Section::required_choice(std::string_view key, std::span<const std::string> names,
                                     std::string_view meaning) {
  ConfigValue* value = declare(key, fmt::format("{}", fmt::join(names, " | ")), "required", meaning, true);
  return value == nullptr ? 0 : convert_choice(key, *value, names, 0);
}

std::size_t Section::optional_choice(std::string_view key, std::span<const std::string> names, std::size_t fallback,
                                     std::string_view meaning, std::string_view documented) {
  ConfigValue* value = declare(key, fmt::format("{}", fmt::join(names, " | ")),
                               documented.empty() ? names[fallback] : documented, meaning, false);
  if (value != nullptr) return convert_choice(key, *value, names, fallback);
  set_default(key, names[fallback], documented);
  return fallback;
}

void Section::set_default(std::string_view key, std::string text, std::string_view documented) {
  if (describes()) return;
  if (value_->find(key) != nullptr) return;  // present, but without a usable value
  value_->entries.push_back({std::string(key),
                             value_->where,
                             {ConfigValue::Kind::kScalar, value_->where, std::move(text), {}, {}},
                             std::string(documented.empty() ? "default" : documented)});
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
      value.kind == ConfigValue::Kind::kScalar ? parse_whole_number(value.scalar) : std::nullopt;
  if (!number) {
    const std::string found = value.kind == ConfigValue::Kind::kScalar
                                  ? fmt::format("'{}'", printable(value.scalar, 40))
                                  : std::string(kind_name(value.kind));
    const bool long_number = value.kind == ConfigValue::Kind::kScalar && is_long_number(value.scalar);
    error(key, fmt::format("{}: {} is {}", sub_path(key), found, long_number ? "too large" : "not a whole number"));
    return std::nullopt;
  }
  if (*number >= range.least && *number <= range.most) return number;
  error(key, fmt::format("{}: {} is out of range; expected {}", sub_path(key), *number, to_text(range)));
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

// Explicit instances, so that the conversion stays out of the header.
template Bytes Section::required<Bytes>(std::string_view, std::string_view);
template Bytes Section::optional<Bytes>(std::string_view, Bytes, std::string_view, std::string_view);
template std::optional<Bytes> Section::maybe<Bytes>(std::string_view, std::string_view);
template Bandwidth Section::required<Bandwidth>(std::string_view, std::string_view);
template Bandwidth Section::optional<Bandwidth>(std::string_view, Bandwidth, std::string_view, std::string_view);
template std::optional<Bandwidth> Section::maybe<Bandwidth>(std::string_view, std::string_view);
template Duration Section::required<Duration>(std::string_view, std::string_view);
template Duration Section::optional<Duration>(std::string_view, Duration, std::string_view, std::string_view);
template std::optional<Duration> Section::maybe<Duration>(std::string_view, std::string_view);
template Flops Section::required<Flops>(std::string_view, std::string_view);
template Flops Section::optional<Flops>(std::string_view, Flops, std::string_view, std::string_view);
template std::optional<Flops> Section::maybe<Flops>(std::string_view, std::string_view);
template Efficiency Section::required<Efficiency>(std::string_view, std::string_view);
template Efficiency Section::optional<Efficiency>(std::string_view, Efficiency, std::string_view, std::string_view);
template std::optional<Efficiency> Section::maybe<Efficiency>(std::string_view, std::string_view);
template FlopRate Section::required<FlopRate>(std::string_view, std::string_view);
template FlopRate Section::optional<FlopRate>(std::string_view, FlopRate, std::string_view, std::string_view);
template std::optional<FlopRate> Section::maybe<FlopRate>(std::string_view, std::string_view);
template bool Section::required<bool>(std::string_view, std::string_view);
template bool Section::optional<bool>(std::string_view, bool, std::string_view, std::string_view);
template std::optional<bool> Section::maybe<bool>(std::string_view, std::string_view);
template std::string Section::required<std::string>(std::string_view, std::string_view);
template std::string Section::optional<std::string>(std::string_view, std::string, std::string_view, std::string_view);
template std::optional<std::string> Section::maybe<std::string>(std::string_view, std::string_view);
template double Section::required<double>(std::string_view, std::string_view);
template double Section::optional<double>(std::string_view, double, std::string_view, std::string_view);
template std::optional<double> Section::maybe<double>(std::string_view, std::string_view);

}  // namespace orrery
