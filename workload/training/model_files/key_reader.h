// SPDX-License-Identifier: MIT
// The keys of a config.json as parts of a decoder read them: by any of the names that families have for them, from the
// file or from what its model_type implies, and with a note of those that were read.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/config/config.h"
#include "core/config/tree.h"
#include "core/error.h"

namespace orrery::workload {

// Names of a key, the likeliest first; empty ones stand for none.
class KeyNames {
 public:
  KeyNames(std::initializer_list<std::string_view> names) : names_(names.begin(), names.size()) {}
  KeyNames(std::span<const std::string_view> names) : names_(names) {}

  auto begin() const { return names_.begin(); }
  auto end() const { return names_.end(); }

 private:
  std::span<const std::string_view> names_;
};

// The value of `key`; null where there is none, or a null.
const ConfigEntry* value_of(const ConfigValue& contents, std::string_view key);

// A value as messages show it.
std::string text_of(const ConfigValue& value);

// True if a value says that nothing of the kind is there: null, false, 0, an empty text, list or map.
bool says_none(const ConfigValue& value);

// True if the map of that name holds parts of the decoder.
bool is_map_of_parts(std::string_view key);
// The map with the entries of those maps in it that hold parts of the decoder: `ffn_config` {moe_top_k: 4} becomes
// "ffn_config.moe_top_k": 4.
ConfigValue flattened(const ConfigValue& contents);

class KeyReader {
 public:
  // `implied`: entries that stand where the file has none.
  KeyReader(const ConfigValue& contents, ConfigValue implied, Diagnostics& diagnostics)
      : contents_(contents), implied_(std::move(implied)), diagnostics_(diagnostics) {}

  // The first of `names` that has a value, in the file or implied; null where none has. All of them count as read.
  const ConfigEntry* value(KeyNames names);
  bool has(KeyNames names) { return value(names) != nullptr; }
  // True if the file has the key, be it null; it is not taken as read by that.
  bool is_written(std::string_view key) const { return contents_.find(key) != nullptr; }
  // Place of the key, of all keys where it is not in the file.
  Location where(std::string_view key) const;

  // The value of an entry as a whole number, or of a list that has the same one for every layer; an error and nothing
  // where it is none or out of range.
  std::optional<std::int64_t> number_of(const ConfigEntry& entry, Range range);
  std::optional<std::int64_t> number(KeyNames names, Range range);
  // A list of whole numbers; an error and nothing where it is none.
  std::optional<std::vector<std::int64_t>> numbers(const ConfigEntry& entry);
  // The first of the keys that is true or false.
  bool flag(KeyNames names, bool otherwise);
  // The text of the first key; an error where it is no word. Empty where there is none.
  std::string word(KeyNames names);

  // Marks keys as read whose parts the model does not have.
  void know(KeyNames names) { read_.insert(names.begin(), names.end()); }
  bool was_read(std::string_view key) const { return read_.contains(key); }
  std::vector<std::string> read_keys() const { return {read_.begin(), read_.end()}; }

  void error(const Location& where, std::string message, std::string hint = {}) {
    diagnostics_.error(where, std::move(message), std::move(hint));
  }
  const ConfigValue& contents() const { return contents_; }

 private:
  const ConfigValue& contents_;
  ConfigValue implied_;
  Diagnostics& diagnostics_;
  std::set<std::string, std::less<>> read_;
};

}  // namespace orrery::workload
