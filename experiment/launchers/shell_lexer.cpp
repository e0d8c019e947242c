// SPDX-License-Identifier: MIT
#include <algorithm>
#include <array>
#include <cctype>

#include "experiment/launchers/shell_words.h"

namespace orrery::experiment {
namespace {

class ShellLexer {
 public:
  ShellLexer(std::string_view text, int line) : text_(text), line_(line) {}

  std::vector<ShellCommand> read(std::optional<int>& open_quote) {
    while (at_ < text_.size()) step();
    finish("\n");
    open_quote = open_quote_;
    return std::move(commands_);
  }

 private:
  char peek(std::size_t ahead = 0) const { return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0'; }
  bool starts(std::string_view what) const { return text_.substr(at_).starts_with(what); }

  void finish(std::string end) {
    const bool is_mark = end == "(" || end == ")" || end == ";;" || end == "&&" || end == "||";
    if (!command_.words.empty() || is_mark) {
      command_.end = std::move(end);
      command_.line = command_.words.empty() ? line_ : command_.words.front().line;
      commands_.push_back(std::move(command_));
    }
    command_ = {};
    test_ = Test::kNone;
  }

  void step() {
    const char c = peek();
    if (c == '\n') {
      finish("\n");
      next_line();
    } else if (starts("\\\n")) {
      ++at_;
      next_line();
    } else if (c == ' ' || c == '\t' || c == '\r' || c == '\f') {
      if (c == '\f') ++line_;  // a line end behind a backslash, in a value
      ++at_;
    } else if (c == '#') {
      while (at_ < text_.size() && peek() != '\n') ++at_;
    } else if (!separator()) {
      word();
    }
  }

  // A line end, and the here-documents that were asked for on the line.
  void next_line() {
    ++at_;
    ++line_;
    for (const std::string& end : here_documents_) skip_document(end);
    here_documents_.clear();
  }

  void skip_document(const std::string& end) {
    while (at_ < text_.size()) {
      const std::size_t stop = std::min(text_.find('\n', at_), text_.size());
      std::string_view line = text_.substr(at_, stop - at_);
      while (!line.empty() && (line.front() == '\t' || line.front() == ' ')) line.remove_prefix(1);
      at_ = std::min(stop + 1, text_.size());
      ++line_;
      if (line == end) return;
    }
  }

  void add_word(std::string text, int line) {
    if (test_ == Test::kNone && text == "[[") test_ = Test::kOpen;
    if (test_ == Test::kOpen && text == "]]") test_ = Test::kClosed;
    command_.words.push_back({std::move(text), line});
  }

  // "((" as a word, and what stands before "))" as another.
  bool arithmetic() {
    if (!starts("((")) return false;
    const std::size_t end = std::min(text_.find("))", at_), text_.size());
    add_word("((", line_);
    add_word(std::string(text_.substr(at_ + 2, end - std::min(end, at_ + 2))), line_);
    line_ += static_cast<int>(std::ranges::count(text_.substr(at_, end - at_), '\n'));
    at_ = std::min(end + 2, text_.size());
    return true;
  }

  bool separator() {
    if (test_ == Test::kOpen) {  // "[[ a && b < c ]]": marks between the brackets are words
      for (const std::string_view mark : {"&&", "||", "|", "(", ")", "<", ">"})
        if (starts(mark)) {
          add_word(std::string(mark), line_);
          at_ += mark.size();
          return true;
        }
    }
    if (arithmetic()) return true;
    for (const std::string_view mark : {";;", "&&", "||", ";", "|", "&", ")", "("}) {
      if (!starts(mark)) continue;
      if (mark == "&" && peek(1) == '>') return false;
      at_ += mark.size();
      if (mark == "(" && peek() == ')') {  // of a function's definition
        ++at_;
        finish("()");
        return true;
      }
      finish(std::string(mark));
      return true;
    }
    return false;
  }

  bool redirection(const std::string& so_far) {
    const char c = peek();
    if (c != '<' && c != '>' && !(c == '&' && peek(1) == '>')) return false;
    if (!std::ranges::all_of(so_far, [](unsigned char d) { return std::isdigit(d) != 0; })) return false;
    const bool is_here = starts("<<") && !starts("<<<");
    while (at_ < text_.size() && (peek() == '<' || peek() == '>' || peek() == '&' || peek() == '-')) ++at_;
    while (peek() == ' ' || peek() == '\t') ++at_;
    std::string target;
    take_word(target);
    if (is_here) {
      std::erase_if(target, [](char t) { return t == '\'' || t == '"' || t == '\\'; });
      here_documents_.push_back(target);
    }
    return true;
  }

  void word() {
    const int line = line_;
    std::string text;
    if (redirection(text)) return;
    take_word(text);
    if ((peek() == '<' || peek() == '>') && redirection(text)) return;
    if (!text.empty())
      add_word(std::move(text), line);
    else
      ++at_;  // a character that begins no word
  }

  bool ends_word(char c) const {
    return c == ' ' || c == '\t' || c == '\f' || c == '\n' || c == '\r' || c == ';' || c == '|' || c == '&' ||
           c == '<' || c == '>' || c == ')' || c == '(';
  }

  void take_word(std::string& word) {
    while (at_ < text_.size()) {
      const char c = peek();
      if (starts("\\\n")) return;
      if (c == '(' && word.ends_with('=')) {
        nested('(', ')', word);
      } else if (ends_word(c)) {
        return;
      } else {
        part(word);
      }
    }
  }

  void copy(std::string& word) {
    if (peek() == '\n') ++line_;
    word += text_[at_++];
  }

  // One character, or all of a quoted or nested part.
  void part(std::string& word) {
    const char c = peek();
    if (depth_ > kMostNested) {
      copy(word);
    } else if (c == '\\' && at_ + 1 < text_.size()) {
      copy(word);
      copy(word);
    } else if (c == '\'') {
      quoted('\'', word);
    } else if (c == '"') {
      quoted('"', word);
    } else if (c == '`') {
      quoted('`', word);
    } else if (starts("$(")) {
      copy(word);
      nested('(', ')', word);
    } else if (starts("${")) {
      copy(word);
      nested('{', '}', word);
    } else {
      copy(word);
    }
  }

  void quoted(char mark, std::string& word) {
    const int began = line_;
    ++depth_;
    copy(word);
    while (at_ < text_.size() && peek() != mark) {
      if (mark != '\'' && peek() == '\\' && at_ + 1 < text_.size()) {
        copy(word);
        copy(word);
      } else if (mark == '"' && (starts("$(") || starts("${") || peek() == '`')) {
        part(word);
      } else {
        copy(word);
      }
    }
    if (at_ < text_.size())
      copy(word);
    else if (!open_quote_)
      open_quote_ = began;
    --depth_;
  }

  void nested(char open, char close, std::string& word) {
    ++depth_;
    copy(word);
    for (int depth = 1; at_ < text_.size() && depth > 0;) {
      const char c = peek();
      const bool begins_word =
          !word.empty() && (std::isspace(static_cast<unsigned char>(word.back())) != 0 || word.back() == '(');
      if (c == '#' && begins_word && open == '(') {  // a comment in an array
        while (at_ < text_.size() && peek() != '\n') ++at_;
      } else if (c == open) {
        ++depth;
        copy(word);
      } else if (c == close) {
        --depth;
        copy(word);
      } else {
        part(word);
      }
    }
    --depth_;
  }

  static constexpr int kMostNested = 100;

  std::string_view text_;
  std::size_t at_ = 0;
  int line_;
  int depth_ = 0;  // of quotes and brackets
  ShellCommand command_;
  enum class Test : std::uint8_t { kNone, kOpen, kClosed } test_ = Test::kNone;  // of the command's first "[["
  std::vector<ShellCommand> commands_;
  std::vector<std::string> here_documents_;
  std::optional<int> open_quote_;
};

}  // namespace

std::vector<ShellCommand> shell_commands(std::string_view text, int first_line, std::optional<int>& open_quote) {
  return ShellLexer(text, first_line).read(open_quote);
}

bool begins_loop(std::string_view word) {
  return word == "for" || word == "while" || word == "until" || word == "select";
}

void drop(ShellCommand& command, std::size_t count) {
  command.words.erase(command.words.begin(),
                      command.words.begin() + static_cast<std::ptrdiff_t>(std::min(count, command.words.size())));
}

namespace {

// Counts how many more of what `opens` than of `closes` are among the keywords that a command begins with.
int depth_of(const ShellCommand& command, bool (*opens)(std::string_view), std::string_view closes) {
  constexpr std::array<std::string_view, 6> kOthers = {"{", "}", "then", "else", "do", "!"};
  int depth = 0;
  for (const RawWord& word : command.words) {
    if (opens(word.text))
      ++depth;
    else if (word.text == closes)
      --depth;
    else if (std::ranges::find(kOthers, word.text) == kOthers.end())
      break;
  }
  return depth;
}

}  // namespace

std::span<const ShellCommand> commands_until(std::span<const ShellCommand> commands, std::size_t& next,
                                             bool (*opens)(std::string_view), std::string_view closes,
                                             ShellCommand& last) {
  const std::size_t first = next;
  std::size_t end = commands.size();
  int depth = 1;
  while (next < commands.size()) {
    depth += depth_of(commands[next++], opens, closes);
    if (depth > 0) continue;
    end = next - 1;
    break;
  }
  if (next > first) last = commands[next - 1];
  drop(last, depth <= 0 ? 1 : last.words.size());
  return commands.subspan(first, end - first);
}

}  // namespace orrery::experiment
