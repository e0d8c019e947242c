// SPDX-License-Identifier: MIT
#include "experiment/launchers/shell_words.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstdint>

#include <fmt/format.h>

namespace orrery::experiment {
namespace {

bool is_name_character(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }
// Stands for a line end behind a backslash: a blank.
constexpr char kContinued = '\f';

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == kContinued; }

// Marks around what is not known in values, so that each field of a value that is split has its own.
constexpr char kUnknownBegin = '\x01', kUnknownEnd = '\x02';

std::string_view first_unknown(std::string_view text) {
  const std::size_t begin = text.find(kUnknownBegin);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin + 1, text.find(kUnknownEnd, begin) - begin - 1);
}

std::size_t name_length(std::string_view text) {
  std::size_t length = 0;
  while (length < text.size() && is_name_character(text[length])) ++length;
  return length > 0 && std::isdigit(static_cast<unsigned char>(text[0])) != 0 ? 0 : length;
}

// Length of the part from an opening mark at `at` to the one that closes it, both included.
std::size_t nested_length(std::string_view text, std::size_t at, char open, char close) {
  int depth = 0;
  for (std::size_t i = at; i < text.size(); ++i) {
    if (text[i] == open) ++depth;
    if (text[i] == close && --depth == 0) return i - at + 1;
  }
  return text.size() - at;
}

// Whole numbers with + - * / % and brackets; nothing of anything else. Variables have been put in.
class Arithmetic {
 public:
  explicit Arithmetic(std::string_view text) : text_(text) {}

  std::optional<std::int64_t> value() {
    const std::optional<std::int64_t> value = sum();
    skip();
    return at_ == text_.size() ? value : std::nullopt;
  }

 private:
  void skip() {
    while (at_ < text_.size() && is_blank(text_[at_])) ++at_;
  }
  bool take(char c) {
    skip();
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  std::optional<std::int64_t> factor() {
    if (++depth_ > 100) return std::nullopt;
    if (take('-')) {
      const auto value = factor();
      std::int64_t negative = 0;
      if (!value || __builtin_sub_overflow(std::int64_t{0}, *value, &negative)) return std::nullopt;
      return negative;
    }
    if (take('(')) {
      const auto value = sum();
      return take(')') ? value : std::nullopt;
    }
    skip();
    const std::string_view rest = std::string_view(text_).substr(at_);
    const bool is_hex = rest.starts_with("0x") || rest.starts_with("0X");
    const bool is_octal =
        !is_hex && rest.size() > 1 && rest[0] == '0' && std::isdigit(static_cast<unsigned char>(rest[1])) != 0;
    std::int64_t number = 0;
    const auto [end, problem] = std::from_chars(rest.data() + (is_hex ? 2 : 0), rest.data() + rest.size(), number,
                                                is_hex     ? 16
                                                : is_octal ? 8
                                                           : 10);
    if (problem != std::errc()) return std::nullopt;
    at_ += static_cast<std::size_t>(end - rest.data());
    return number;
  }
  std::optional<std::int64_t> product() {
    std::optional<std::int64_t> left = factor();
    while (left) {
      const char op = take('*') ? '*' : take('/') ? '/' : take('%') ? '%' : '\0';
      if (op == '\0') break;
      const std::optional<std::int64_t> right = factor();
      if (!right || (op != '*' && *right == 0)) return std::nullopt;
      std::int64_t result = 0;
      // The least number has no negative.
      if (op != '*' && *right == -1 && __builtin_sub_overflow(std::int64_t{0}, *left, &result)) return std::nullopt;
      if (op == '*' && __builtin_mul_overflow(*left, *right, &result)) return std::nullopt;
      left = op == '*' ? result : op == '/' ? *left / *right : *left % *right;
    }
    return left;
  }
  std::optional<std::int64_t> sum() {
    std::optional<std::int64_t> left = product();
    while (left) {
      const char op = take('+') ? '+' : take('-') ? '-' : '\0';
      if (op == '\0') break;
      const std::optional<std::int64_t> right = product();
      std::int64_t result = 0;
      if (!right ||
          (op == '+' ? __builtin_add_overflow(*left, *right, &result) : __builtin_sub_overflow(*left, *right, &result)))
        return std::nullopt;
      left = result;
    }
    return left;
  }

  std::string_view text_;
  std::size_t at_ = 0;
  int depth_ = 0;
};

}  // namespace

// Expands one word; fields are split at blanks of values that are not quoted.
class Expansion {
 public:
  Expansion(const ShellVariables& variables, const RawWord& word, bool splits, int depth)
      : variables_(variables), text_(word.text), line_(word.line), splits_(splits), depth_(depth) {}

  std::vector<ShellField> run() {
    while (at_ < text_.size() && size_ < kMost) step();
    flush();
    *variables_.work_ += text_.size() + size_ + fields_.size() * sizeof(ShellField);
    return std::move(fields_);
  }

 private:
  void open() {
    if (!current_) current_ = ShellField{{}, line_, {}};
  }
  void flush() {
    if (current_) {
      current_->unknown = first_unknown(current_->text);
      fields_.push_back(std::move(*current_));
    }
    current_.reset();
  }
  void literal(char c) {
    open();
    current_->text += c;
    ++size_;
    if (c == '\n' || c == kContinued) ++line_;
  }

  void step() {
    const char c = text_[at_];
    if (c == '\'' && !quoted_) {
      single_quotes();
    } else if (c == '"') {
      quoted_ = !quoted_;
      open();
      ++at_;
    } else if (c == '\\' && at_ + 1 < text_.size()) {
      backslash();
    } else if (c == '$') {
      dollar();
    } else if (c == '`') {
      const std::size_t end = std::min(text_.find('`', at_ + 1), text_.size() - 1);
      unknown(std::string(text_.substr(at_, end - at_ + 1)));
      at_ = end + 1;
    } else {
      literal(c);
      ++at_;
    }
  }

  void single_quotes() {
    open();
    ++at_;
    while (at_ < text_.size() && text_[at_] != '\'') literal(text_[at_++]);
    ++at_;
  }

  void backslash() {
    const char next = text_[at_ + 1];
    if (next == '\n') {
      literal(kContinued);  // lines are counted by it
    } else {
      if (quoted_ && next != '$' && next != '"' && next != '\\' && next != '`') literal('\\');
      literal(next);
    }
    at_ += 2;
  }

  void unknown(const std::string& name) {
    open();
    current_->text += kUnknownBegin + name + kUnknownEnd;
  }

  void dollar() {
    const std::string_view rest = text_.substr(at_);
    if (rest.starts_with("$((")) {
      const std::size_t length = nested_length(text_, at_ + 1, '(', ')');
      arithmetic(rest.substr(3, length >= 4 ? length - 4 : 0));
      at_ += 1 + length;
    } else if (rest.starts_with("$(")) {
      const std::size_t length = nested_length(text_, at_ + 1, '(', ')');
      unknown(std::string(rest.substr(0, 1 + length)));
      at_ += 1 + length;
    } else if (rest.starts_with("${")) {
      const std::size_t length = nested_length(text_, at_ + 1, '{', '}');
      braces(rest.substr(2, length >= 2 ? length - 2 : 0));
      at_ += 1 + length;
    } else if (rest.starts_with("$#")) {
      literal('0');  // the same
      at_ += 2;
    } else if (rest.starts_with("$@") || rest.starts_with("$*")) {
      at_ += 2;  // arguments of the script itself: none
    } else if (const std::size_t length = name_length(rest.substr(1)); length > 0) {
      variable(rest.substr(1, length), false);
      at_ += 1 + length;
    } else if (rest.size() > 1 && std::isdigit(static_cast<unsigned char>(rest[1])) != 0) {
      variable(rest.substr(1, 1), false);
      at_ += 2;
    } else {
      literal('$');
      ++at_;
    }
  }

  void arithmetic(std::string_view text) {
    std::string plain, missing;
    for (std::size_t i = 0; i < text.size();) {
      std::size_t start = text[i] == '$' ? i + 1 : i;
      const bool has_braces = start < text.size() && text[start] == '{';
      if (has_braces) ++start;
      const std::size_t length = start < text.size() ? name_length(text.substr(start)) : 0;
      if (length == 0) {
        plain += text[i++];
        continue;
      }
      const std::string_view inside =
          has_braces ? text.substr(start, text.find('}', start) - start) : text.substr(start, length);
      const ShellField value = variables_.expand_whole({fmt::format("${{{}}}", inside), line_}, depth_ + 1);
      if (!value.unknown.empty() && missing.empty()) missing = value.unknown;
      plain += "(" + value.text + ")";
      i = start + (has_braces ? inside.size() + 1 : length);
    }
    const std::optional<std::int64_t> value = missing.empty() ? Arithmetic(plain).value() : std::nullopt;
    if (!value) return unknown(missing.empty() ? fmt::format("$(({}))", text) : missing);
    for (const char c : std::to_string(*value)) literal(c);
  }

  void variable(std::string_view name, bool all) {
    const ShellVariable* found = variables_.find(name);
    if (found == nullptr) return unknown(std::string(name));
    if (found->values.empty()) return;
    if (!all) return insert(found->values.front());
    for (std::size_t i = 0; i < found->values.size(); ++i) {
      if (i > 0) flush();
      insert(found->values[i]);
    }
  }

  // Puts a value in; its blanks end fields where it is not quoted.
  void insert(const ShellField& value) {
    size_ += value.text.size();
    if (!splits_ || quoted_) {
      open();
      if (current_->text.empty()) current_->line = value.line;
      // Lines are those of the text around it.
      for (const char c : value.text) current_->text += c == '\n' || c == kContinued ? ' ' : c;
      return;
    }
    int line = value.line;
    bool is_unknown = false;  // of whose name blanks are a part
    for (const char c : value.text) {
      if (c == kUnknownBegin || c == kUnknownEnd) is_unknown = c == kUnknownBegin;
      if (c == '\n' || c == kContinued) ++line;
      if (is_blank(c) && !is_unknown) {
        flush();
        continue;
      }
      if (!current_) current_ = ShellField{{}, line, {}};
      current_->text += c;
    }
  }

  // Text within ${...}.
  void braces(std::string_view inside) {
    const bool counts = inside.starts_with('#');
    if (counts) inside.remove_prefix(1);
    std::size_t length = name_length(inside);
    if (length == 0 && !inside.empty() && std::isdigit(static_cast<unsigned char>(inside[0])) != 0) length = 1;
    if (length == 0 && (inside.starts_with('@') || inside.starts_with('*'))) return;
    const std::string_view name = inside.substr(0, length);
    std::string_view rest = inside.substr(length);
    const bool all = rest.starts_with("[@]") || rest.starts_with("[*]");
    if (all) rest.remove_prefix(3);
    const ShellVariable* found = variables_.find(name);
    if (counts) return count(name, found);
    if (rest.empty()) return variable(name, all);
    const bool with_colon = rest.starts_with(':');
    const char op = rest.size() > (with_colon ? 1U : 0U) ? rest[with_colon ? 1 : 0] : '\0';
    if (op != '-' && op != '=' && op != '+' && op != '?') return unknown(fmt::format("${{{}}}", inside));
    const bool has_value =
        found != nullptr && (!with_colon || (!found->values.empty() && !found->values.front().text.empty()));
    const RawWord other{std::string(rest.substr(with_colon ? 2 : 1)), line_};
    if (op == '+' ? !has_value : has_value) return op == '+' ? void() : variable(name, all);
    if (op == '?') return unknown(std::string(name));
    insert(variables_.expand_whole(other, depth_ + 1));
  }

  void count(std::string_view name, const ShellVariable* found) {
    if (found == nullptr) return unknown(std::string(name));
    const std::size_t number = found->is_array ? found->values.size() : found->values.front().text.size();
    for (const char c : std::to_string(number)) literal(c);
  }

  static constexpr std::size_t kMost = std::size_t{1} << 20;  // no command is longer

  const ShellVariables& variables_;
  std::string_view text_;
  int line_;
  bool splits_;
  int depth_;             // of values within values
  std::size_t size_ = 0;  // of what has been put out
  std::size_t at_ = 0;
  bool quoted_ = false;
  std::optional<ShellField> current_;
  std::vector<ShellField> fields_;
};

std::string plain_text(std::string_view text) {
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool is_name = text[i] == kUnknownBegin && i + 1 < text.size() && text[i + 1] != '$' && text[i + 1] != '`';
    if (is_name) plain += '$';
    if (text[i] != kUnknownBegin && text[i] != kUnknownEnd) plain += text[i] == kContinued ? ' ' : text[i];
  }
  return plain;
}

void ShellVariables::define(const std::string& name, const std::string& value) {
  variables_[name] = {{{value, 0, {}}}, false};
  fixed_[name] = true;
}

void ShellVariables::set(const std::string& name, ShellVariable value) {
  if (!fixed_.contains(name)) variables_[name] = std::move(value);
}

void ShellVariables::unset(const std::string& name) {
  if (!fixed_.contains(name)) variables_.erase(name);
}

void ShellVariables::forget(const std::string& name) {
  set(name, {{{kUnknownBegin + name + kUnknownEnd, 0, name}}, false});
}

const ShellVariable* ShellVariables::find(std::string_view name) const {
  const auto found = variables_.find(name);
  return found == variables_.end() ? nullptr : &found->second;
}

ShellVariable ShellVariables::kept(const ShellVariable& variable) const {
  for (const ShellField& field : variable.values) *work_ += field.text.size() + sizeof field;
  return variable;
}

ShellVariables ShellVariables::kept() const {
  for (const auto& [name, variable] : variables_)
    for (const ShellField& field : variable.values) *work_ += field.text.size() + sizeof field;
  return *this;
}

bool ShellVariables::assign(const RawWord& word, std::string& name) {
  const std::size_t length = name_length(word.text);
  const std::string_view rest = std::string_view(word.text).substr(length);
  const bool appends = rest.starts_with("+=");
  if (length == 0 || (!appends && !rest.starts_with('='))) return false;
  name = word.text.substr(0, length);
  const std::string_view value = rest.substr(appends ? 2 : 1);
  ShellVariable variable;
  if (value.starts_with('(')) {
    variable.is_array = true;
    variable.values = elements(value.substr(1, value.size() - (value.ends_with(')') ? 2 : 1)), word.line);
  } else {
    variable.values.push_back(expand_whole({std::string(value), word.line}));
  }
  if (const ShellVariable* before = appends ? find(name) : nullptr; before != nullptr && !before->values.empty()) {
    if (variable.is_array) {
      variable.values.insert(variable.values.begin(), before->values.begin(), before->values.end());
    } else {
      ShellField& field = variable.values.front();
      const ShellField& first = before->values.front();
      field = {first.text + field.text, first.line, first.unknown.empty() ? field.unknown : first.unknown};
    }
  }
  set(name, std::move(variable));
  return true;
}

std::vector<ShellField> ShellVariables::expand(const RawWord& word) const {
  return Expansion(*this, word, true, 0).run();
}

ShellField ShellVariables::expand_whole(const RawWord& word, int depth) const {
  constexpr int kMostNested = 50;
  if (depth > kMostNested) return {word.text, word.line, word.text};
  std::vector<ShellField> fields = Expansion(*this, word, false, depth).run();
  ShellField whole{{}, word.line, {}};
  for (ShellField& field : fields) {
    if (&field == &fields.front()) whole.line = field.line;
    whole.text += (&field == &fields.front() ? "" : " ") + field.text;
    if (whole.unknown.empty()) whole.unknown = field.unknown;
  }
  return whole;
}

std::vector<ShellField> ShellVariables::elements(std::string_view text, int line) const {
  std::optional<int> open_quote;
  std::vector<ShellField> fields;
  for (const ShellCommand& command : shell_commands(text, line, open_quote))
    for (const RawWord& word : command.words)
      for (ShellField& field : expand(word)) fields.push_back(std::move(field));
  return fields;
}

}  // namespace orrery::experiment
