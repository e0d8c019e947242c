// SPDX-License-Identifier: MIT
// The one way in which the program reads and writes JSON. nlohmann's parser takes any depth, but its values are copied,
// printed and looked at by functions that call themselves: a text that nests deeper than people and programs write is
// refused first.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <nlohmann/json.hpp>

#include "core/error.h"

namespace orrery {

inline constexpr std::size_t kDeepestJson = 256;

// Error in a JSON text, without the parser's own error numbers and positions.
class JsonError : public std::exception {
 public:
  enum class Kind : std::uint8_t { kSyntax, kNumber, kDepth };  // kNumber: beyond a double
  JsonError(Kind kind, std::size_t offset, std::string reason)
      : kind_(kind), offset_(offset), reason_(std::move(reason)) {}
  Kind kind() const { return kind_; }
  std::size_t offset() const { return offset_; }  // in bytes from the beginning of the text; its size at the end
  const std::string& reason() const { return reason_; }
  const char* what() const noexcept override { return reason_.c_str(); }

 private:
  Kind kind_;
  std::size_t offset_;
  std::string reason_;
};

// Reason out of an error of nlohmann's: "syntax error while parsing value - unexpected end of input".
std::string json_reason(const nlohmann::json::exception& error);

// JsonError where lists and objects are nested deeper than kDeepestJson; the text may be no JSON otherwise.
void check_json_depth(std::string_view text);

// The value of `text`, for nlohmann::json and nlohmann::ordered_json. `look`: nlohmann's callback, which sees values as
// they end. JsonError.
template <class Json = nlohmann::json>
Json parse_json(std::string_view text, const typename Json::parser_callback_t& look = nullptr);

// The value of `text`; none of what is no JSON.
template <class Json = nlohmann::json>
std::optional<Json> json_of(std::string_view text);

// The value as text, in lines where `indent` says by how much. Bytes that are no UTF-8, as names of files may have, are
// replaced.
std::string dump_json(const nlohmann::json& value, int indent = -1);
std::string dump_json(const nlohmann::ordered_json& value, int indent = -1);

// Calls `events` (nlohmann::json_sax) for what is in `text`. JsonError of its depth; other errors are events.
template <class Events>
void walk_json(std::string_view text, Events& events) {
  check_json_depth(text);
  nlohmann::json::sax_parse(text.begin(), text.end(), &events);
}

bool is_json(std::string_view text);

// Line and column of a place in the text of `file`.
Location place_in(const std::string& file, std::string_view text, std::size_t offset);

// Text of the member `key` of a JSON object; empty where there is none.
std::string_view json_member(std::string_view text, std::string_view key);

}  // namespace orrery
