// SPDX-License-Identifier: MIT
// A JSON file of ASTRA-sim's: one object, whose values are asked for by key. Errors name the line of the key.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "core/error.h"

namespace orrery::astra {

class JsonFile {
 public:
  // InputError if it cannot be read, holds no object or a key twice. `option` is the flag that names it. `warnings`
  // outlives it.
  JsonFile(const std::string& path, std::string_view option, std::vector<Problem>& warnings);

  const nlohmann::json& root() const { return root_; }
  const nlohmann::json* find(const std::string& key) const;

  // The value of a key, or the fallback without it. As in ASTRA-sim, true and false are numbers and a fraction is cut
  // off, which is a warning where it changes what is meant; another type is an error.
  std::int64_t whole(const std::string& key, std::int64_t fallback, std::int64_t least, std::int64_t most) const;
  double number(const std::string& key, double fallback) const;
  // A text of `key`.
  std::string text(const std::string& key, const nlohmann::json& value) const;
  // Index of the key's value among these words.
  std::size_t choice(const std::string& key, const std::vector<std::string>& words) const;

  int line(std::string_view key) const;
  Location where(std::string_view key) const { return {path_, line(key)}; }
  [[noreturn]] void fail(std::string_view key, const std::string& message, std::string hint = {}) const;

 private:
  void parse(std::string_view option);
  std::vector<int> lines(std::string_view key) const;

  std::string path_;
  std::string text_;
  nlohmann::json root_;
  std::vector<Problem>* warnings_;
};

}  // namespace orrery::astra
