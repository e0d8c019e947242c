// SPDX-License-Identifier: MIT
// Constraints between named values, as `tensor * pipeline <= 64`, `cluster != hgx-a800` or `8 <= data <= 64`: which
// plans of a search, points of a sweep, or lines of a table are wanted.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/error.h"

namespace orrery::study {

// Value of a name: a number, or a text, which is only compared for equality.
using NamedValue = std::variant<double, std::string>;
// A text that is written as a number counts as one.
NamedValue named_value(const std::string& text);

class Constraint {
 public:
  // Products of names and numbers with =, !=, <, <=, > or >= between them; texts with blanks or such signs in quotes.
  // Throws InputError at `where`.
  Constraint(const std::string& text, const Location& where);

  // Nothing for a name: this has no such value, so that it does not hold.
  using Lookup = std::function<std::optional<NamedValue>(std::string_view name)>;
  bool holds(const Lookup& value_of) const;

  // Throws InputError where it names something else than `names`: all words that are no numbers have to be, but one
  // that stands alone to be equal, or not, to what one of them stands for.
  void check(std::span<const std::string> names) const;
  // True if all names in the constraint are among `names`.
  bool is_of(std::span<const std::string> names) const { return !misnamed(names); }
  // All that may be a name.
  std::vector<std::string> words() const;
  const std::string& text() const { return text_; }
  const Location& where() const { return where_; }

 private:
  enum class Relation { kEqual, kUnequal, kLess, kAtMost, kMore, kAtLeast };
  struct Factor {
    std::string word;
    bool is_quoted = false;
  };
  using Product = std::vector<Factor>;

  // The first word that stands for nothing; empty where there is no name at all.
  std::optional<std::string> misnamed(std::span<const std::string> names) const;
  static std::optional<NamedValue> value(const Product& product, const Lookup& value_of);
  static bool holds(const NamedValue& one, Relation relation, const NamedValue& other);

  std::string text_;
  Location where_;
  std::vector<Product> products_;
  std::vector<Relation> relations_;  // between one and the next
};

}  // namespace orrery::study
