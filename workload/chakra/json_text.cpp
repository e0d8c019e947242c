// SPDX-License-Identifier: MIT
#include "workload/chakra/json_text.h"

#include <algorithm>
#include <climits>
#include <iterator>
#include <utility>

#include <fmt/format.h>

#include "core/files/json.h"

namespace orrery::workload {
namespace {

constexpr std::string_view kJsonSpaces = " \t\r\n";
constexpr std::string_view kJsonWord = "+-.0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

}  // namespace

// All copies read on from the same place.
class JsonText::Iterator {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  Iterator(JsonText& text, bool is_end) : text_(&text), is_end_(is_end) {}

  reference operator*() const { return *text_->read_; }
  Iterator& operator++() {
    ++text_->read_;
    return *this;
  }
  bool operator==(const Iterator& other) const { return is_end_ == other.is_end_ || text_->read_ == text_->end_; }
  bool operator!=(const Iterator& other) const { return !(*this == other); }

 private:
  JsonText* text_;
  bool is_end_;
};

JsonText::JsonText(const std::string& file, std::string_view text)
    : file_(file), text_(text), read_(text.data()), end_(text.data()) {
  if (text.starts_with(kByteOrderMark)) read_ += kByteOrderMark.size();
  try {
    check_json_depth(text);
  } catch (const JsonError& error) {
    fail(error.offset(), "not JSON that can be read: " + error.reason());
  }
}

void JsonText::parse(const Callback& callback) {
  const std::size_t start = offset();
  end_ = text_.data() + text_.size();
  const auto fail_at = [&](std::size_t at, const nlohmann::json::exception& error) {
    fail(at, "not JSON: " + json_reason(error), at >= text_.size() ? "the file was cut" : "");
  };
  try {
    [[maybe_unused]] const auto kept = nlohmann::json::parse(Iterator(*this, false), Iterator(*this, true), callback);
  } catch (const nlohmann::json::parse_error& error) {
    fail_at(start + std::max<std::size_t>(error.byte, 1) - 1, error);
  } catch (const nlohmann::json::exception& error) {
    fail_at(start_of(token(false)), error);  // a number beyond its range
  }
}

char JsonText::peek() {
  const std::string_view rest = text_.substr(offset());
  read_ += std::min(rest.find_first_not_of(kJsonSpaces), rest.size());
  return offset() == text_.size() ? '\0' : *read_;
}

std::string_view JsonText::token(bool is_string) const {
  if (!is_string) {
    const std::size_t end = text_.find_last_of(kJsonWord, offset() - 1) + 1;
    const std::size_t start = text_.find_last_not_of(kJsonWord, end - 1) + 1;
    return text_.substr(start, end - start);
  }
  std::size_t start = text_.rfind('"', offset() - 2);
  while (start > 0 && start != std::string_view::npos && text_[start - 1] == '\\') start = text_.rfind('"', start - 1);
  return text_.substr(start, offset() - start);
}

Location JsonText::location(std::size_t offset) {
  // On from the last place that was asked for: a file may have an error for every word.
  if (offset < counted_) line_ = 1, line_start_ = counted_ = 0;
  for (; counted_ < std::min(offset, text_.size()); ++counted_)
    if (text_[counted_] == '\n') ++line_, line_start_ = counted_ + 1;
  return {file_, line_, static_cast<int>(std::min<std::size_t>(offset - line_start_ + 1, INT_MAX))};
}

void JsonText::fail(std::size_t offset, std::string message, std::string hint) {
  throw InputError(location(offset), std::move(message), std::move(hint));
}

}  // namespace orrery::workload
