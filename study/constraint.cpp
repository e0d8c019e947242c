// SPDX-License-Identifier: MIT
#include "study/constraint.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "core/config/text.h"
#include "core/suggest.h"

namespace orrery::study {
namespace {

constexpr std::string_view kSigns = "*=!<>'\"";

bool is_blank(char c) { return c == ' ' || c == '\t'; }

std::optional<double> number_of(std::string_view text) {
  double number = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (code != std::errc() || end != text.data() + text.size() || !std::isfinite(number)) return std::nullopt;
  return number;
}

}  // namespace

NamedValue named_value(const std::string& text) {
  if (const std::optional<double> number = number_of(text)) return *number;
  return text;
}

Constraint::Constraint(const std::string& text, const Location& where) : text_(text), where_(where) {
  const auto refuse = [&](const std::string& problem) {
    throw InputError(where, fmt::format("'{}' is no constraint: {}", printable(text, 80), problem),
                     "for example tensor * pipeline <= 64, data >= 8, or cluster != hgx-a800");
  };
  std::size_t at = 0;
  const auto skip = [&] {
    while (at < text.size() && is_blank(text[at])) ++at;
  };
  const auto takes = [&](std::string_view sign) {
    if (text.compare(at, sign.size(), sign) != 0) return false;
    at += sign.size();
    return true;
  };
  const auto factor = [&]() -> Factor {
    skip();
    if (at == text.size()) refuse("it ends where a name or a number is expected");
    if (const char quote = text[at]; quote == '\'' || quote == '"') {
      const std::size_t end = text.find(quote, at + 1);
      if (end == std::string::npos) refuse("a quote is open");
      const std::string word = text.substr(at + 1, end - at - 1);
      at = end + 1;
      return {word, true};
    }
    const std::size_t start = at;
    while (at < text.size() && !is_blank(text[at]) && kSigns.find(text[at]) == std::string_view::npos) ++at;
    if (at == start) refuse(fmt::format("'{}' stands where a name or a number is expected", text[at]));
    return {text.substr(start, at - start), false};
  };
  const auto product = [&] {
    Product& factors = products_.emplace_back(Product{factor()});
    for (skip(); at < text.size() && text[at] == '*'; skip()) ++at, factors.push_back(factor());
  };
  product();
  while (at < text.size()) {
    Relation relation{};
    if (takes("<="))
      relation = Relation::kAtMost;
    else if (takes(">="))
      relation = Relation::kAtLeast;
    else if (takes("!="))
      relation = Relation::kUnequal;
    else if (takes("==") || takes("="))
      relation = Relation::kEqual;
    else if (takes("<"))
      relation = Relation::kLess;
    else if (takes(">"))
      relation = Relation::kMore;
    else
      refuse(fmt::format("*, =, !=, <, <=, > or >= is expected in place of '{}'", printable(text.substr(at), 20)));
    relations_.push_back(relation);
    product();
  }
  if (relations_.empty()) refuse("nothing is compared");
}

std::optional<NamedValue> Constraint::value(const Product& product, const Lookup& value_of) {
  std::optional<NamedValue> result;
  for (const Factor& factor : product) {
    NamedValue value = factor.is_quoted ? NamedValue(factor.word) : named_value(factor.word);
    if (std::holds_alternative<std::string>(value) && !factor.is_quoted)
      if (std::optional<NamedValue> named = value_of(factor.word)) value = std::move(*named);
    if (product.size() == 1) return value;
    if (!std::holds_alternative<double>(value)) return std::nullopt;
    result = (result ? std::get<double>(*result) : 1) * std::get<double>(value);
  }
  return result;
}

bool Constraint::holds(const NamedValue& one, Relation relation, const NamedValue& other) {
  if (one.index() != other.index()) return relation == Relation::kUnequal;
  switch (relation) {
    case Relation::kEqual:
      return one == other;
    case Relation::kUnequal:
      return one != other;
    default:
      break;
  }
  if (std::holds_alternative<std::string>(one)) return false;  // texts have no order
  const double a = std::get<double>(one), b = std::get<double>(other);
  switch (relation) {
    case Relation::kLess:
      return a < b;
    case Relation::kAtMost:
      return a <= b;
    case Relation::kMore:
      return a > b;
    default:
      return a >= b;
  }
}

bool Constraint::holds(const Lookup& value_of) const {
  std::optional<NamedValue> before = value(products_.front(), value_of);
  for (std::size_t i = 0; i < relations_.size(); ++i) {
    std::optional<NamedValue> next = value(products_[i + 1], value_of);
    if (!before || !next || !holds(*before, relations_[i], *next)) return false;
    before = std::move(next);
  }
  return true;
}

std::vector<std::string> Constraint::words() const {
  std::vector<std::string> words;
  for (const Product& product : products_)
    for (const Factor& factor : product)
      if (!factor.is_quoted && !number_of(factor.word)) words.push_back(factor.word);
  return words;
}

std::optional<std::string> Constraint::misnamed(std::span<const std::string> names) const {
  const auto compares = [&](std::size_t relation) {
    return relation >= relations_.size() || relations_[relation] == Relation::kEqual ||
           relations_[relation] == Relation::kUnequal;
  };
  std::optional<std::string> text;
  bool has_name = false;
  for (std::size_t i = 0; i < products_.size(); ++i)
    for (const Factor& factor : products_[i]) {
      if (factor.is_quoted || number_of(factor.word)) continue;
      if (std::ranges::find(names, factor.word) != names.end()) {
        has_name = true;
        continue;
      }
      const bool may_be_text = products_[i].size() == 1 && compares(i) && (i == 0 || compares(i - 1));
      if (!may_be_text) return factor.word;
      text = factor.word;
    }
  return has_name ? std::nullopt : std::optional(text.value_or(""));
}

void Constraint::check(std::span<const std::string> names) const {
  const std::optional<std::string> word = misnamed(names);
  if (!word) return;
  throw InputError(where_,
                   word->empty() ? fmt::format("'{}' compares nothing that has a name", printable(text_, 80))
                                 : fmt::format("'{}': unknown name '{}'", printable(text_, 80), printable(*word, 40)),
                   suggestion(*word, names));
}

}  // namespace orrery::study
