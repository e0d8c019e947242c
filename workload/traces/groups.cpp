#include "workload/traces/groups.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace orrery {
namespace {

// Characters of a text, telling how far the parser has read: nlohmann's events carry no position.
class CountingIterator {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  CountingIterator(const char* at, const char** read) : at_(at), read_(read) {}

  reference operator*() const { return *at_; }
  CountingIterator& operator++() {
    ++at_;
    *read_ = at_;
    return *this;
  }
  CountingIterator operator++(int) {
    CountingIterator before = *this;
    ++*this;
    return before;
  }
  bool operator==(const CountingIterator& other) const { return at_ == other.at_; }
  bool operator!=(const CountingIterator& other) const { return at_ != other.at_; }

 private:
  const char* at_;
  const char** read_;
};

// Receives the parser's events. What stands where it should not is reported once and skipped with all it contains.
class GroupsHandler final : public nlohmann::json_sax<nlohmann::json> {
 public:
  GroupsHandler(const std::string& file, std::string_view text, const TraceSet& traces, Diagnostics& diagnostics)
      : file_(file), text_(text), traces_(traces), diagnostics_(diagnostics), read_(text.data()) {}

  const char** read() { return &read_; }
  std::vector<CommunicatorGroup> take() { return std::move(groups_); }

  bool null() override { return misplaced(word_start(4), "null"); }
  bool boolean(bool value) override { return misplaced(word_start(value ? 4 : 5), value ? "true" : "false"); }
  bool string(string_t& value) override { return misplaced(string_start(), quoted(value)); }
  bool binary(binary_t&) override { return misplaced(word_start(1), "binary data"); }
  bool number_float(number_float_t, const string_t& digits) override {
    return misplaced(number_start(digits.size()), printable(digits, 40));
  }
  bool number_integer(number_integer_t value) override {
    const std::string digits = std::to_string(value);
    return misplaced(number_start(digits.size()), digits);
  }
  bool number_unsigned(number_unsigned_t value) override {
    const std::string digits = std::to_string(value);
    if (depth_ != 2) return misplaced(number_start(digits.size()), digits);
    if (skip_depth_ == 0) member(number_start(digits.size()), value);
    return true;
  }

  bool start_object(std::size_t) override { return start(1, "an object"); }
  bool start_array(std::size_t) override { return start(2, "a list"); }
  bool end_object() override { return end(); }
  bool end_array() override {
    if (depth_ == 2 && skip_depth_ == 0) end_group();
    return end();
  }
  bool key(string_t& value) override {
    if (skip_depth_ == 0) start_group(string_start(), value);
    return true;
  }
  bool parse_error(std::size_t position, const std::string&, const nlohmann::json::exception& error) override {
    std::string reason = error.what();
    // "[json.exception.parse_error.101] parse error at line 1, column 2: syntax error ...": the place is said before.
    for (const std::string_view mark : {"] ", ": "})
      if (const std::size_t at = reason.find(mark); at != std::string::npos) reason.erase(0, at + mark.size());
    fail(position == 0 ? 0 : position - 1, fmt::format("not JSON: {}", printable(reason)));
    return false;
  }

 private:
  // Offsets of the token just read. The parser is one character behind it, after a number two.
  std::size_t consumed() const { return static_cast<std::size_t>(read_ - text_.data()); }
  std::size_t word_start(std::size_t length) const { return consumed() - std::min(consumed(), length); }
  std::size_t number_start(std::size_t length) const { return word_start(length + 1); }
  std::size_t string_start() const { return consumed() < 2 ? 0 : text_.rfind('"', consumed() - 2); }

  // Lines are counted on from the last place that was asked for: a file may have an error for every word.
  Location location(std::size_t offset) {
    if (offset < counted_) line_ = 1, line_start_ = counted_ = 0;
    for (; counted_ < std::min(offset, text_.size()); ++counted_)
      if (text_[counted_] == '\n') ++line_, line_start_ = counted_ + 1;
    return {file_, line_, static_cast<int>(offset - line_start_) + 1};
  }

  static std::string quoted(const std::string& text) { return fmt::format("\"{}\"", printable(text, 40)); }

  void fail(std::size_t offset, std::string message) {
    diagnostics_.error(location(offset), std::move(message), "expected {\"name\": [global ranks], ...}");
    broken_ = true;
  }

  bool misplaced(std::size_t offset, const std::string& found) {
    if (skip_depth_ > 0) return true;
    if (!named_)
      fail(offset, fmt::format("the groups are {}, not an object", found));
    else if (depth_ == 2)
      fail(offset, fmt::format("group {}: {} is not a rank", quoted(group_.name), found));
    else
      fail(offset, fmt::format("group {} is {}, not a list of ranks", quoted(group_.name), found));
    return true;
  }

  bool start(int expected_depth, const std::string& found) {
    if (depth_ + 1 != expected_depth) {
      misplaced(word_start(1), found);
      if (skip_depth_ == 0) skip_depth_ = depth_ + 1;
    }
    ++depth_;
    return true;
  }

  bool end() {
    if (skip_depth_ == depth_) skip_depth_ = 0;
    --depth_;
    return true;
  }

  void start_group(std::size_t offset, const std::string& name) {
    group_ = {name, {}};
    members_.clear();
    named_ = true;
    broken_ = false;
    if (!names_.insert(name).second) fail(offset, fmt::format("group {} is given twice", quoted(name)));
  }

  void member(std::size_t offset, std::uint64_t rank) {
    if (rank >= traces_.ranks) {
      fail(offset, fmt::format("group {}: {}", quoted(group_.name), traces_.lacks(rank)));
    } else if (!members_.insert(rank).second) {
      fail(offset, fmt::format("group {} has rank {} twice", quoted(group_.name), rank));
    } else {
      group_.members.push_back(RankId(static_cast<std::uint32_t>(rank)));
    }
  }

  void end_group() {
    if (group_.members.empty() && !broken_)
      fail(word_start(1), fmt::format("group {} has no ranks", quoted(group_.name)));
    if (!broken_) groups_.push_back(std::move(group_));
  }

  const std::string& file_;
  std::string_view text_;
  const TraceSet& traces_;
  Diagnostics& diagnostics_;
  const char* read_;
  std::size_t counted_ = 0;  // up to where lines are counted
  int line_ = 1;
  std::size_t line_start_ = 0;
  int depth_ = 0;        // 1 within the object, 2 within a group's list
  int skip_depth_ = 0;   // everything from this depth on is skipped; 0: nothing
  bool named_ = false;   // a group's name has been read
  bool broken_ = false;  // the group has an error
  CommunicatorGroup group_;
  std::set<std::uint64_t> members_;
  std::set<std::string> names_;
  std::vector<CommunicatorGroup> groups_;
};

}  // namespace

std::vector<CommunicatorGroup> read_groups(const std::string& file, std::string_view text, const TraceSet& traces,
                                           Diagnostics& diagnostics) {
  GroupsHandler handler(file, text, traces, diagnostics);
  nlohmann::json::sax_parse(CountingIterator(text.data(), handler.read()),
                            CountingIterator(text.data() + text.size(), handler.read()), &handler);
  return handler.take();
}

}  // namespace orrery
