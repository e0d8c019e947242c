// SPDX-License-Identifier: MIT
// The values of keys: what they hold by their types, as text and back.
#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

#include "core/config/config.h"
#include "core/config/quantity_text.h"
#include "core/suggest.h"

namespace orrery {
namespace {

// --- plain values

template <class T>
std::string type_name(AnyValue) {
  if constexpr (std::is_same_v<T, Bytes>) return "size";
  if constexpr (std::is_same_v<T, Bandwidth>) return "bandwidth";
  if constexpr (std::is_same_v<T, Duration>) return "time";
  if constexpr (std::is_same_v<T, Flops>) return "operations";
  if constexpr (std::is_same_v<T, FlopRate>) return "rate";
  if constexpr (std::is_same_v<T, Power>) return "power";
  if constexpr (std::is_same_v<T, Count>) return "count";
  if constexpr (std::is_same_v<T, Efficiency>) return "efficiency";
  if constexpr (std::is_same_v<T, bool>) return "true | false";
  if constexpr (std::is_same_v<T, double>) return "number or share";
  return "text";
}

template <class T>
std::string text_of(const T& value, AnyValue) {
  if constexpr (std::is_same_v<T, bool> || std::is_same_v<T, double> || std::is_same_v<T, std::string>)
    return fmt::format("{}", value);
  else
    return to_text(value);
}

// A stand-in after an error: one, where zero could be divided by.
template <class T>
T harmless(AnyValue) {
  if constexpr (std::is_same_v<T, Bandwidth> || std::is_same_v<T, FlopRate> || std::is_same_v<T, Power> ||
                std::is_same_v<T, Count> || std::is_same_v<T, Efficiency>)
    return T(1);
  else
    return T{};
}

template <class T>
Parsed<T> parse_text(const std::string& text) {
  if constexpr (std::is_same_v<T, bool>) {
    if (const auto flag = parse_boolean(text)) return {*flag, {}, {}};
    return {{}, fmt::format("'{}' is neither true nor false", printable(text, 40)), {}};
  } else if constexpr (std::is_same_v<T, double>) {
    return parse_share(text);
  } else if constexpr (std::is_same_v<T, std::string>) {
    return {text, {}, {}};
  } else {
    return parse_quantity<T>(text);
  }
}

// The value, or what is wrong with it; `path` leads to it.
template <class T>
Parsed<T> parse(const ConfigValue& value, const std::string& path, AnyValue) {
  if (value.kind != ConfigValue::Kind::kScalar)
    return {{}, fmt::format("'{}' is {}; expected: {}", path, kind_name(value.kind), type_name<T>(AnyValue())), {}};
  Parsed<T> parsed = parse_text<T>(value.scalar);
  if (!parsed.value) parsed.problem = fmt::format("{}: {}", path, parsed.problem);
  return parsed;
}

// --- whole numbers within a range

template <class>
std::string type_name(Range) {
  return "whole number";
}
std::string text_of(std::int64_t value, Range) { return fmt::format("{}", value); }
template <class>
std::int64_t harmless(Range range) {
  return range.least;
}

// True if `text` would be a whole number, were it not for too many digits.
bool is_long_number(std::string_view text) {
  return text.size() > 18 && std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

std::string hint_for_whole_number(const std::string& text, Range range) {
  const std::string slip = hint_for_number(text);
  // "4,8" is a list that has no place here, if anything.
  return slip.empty() || slip.ends_with("point") ? fmt::format("expected: {}", to_text(range)) : slip;
}

template <class>
Parsed<std::int64_t> parse(const ConfigValue& value, const std::string& path, Range range) {
  const bool is_scalar = value.kind == ConfigValue::Kind::kScalar;
  const std::optional<std::int64_t> number = is_scalar ? parse_whole_number(value.scalar) : std::nullopt;
  if (number && *number >= range.least && *number <= range.most) return {number, {}, {}};
  if (number) return {{}, fmt::format("{}: {} is out of range; expected {}", path, *number, to_text(range)), {}};
  return {{},
          fmt::format("{}: {} is {}", path,
                      is_scalar ? fmt::format("'{}'", printable(value.scalar, 40)) : kind_name(value.kind),
                      is_scalar && is_long_number(value.scalar) ? "too large" : "not a whole number"),
          is_scalar ? hint_for_whole_number(value.scalar, range) : std::string()};
}

// --- one of some names

template <class>
std::string type_name(const Names& names) {
  return fmt::format("{}", fmt::join(names, " | "));
}
std::string text_of(std::size_t value, const Names& names) { return names[value]; }
template <class>
std::size_t harmless(const Names&) {
  return 0;
}

// Words of other programs: numbers as PyTorch and Transformers call their types.
constexpr std::array<std::pair<std::string_view, std::string_view>, 8> kOtherWords = {{{"bfloat16", "bf16"},
                                                                                       {"float16", "fp16"},
                                                                                       {"half", "fp16"},
                                                                                       {"float32", "fp32"},
                                                                                       {"float", "fp32"},
                                                                                       {"float64", "fp64"},
                                                                                       {"double", "fp64"},
                                                                                       {"float8", "fp8"}}};

// The name that a word stands for: as it is written, in another spelling (AllReduce, FP8), or by another word for it.
std::optional<std::size_t> find_word(std::string_view word, const Names& names) {
  const auto exact = std::ranges::find(names, word);
  if (exact != names.end()) return static_cast<std::size_t>(exact - names.begin());
  const auto spelt = [&](std::string_view wanted) -> std::optional<std::size_t> {
    const auto is_it = [&](const std::string& name) { return plain_name(name) == wanted; };
    if (std::ranges::count_if(names, is_it) != 1) return std::nullopt;
    return static_cast<std::size_t>(std::ranges::find_if(names, is_it) - names.begin());
  };
  const std::string plain = plain_name(word);
  if (const auto found = spelt(plain)) return found;
  const auto* other = std::ranges::find(kOtherWords, plain, &std::pair<std::string_view, std::string_view>::first);
  return other == kOtherWords.end() ? std::nullopt : spelt(other->second);
}

// Words with other digits are other things, not slips of the pen: fp4 is no fp64.
std::string hint_of_word(const std::string& word, const Names& names) {
  const auto digits = [](const std::string& text) {
    std::string found;
    std::ranges::copy_if(text, std::back_inserter(found), [](char c) { return c >= '0' && c <= '9'; });
    return found;
  };
  const std::vector<std::string> likely = likely_names(word, names);
  const auto is_like = [&](const std::string& name) { return digits(name) == digits(word); };
  if (digits(word).empty() || std::ranges::any_of(likely, is_like)) return suggestion(word, names);
  return fmt::format("known: {}", fmt::join(names, ", "));
}

template <class>
Parsed<std::size_t> parse(const ConfigValue& value, const std::string& path, const Names& names) {
  if (value.kind != ConfigValue::Kind::kScalar)
    return {
        {}, fmt::format("'{}' is {}; expected one of: {}", path, kind_name(value.kind), fmt::join(names, ", ")), {}};
  if (const auto found = find_word(value.scalar, names)) return {*found, {}, {}};
  return {
      {}, fmt::format("{}: unknown value '{}'", path, printable(value.scalar, 60)), hint_of_word(value.scalar, names)};
}

}  // namespace

std::string to_text(Range range) {
  if (range.most == INT64_MAX) return fmt::format("at least {}", range.least);
  return fmt::format("{} to {}", range.least, range.most);
}

template <class Value, class Domain>
ConfigValue* Key<Value, Domain>::declare(Section& section, std::string_view fallback, bool is_required) const {
  Section::Declared key{
      {std::string(name_), type_name<Value>(domain_), std::string(fallback), std::string(meaning_), {}}, is_required};
  if constexpr (std::is_same_v<Domain, Range>) key.range = to_text(domain_);
  return section.declare(std::move(key));
}

template <class Value, class Domain>
std::optional<Value> Key<Value, Domain>::convert(Section& section, const ConfigValue& value) const {
  Parsed<Value> parsed = parse<Value>(value, section.sub_path(name_), domain_);
  if (!parsed.value) section.error(name_, std::move(parsed.problem), std::move(parsed.hint));
  return std::move(parsed.value);
}

template <class Value, class Domain>
Value Key<Value, Domain>::required(Section& section, std::string_view documented) const {
  return read(section, documented, true).value_or(harmless<Value>(domain_));
}

template <class Value, class Domain>
Value Key<Value, Domain>::optional(Section& section, Value fallback, std::string_view documented) const {
  const std::string text = text_of(fallback, domain_);
  if (ConfigValue* value = declare(section, documented.empty() ? text : documented)) {
    const std::optional<Value> given = convert(section, *value);
    value->is_default = given == fallback;
    return given.value_or(fallback);
  }
  section.set_default(name_, text, documented);
  return fallback;
}

template <class Value, class Domain>
std::optional<Value> Key<Value, Domain>::read(Section& section, std::string_view fallback, bool is_required) const {
  const ConfigValue* value = declare(section, fallback, is_required);
  return value == nullptr ? std::nullopt : convert(section, *value);
}

// Explicit instances, so that the conversion stays out of the header.
template class Key<Bytes>;
template class Key<Bandwidth>;
template class Key<Duration>;
template class Key<Flops>;
template class Key<FlopRate>;
template class Key<Power>;
template class Key<Count>;
template class Key<Efficiency>;
template class Key<bool>;
template class Key<double>;
template class Key<std::string>;
template class Key<std::int64_t, Range>;
template class Key<std::size_t, Names>;

void drop_defaults(ConfigValue& value) {
  std::erase_if(value.entries, [](const ConfigEntry& entry) { return !entry.defaulted.empty(); });
  for (ConfigEntry& entry : value.entries) drop_defaults(entry.value);
  for (ConfigValue& item : value.items) drop_defaults(item);
}

}  // namespace orrery
