// SPDX-License-Identifier: MIT
// A JSON text as nlohmann's callback parser reads it. The parser's events carry no position; here it is known how far
// it has read, so that an error names line and column and a text of many values is read one at a time.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "core/error.h"

namespace orrery::workload {

class JsonText {
 public:
  using Event = nlohmann::json::parse_event_t;
  // Verdict on an event: false drops the value, or what the object or array that begins would hold.
  using Callback = nlohmann::json::parser_callback_t;

  // `file` outlives it.
  JsonText(const std::string& file, std::string_view text);

  // Reads one value from where the last one ended; what comes behind it must be stopped at by stop(), called at the
  // event of its end, or is an error. InputError where the text is no JSON.
  void parse(const Callback& callback);
  void stop() { end_ = read_; }

  // The next character that is no space, 0 at the end. It stays.
  char peek();
  bool at_end() { return peek() == '\0' && read_ == text_.data() + text_.size(); }
  // Number of characters read: within an event one beyond a number, and right to the end of anything else.
  std::size_t offset() const { return static_cast<std::size_t>(read_ - text_.data()); }
  // Within the event of a key or a scalar, its text: of strings with their quotes, of others (numbers, true) the word,
  // which a quote may follow without a space. And where a part of the text starts.
  std::string_view token(bool is_string) const;
  std::size_t start_of(std::string_view part) const { return static_cast<std::size_t>(part.data() - text_.data()); }

  Location location(std::size_t offset);
  [[noreturn]] void fail(std::size_t offset, std::string message, std::string hint = {});

 private:
  class Iterator;

  const std::string& file_;
  std::string_view text_;
  const char* read_;
  const char* end_;          // the parser sees no further
  std::size_t counted_ = 0;  // up to where lines are counted
  int line_ = 1;
  std::size_t line_start_ = 0;
};

}  // namespace orrery::workload
