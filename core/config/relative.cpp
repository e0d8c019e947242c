// SPDX-License-Identifier: MIT
#include "core/config/relative.h"

#include <algorithm>
#include <cctype>
#include <span>

#include <fmt/format.h>

#include "core/config/decimal.h"
#include "core/config/other_names.h"
#include "core/suggest.h"

namespace orrery {
namespace {

constexpr std::size_t kLongestRange = 1000;

bool is_digit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }

// A number as it is written, and what stands behind it: " GB/s".
struct Written {
  Decimal number;
  std::string_view behind;

  // "GB/s"
  std::string_view unit() const {
    const std::size_t first = behind.find_first_not_of(" \t");
    return first == std::string_view::npos ? std::string_view{} : behind.substr(first);
  }
};

// Nothing of what is neither a quantity nor a number.
std::optional<Written> written(std::string_view text) {
  const auto number = take_decimal(text);
  if (!number) return std::nullopt;
  const Written whole{*number, text};
  return ratio_of_units(whole.unit(), whole.unit()) ? std::optional(whole) : std::nullopt;
}

std::optional<Decimal> positive_number(std::string_view text) {
  const auto number = take_decimal(text);
  return number && number->mantissa > 0 && text.empty() ? number : std::nullopt;
}

// The value at the end of `parts`, and the names of files on the way replaced by what is in them; null if there is none
// or after an error.
ConfigValue* find_value(ConfigValue& root, std::span<const std::string> parts, const ConfigFiles& files,
                        Diagnostics& diagnostics) {
  ConfigValue* place = &root;
  std::string_view folder;
  for (const std::string& part : parts) {
    if (!expand_named(*place, folder, files, diagnostics)) return nullptr;
    place = element_of(*place, part);
    if (place == nullptr) return nullptr;
    folder = folder_of_key(part);
  }
  return place;
}

// The same of a value that is only a default, which is written into `root`; a file that is taken by default is written
// as a whole, because a part of it would not be that file. Null where nothing is known of it.
ConfigValue* take_default(ConfigValue& root, std::span<const std::string> parts, ConfigValue resolved,
                          const Location& where) {
  ConfigValue* place = &root;
  ConfigValue* known = &resolved;
  for (const std::string& part : parts) {
    ConfigValue* const below = element_of(*known, part);
    if (below == nullptr) return nullptr;
    ConfigValue* own = element_of(*place, part);
    if (own == nullptr) {
      const ConfigEntry* entry = known->find(part);
      if (entry == nullptr || (place->kind != ConfigValue::Kind::kMap && place->kind != ConfigValue::Kind::kNull))
        return nullptr;
      const bool is_whole = below->kind != ConfigValue::Kind::kMap || !entry->defaulted.empty();
      place->kind = ConfigValue::Kind::kMap;
      place->entries.push_back({part, where, is_whole ? *below : ConfigValue{below->kind, where, {}, {}, {}}});
      own = &place->entries.back().value;
    }
    if (ConfigEntry* entry = place->find(part)) entry->defaulted.clear();  // also one that came with a whole file
    place = own;
    known = below;
  }
  return place;
}

// Guess at the step that leads nowhere, made from the keys beside it.
std::string hint_for(ConfigValue& root, std::string_view path) {
  ConfigValue* place = &root;
  for (const std::string& part : split_key_path(path)) {
    ConfigValue* const below = element_of(*place, part);
    if (below != nullptr) {
      place = below;
      continue;
    }
    std::vector<std::string> keys;
    for (const ConfigEntry& entry : place->entries) keys.push_back(entry.key);
    const std::vector<std::string> likely = likely_names(part, keys);
    if (likely.size() == 1) return fmt::format("did you mean '{}'?", likely.front());
    break;
  }
  return fmt::format("give it one: {}=VALUE; `orrery list keys` knows all keys", printable(path));
}

// Default as above; says what is wrong.
ConfigValue* default_value(ConfigValue& root, std::string_view path, const Location& where, Diagnostics& diagnostics,
                           const ResolveConfig& resolve) {
  std::string why;
  try {
    const std::vector<std::string> parts = split_key_path(path);
    if (ConfigValue* value = resolve ? take_default(root, parts, resolve(root), where) : nullptr) return value;
  } catch (const InputError& error) {
    why = fmt::format("; which default it would have is not known: {}", error.problems().front().message);
  }
  diagnostics.error(where, fmt::format("'{}' has no value that could be multiplied{}", printable(path), why),
                    hint_for(root, path));
  return nullptr;
}

}  // namespace

std::optional<std::string_view> factor_of(std::string_view text) {
  if (looks_like_path(text) || text.ends_with(".csv")) return std::nullopt;
  if (text.size() < 2 || text[0] != 'x' || !(is_digit(text[1]) || text[1] == '.' || text[1] == '-'))
    return std::nullopt;
  return text.substr(1);
}

Parsed<std::string> multiplied(std::string_view text, std::string_view factor) {
  const auto by = positive_number(factor);
  if (!by)
    return {{},
            fmt::format("'{}' is not a factor", printable(factor, 40)),
            fmt::format("a factor is a positive number of at most {} digits, above 1e-{} and below 1e{}: 2, 0.5",
                        kMostDigits, kMostDigits, kMostDigits)};
  const auto value = written(text);
  if (!value)
    return {
        {}, fmt::format("'{}' is neither a quantity nor a number, and cannot be multiplied", printable(text, 40)), {}};
  const auto number = product(value->number, *by);
  if (!number)
    return {{}, fmt::format("'{}' times {} has too many digits", printable(text, 40), printable(factor, 40)), {}};
  return {to_text(*number) + std::string(value->behind), {}, {}};
}

Parsed<std::vector<std::string>> geometric_range(std::string_view from, std::string_view to, std::string_view factor) {
  const auto first_factor = factor_of(from), last_factor = factor_of(to);
  const auto first = written(first_factor.value_or(from)), last = written(last_factor.value_or(to));
  const auto by = positive_number(factor);
  if (!by || to_double(*by) <= 1)
    return {{},
            fmt::format("'{}' does not lead from one value to a larger one", printable(factor, 40)),
            "the factor of a range is a number above 1: {from: 1, to: 8, factor: 2}"};
  const auto ratio = first && last ? ratio_of_units(last->unit(), first->unit()) : std::nullopt;
  if (!ratio || first_factor.has_value() != last_factor.has_value())
    return {{},
            fmt::format("'{}' and '{}' are not two values of one kind", printable(from, 40), printable(to, 40)),
            "a range is of quantities, of numbers or of factors: {from: x0.5, to: x2, factor: 2}"};
  const double most = to_double(last->number) * *ratio * (1 + 1e-12);  // what is equal but for rounding is in it
  std::vector<std::string> values;
  for (std::optional<Decimal> value = first->number; value && value->mantissa > 0 && to_double(*value) <= most;
       value = product(*value, *by)) {
    if (values.size() == kLongestRange)
      return {{}, fmt::format("the range has more than {} values", kLongestRange), "take a larger factor"};
    values.push_back((first_factor ? "x" : "") + to_text(*value) + std::string(first->behind));
  }
  if (values.empty())
    return {{},
            fmt::format("there is no value from '{}' to '{}'", printable(from, 40), printable(to, 40)),
            "`from` is positive, and not above `to`"};
  return {std::move(values), {}, {}};
}

void multiply_value(ConfigValue& root, std::string_view named, std::string_view factor, const Location& where,
                    const ConfigFiles& files, Diagnostics& diagnostics, const ResolveConfig& resolve) {
  const std::string path = plain_path(named);
  const std::size_t errors = diagnostics.error_count();
  ConfigValue* value = find_value(root, split_key_path(path), files, diagnostics);
  if (diagnostics.error_count() > errors) return;
  if (value == nullptr) value = default_value(root, path, where, diagnostics, resolve);
  if (value == nullptr) return;
  if (value->kind != ConfigValue::Kind::kScalar)
    return diagnostics.error(where, fmt::format("'{}' is {}; only a quantity or a number can be multiplied",
                                                printable(path), kind_name(value->kind)));
  Parsed<std::string> product = multiplied(value->scalar, factor);
  if (!product.value)
    return diagnostics.error(where, fmt::format("{}: {}", printable(path), product.problem), std::move(product.hint));
  if (const auto number = written(value->scalar); number && to_text(number->number) == "0")
    diagnostics.warning(where, fmt::format("'{}' is 0, which no factor changes", printable(path)),
                        fmt::format("give it a value: {}=...", printable(path)));
  if (stand_for_one_value(*product.value, value->scalar)) return;  // what is the same stays where it is
  *value = {ConfigValue::Kind::kScalar, where, std::move(*product.value), {}, {}};
}

}  // namespace orrery
