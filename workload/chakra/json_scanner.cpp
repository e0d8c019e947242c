#include "workload/chakra/json_scanner.h"

#include <algorithm>
#include <set>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/error.h"

namespace orrery {
namespace {

constexpr std::string_view kJsonSpaces = " \t\r\n";
constexpr std::size_t kMaxDepth = 64;  // a node needs four

// Sees the keys of each open object while nlohmann parses, which keeps the last of equal keys silently.
class KeyWatch {
 public:
  bool operator()(int, nlohmann::json::parse_event_t event, nlohmann::json& parsed) {
    using Event = nlohmann::json::parse_event_t;
    if (event == Event::object_start) open_.emplace_back();
    if (event == Event::object_end) open_.pop_back();
    if (event == Event::key && !open_.back().insert(parsed.get<std::string>()).second)
      twice = parsed.get<std::string>();
    return true;
  }

  std::string twice;

 private:
  std::vector<std::set<std::string>> open_;
};

// nlohmann's "[json.exception.parse_error.101] parse error at line 1, column 5: syntax error ..." from "syntax error"
// on.
std::string reason_of(const nlohmann::json::exception& error) {
  std::string_view text = error.what();
  if (const std::size_t bracket = text.find("] "); bracket != std::string_view::npos) text.remove_prefix(bracket + 2);
  const std::size_t colon = text.find(": ");
  if (text.starts_with("parse error") && colon != std::string_view::npos) text.remove_prefix(colon + 2);
  return printable(text, 200);
}

}  // namespace

void JsonPlace::fail(std::string message, std::string hint) const {
  const std::string_view before = whole_.substr(0, offset_);
  const auto lines = std::ranges::count(before, '\n');
  const std::size_t last_break = before.rfind('\n');
  const std::size_t column = last_break == std::string_view::npos ? before.size() : before.size() - last_break - 1;
  const auto as_int = [](std::size_t n) { return static_cast<int>(std::min<std::size_t>(n + 1, 2'000'000'000)); };
  throw InputError({file_, as_int(static_cast<std::size_t>(lines)), as_int(column)}, std::move(message),
                   std::move(hint));
}

char JsonScanner::peek() {
  rest_.remove_prefix(std::min(rest_.find_first_not_of(kJsonSpaces), rest_.size()));
  return rest_.empty() ? '\0' : rest_[0];
}

bool JsonScanner::accept(char c) {
  if (peek() != c || rest_.empty()) return false;
  rest_.remove_prefix(1);
  return true;
}

void JsonScanner::expect(char c) {
  if (accept(c)) return;
  if (rest_.empty()) place().fail(fmt::format("the file ends, expected '{}'", c), "the file was cut");
  place().fail(fmt::format("found '{}', expected '{}'", printable(rest_.substr(0, 1)), c));
}

std::string_view JsonScanner::take_value() {
  const char first = peek();
  if (rest_.empty()) place().fail("the file ends, expected a JSON value", "the file was cut");
  const std::size_t length = first == '"' ? string_length(rest_)
                             : first == '{' || first == '['
                                 ? bracketed_length(rest_)
                                 : std::min(rest_.find_first_of(" \t\r\n,:]}[{\""), rest_.size());
  if (length == 0) place().fail(fmt::format("found '{}', expected a JSON value", printable(rest_.substr(0, 1))));
  const std::string_view value = rest_.substr(0, length);
  rest_.remove_prefix(length);
  return value;
}

// Of the string at the start of `text`, with both quotes.
std::size_t JsonScanner::string_length(std::string_view text) const {
  std::size_t at = 1;
  while (true) {
    at = text.find_first_of("\"\\", at);
    if (at == std::string_view::npos || (text[at] == '\\' && at + 1 >= text.size()))
      place().fail("a JSON string that does not end", "the file was cut, or a quote is missing");
    if (text[at] == '"') return at + 1;
    at += 2;
  }
}

// Of the object or array at the start of `text`.
std::size_t JsonScanner::bracketed_length(std::string_view text) const {
  std::string open;
  std::size_t at = 0;
  while ((at = text.find_first_of("\"{}[]", at)) != std::string_view::npos) {
    const JsonPlace here = place().moved_to(place().offset() + at);
    const char c = text[at];
    if (c == '"') {
      at += JsonScanner(*file_, whole_, text.substr(at)).string_length(text.substr(at));
      continue;
    }
    ++at;
    if (c == '{' || c == '[') {
      open += c == '{' ? '}' : ']';
      if (open.size() > kMaxDepth) here.fail(fmt::format("JSON nested deeper than {} levels", kMaxDepth));
      continue;
    }
    if (open.back() != c) here.fail(fmt::format("found '{}', expected '{}'", c, open.back()));
    open.pop_back();
    if (open.empty()) return at;
  }
  place().fail(fmt::format("a JSON {} that does not end", text[0] == '{' ? "object" : "array"), "the file was cut");
}

nlohmann::json parse_json(const JsonPlace& place, std::string_view value) {
  KeyWatch watch;
  try {
    auto parsed = nlohmann::json::parse(value.begin(), value.end(), std::ref(watch));
    if (!watch.twice.empty()) place.fail(fmt::format("the key \"{}\" is given twice", printable(watch.twice)));
    return parsed;
  } catch (const nlohmann::json::parse_error& error) {
    place.moved_to(place.offset() + std::max<std::size_t>(error.byte, 1) - 1).fail("not JSON: " + reason_of(error));
  } catch (const nlohmann::json::exception& error) {
    place.fail("not JSON: " + reason_of(error));
  }
}

}  // namespace orrery
