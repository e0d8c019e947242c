// SPDX-License-Identifier: MIT
#include "astra/input/json_file.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "core/input_files.h"
#include "core/suggest.h"
#include "workload/chakra/file.h"

namespace orrery::astra {
namespace {

int line_of(std::string_view text, std::size_t offset) {
  return 1 + static_cast<int>(std::ranges::count(text.substr(0, std::min(offset, text.size())), '\n'));
}

}  // namespace

JsonFile::JsonFile(const std::string& path, std::string_view option) : path_(path) {
  note_input(path, InputKind::kConfiguration);
  text_ = workload::read_file(path);
  try {
    root_ = nlohmann::json::parse(text_);
  } catch (const nlohmann::json::parse_error& error) {
    const std::size_t offset = error.byte == 0 ? 0 : error.byte - 1;
    std::string reason = error.what();
    if (const std::size_t colon = reason.find(": "); colon != std::string::npos) reason = reason.substr(colon + 2);
    throw InputError({path_, line_of(text_, offset)}, fmt::format("is not JSON: {}", printable(reason, 200)),
                     fmt::format("{} names a JSON file of ASTRA-sim's", option));
  }
  if (!root_.is_object())
    throw InputError({path_}, fmt::format("holds {}, expected an object with keys", root_.type_name()),
                     fmt::format("{} names a JSON file of ASTRA-sim's", option));
}

const nlohmann::json* JsonFile::find(const std::string& key) const {
  const auto found = root_.find(key);
  return found == root_.end() ? nullptr : &*found;
}

std::int64_t JsonFile::whole(const std::string& key, std::int64_t fallback, std::int64_t least,
                             std::int64_t most) const {
  const double value = std::trunc(number(key, static_cast<double>(fallback)));
  if (value < static_cast<double>(least) || value > static_cast<double>(most))
    fail(key, fmt::format("is {}, expected {} to {}", value, least, most));
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
  if (!value.is_string()) fail(key, fmt::format("holds {}, expected a text", printable(value.dump())));
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
  const std::string quoted = fmt::format("\"{}\"", key);
  for (std::size_t at = text_.find(quoted); at != std::string::npos; at = text_.find(quoted, at + 1)) {
    const std::size_t next = text_.find_first_not_of(" \t\r\n", at + quoted.size());
    if (next != std::string::npos && text_[next] == ':') return line_of(text_, at);
  }
  return 0;
}

void JsonFile::fail(std::string_view key, const std::string& message, std::string hint) const {
  throw InputError(where(key), fmt::format("'{}' {}", key, message), std::move(hint));
}

}  // namespace orrery::astra
