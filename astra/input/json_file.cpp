// SPDX-License-Identifier: MIT
#include "astra/input/json_file.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <set>

#include <fmt/format.h>

#include "core/files/input_files.h"
#include "core/files/json.h"
#include "core/files/read_file.h"
#include "core/suggest.h"

namespace orrery::astra {
namespace {

int line_of(std::string_view text, std::size_t offset) {
  return 1 + static_cast<int>(std::ranges::count(text.substr(0, std::min(offset, text.size())), '\n'));
}

}  // namespace

JsonFile::JsonFile(const std::string& path, std::string_view option, std::vector<Problem>& warnings)
    : path_(path), warnings_(&warnings) {
  note_input(path, InputKind::kConfiguration);
  text_ = read_text(path);
  parse(option);
  if (!root_.is_object())
    throw InputError({path_}, fmt::format("holds {}, expected an object with keys", root_.type_name()),
                     fmt::format("{} names a JSON file of ASTRA-sim's", option));
}

void JsonFile::parse(std::string_view option) {
  std::string key;
  std::set<std::string, std::less<>> keys;
  const auto note = [&](int depth, nlohmann::json::parse_event_t event, const nlohmann::json& parsed) {
    if (event != nlohmann::json::parse_event_t::key || depth != 1) return true;
    key = parsed.get<std::string>();
    if (keys.insert(key).second) return true;
    const std::vector<int> at = lines(key);
    throw InputError({path_, at.empty() ? 0 : at.back()}, fmt::format("the key '{}' is given twice", printable(key)),
                     "ASTRA-sim takes the last of them; leave one out");
  };
  try {
    root_ = parse_json(text_, note);
  } catch (const JsonError& error) {
    if (error.kind() == JsonError::Kind::kNumber)
      throw InputError(where(key),
                       (key.empty() ? "" : fmt::format("'{}' ", printable(key))) + "holds a number that is too large",
                       "numbers end at 1.8e308");
    throw InputError({path_, line_of(text_, error.offset())}, fmt::format("is not JSON: {}", error.reason()),
                     fmt::format("{} names a JSON file of ASTRA-sim's", option));
  }
}

const nlohmann::json* JsonFile::find(const std::string& key) const {
  const auto found = root_.find(key);
  return found == root_.end() ? nullptr : &*found;
}

std::int64_t JsonFile::whole(const std::string& key, std::int64_t fallback, std::int64_t least,
                             std::int64_t most) const {
  const double given = number(key, static_cast<double>(fallback));
  const double value = std::trunc(given);
  if (value < static_cast<double>(least) || value > static_cast<double>(most))
    fail(key, fmt::format("is {}, expected {} to {}", value, least, most));
  const nlohmann::json* written = find(key);
  const bool is_switch = most == 1;  // true and false are meant
  if (value != given || (written != nullptr && written->is_boolean() && !is_switch))
    warnings_->push_back({Severity::kWarning, where(key),
                          fmt::format("'{}' is {}, of which ASTRA-sim takes {}", key, written->dump(), value),
                          "write a whole number"});
  return static_cast<std::int64_t>(value);
}

double JsonFile::number(const std::string& key, double fallback) const {
  const nlohmann::json* value = find(key);
  if (value == nullptr) return fallback;
  if (value->is_boolean()) return value->get<bool>() ? 1 : 0;
  if (!value->is_number()) fail(key, fmt::format("is {}, expected a number", printable(value->dump())));
  const double number = value->get<double>();
  if (!std::isfinite(number) || number < 0) fail(key, fmt::format("is {}, expected a number of at least 0", number));
  return number;
}

std::string JsonFile::text(const std::string& key, const nlohmann::json& value) const {
  if (!value.is_string()) fail(key, fmt::format("holds {}, expected a text", printable(dump_json(value))));
  return value.get<std::string>();
}

std::size_t JsonFile::choice(const std::string& key, const std::vector<std::string>& words) const {
  const std::string word = text(key, root_.at(key));
  const auto found = std::ranges::find(words, word);
  if (found == words.end())
    fail(key, fmt::format("is '{}', which is unknown", printable(word)), suggestion(word, words));
  return static_cast<std::size_t>(found - words.begin());
}

int JsonFile::line(std::string_view key) const {
  const std::vector<int> all = lines(key);
  return all.empty() ? 0 : all.front();
}

std::vector<int> JsonFile::lines(std::string_view key) const {
  std::vector<int> all;
  const std::string quoted = fmt::format("\"{}\"", key);
  for (std::size_t at = text_.find(quoted); at != std::string::npos; at = text_.find(quoted, at + 1)) {
    const std::size_t next = text_.find_first_not_of(" \t\r\n", at + quoted.size());
    if (next != std::string::npos && text_[next] == ':') all.push_back(line_of(text_, at));
  }
  return all;
}

void JsonFile::fail(std::string_view key, const std::string& message, std::string hint) const {
  throw InputError(where(key), fmt::format("'{}' {}", printable(key), message), std::move(hint));
}

}  // namespace orrery::astra
