// SPDX-License-Identifier: MIT
// The grammar is that of LogGOPSim's txt2bin: a statement ends with its line, comments are // and /* */. Dependencies
// may name labels that come later, which txt2bin refuses.
#include "workload/import/goal/text.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>

namespace orrery::workload {
namespace {

constexpr std::size_t kMostErrors = 100;

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_word(char c) { return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }

// Nothing of a word that is no operation.
std::optional<GoalKind> kind_named(std::string_view word) {
  if (word == "calc") return GoalKind::kCalc;
  if (word == "send") return GoalKind::kSend;
  if (word == "recv") return GoalKind::kReceive;
  return std::nullopt;
}

// Words, numbers and marks of a text; blanks and comments before them are skipped.
class GoalLexer {
 public:
  explicit GoalLexer(std::string_view text) : rest_(text) {}

  int line() const { return line_; }  // from 1
  std::string_view rest_of_line() const { return rest_.substr(0, rest_.find('\n')); }
  void skip_rest_of_line() { rest_.remove_prefix(rest_of_line().size()); }

  // To the next line that is not empty; false at the end of the text.
  bool next_line() {
    for (skip_spaces(); rest_.starts_with('\n'); skip_spaces()) {
      ++line_;
      rest_.remove_prefix(1);
    }
    return !rest_.empty();
  }

  bool at_end_of_line() {
    skip_spaces();
    return rest_.empty() || rest_[0] == '\n' || rest_[0] == '}';
  }

  bool accept(char c) {
    skip_spaces();
    if (!rest_.starts_with(c)) return false;
    rest_.remove_prefix(1);
    return true;
  }

  // Empty where there is none.
  std::string_view word() {
    skip_spaces();
    std::size_t length = 0;
    while (length < rest_.size() && is_word(rest_[length])) ++length;
    const std::string_view word = rest_.substr(0, length);
    rest_.remove_prefix(length);
    return word;
  }

  std::optional<std::int64_t> number() {
    skip_spaces();
    std::int64_t value = 0;
    if (rest_.empty() || !(is_digit(rest_[0]) || rest_[0] == '-')) return std::nullopt;
    const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), value);
    if (error != std::errc()) return std::nullopt;
    rest_.remove_prefix(static_cast<std::size_t>(end - rest_.data()));
    return value;
  }

 private:
  void skip_spaces() {
    while (!rest_.empty()) {
      if (rest_[0] == ' ' || rest_[0] == '\t' || rest_[0] == '\r')
        rest_.remove_prefix(1);
      else if (!skip_comment())
        return;
    }
  }

  bool skip_comment() {
    if (rest_.starts_with("//")) {
      skip_rest_of_line();
      return true;
    }
    if (!rest_.starts_with("/*")) return false;
    const std::size_t end = std::min(rest_.find("*/", 2), rest_.size());
    line_ += static_cast<int>(std::ranges::count(rest_.substr(0, end), '\n'));
    rest_.remove_prefix(std::min(end + 2, rest_.size()));
    return true;
  }

  std::string_view rest_;
  int line_ = 1;
};

struct Reference {
  std::string_view after;
  std::string_view before;
  bool at_start = false;
  int line = 0;
};

class GoalReader {
 public:
  GoalReader(const std::string& file, std::string_view text, Diagnostics& diagnostics)
      : file_(file), text_(text), diagnostics_(diagnostics) {}

  GoalSchedule read() {
    const std::size_t before = diagnostics_.error_count();
    while (text_.next_line()) {
      if (diagnostics_.error_count() - before >= kMostErrors) return std::move(schedule_);
      if (statement()) continue;
      has_broken_lines_ = true;
      text_.skip_rest_of_line();
    }
    if (block_) {
      fail("the file ends within a rank",
           fmt::format("rank {} of line {} is not closed with }}", block_->rank, block_->line));
      close_block();
    }
    return std::move(schedule_);
  }

 private:
  // Returns false, as all that follow do after an error.
  bool fail(std::string message, std::string hint = {}) {
    diagnostics_.error({file_, text_.line(), 0}, std::move(message), std::move(hint));
    return false;
  }

  bool expected(std::string_view what) {
    const std::string_view found = text_.rest_of_line();
    if (found.empty()) return fail(fmt::format("the line ends, expected {}", what));
    return fail(fmt::format("found \"{}\", expected {}", printable(found, 40), what));
  }

  bool statement() {
    if (text_.accept('}')) return block_ ? close_block() : fail("} without a rank before it");
    const std::string_view word = text_.word();
    if (word == "num_ranks") return number_of_ranks();
    if (word == "rank") return begin_block();
    if (word.empty()) return expected("an operation, a label, \"rank\", \"num_ranks\" or \"}\"");
    if (!block_)
      return fail(fmt::format("\"{}\" outside a rank", printable(word, 40)), "operations stand in rank <r> { ... }");
    if (kind_named(word)) return operation({}, word);
    if (text_.accept(':')) return operation(word, text_.word());
    return dependency(word);
  }

  bool number_of_ranks() {
    const std::optional<std::int64_t> ranks = text_.number();
    if (!ranks || *ranks < 1 || *ranks > UINT32_MAX) return fail("num_ranks without a number above 0");
    if (schedule_.ranks != 0) return fail("num_ranks is given twice");
    schedule_.ranks = *ranks;
    return true;
  }

  bool begin_block() {
    if (block_) return fail(fmt::format("a rank within rank {}", block_->rank), "is a } missing?");
    const std::optional<std::int64_t> rank = text_.number();
    if (!rank || *rank < 0) return expected("the number of the rank");
    if (!text_.accept('{')) return expected("{");
    block_.emplace();
    block_->rank = *rank;
    block_->line = text_.line();
    return true;
  }

  bool operation(std::string_view label, std::string_view word) {
    const std::optional<GoalKind> kind = kind_named(word);
    if (!kind)
      return fail(
          word.empty() ? "a label without an operation" : fmt::format("unknown operation \"{}\"", printable(word, 40)),
          "calc, send and recv are known; put, get, append and others of LogGOPSim 2 are not");
    GoalOperation result{.kind = *kind, .line = text_.line(), .label = label};
    const std::optional<std::int64_t> amount = text_.number();
    if (!amount || *amount < 0) return expected(*kind == GoalKind::kCalc ? "nanoseconds" : "a number of bytes");
    result.amount = *amount;
    if ((*kind != GoalKind::kCalc && !peer(result)) || !suffixes(result)) return false;
    const auto position = static_cast<std::uint32_t>(block_->operations.size());
    if (!label.empty() && !labels_.try_emplace(label, position).second)
      return fail(fmt::format("label {} is given twice in rank {}", printable(label, 40), block_->rank));
    block_->operations.push_back(result);
    return true;
  }

  bool peer(GoalOperation& result) {
    if (text_.word() != "b") return expected("b after the number of bytes");
    const bool is_send = result.kind == GoalKind::kSend;
    if (text_.word() != (is_send ? "to" : "from")) return expected(is_send ? "to <rank>" : "from <rank>");
    const std::optional<std::int64_t> rank = text_.number();
    if (!rank || *rank < (is_send ? 0 : -1)) return expected("the number of a rank");
    result.peer = *rank;
    return true;
  }

  bool suffixes(GoalOperation& result) {
    while (!text_.at_end_of_line()) {
      const std::string_view word = text_.word();
      const std::optional<std::int64_t> value = text_.number();
      if (!value || *value < (word == "tag" ? -1 : 0) || *value > UINT32_MAX)
        return fail(fmt::format("\"{}\" without a number from 0", printable(word, 40)), "tag, cpu and nic may follow");
      if (word == "cpu")
        result.cpu = static_cast<std::uint32_t>(*value);
      else if (word == "tag" && result.kind != GoalKind::kCalc)
        result.tag = *value;
      else if (word != "nic")
        return fail(fmt::format("\"{}\" may not stand here", printable(word, 40)), "tag, cpu and nic may follow");
    }
    return true;
  }

  bool dependency(std::string_view after) {
    const std::string_view word = text_.word();
    if (word != "requires" && word != "irequires")
      return expected("\":\", \"requires\" or \"irequires\" after the label");
    const std::string_view before = text_.word();
    if (before.empty()) return expected("a label");
    references_.push_back({after, before, word == "irequires", text_.line()});
    return text_.at_end_of_line() || expected("the end of the line");
  }

  // Labels are known when the block is.
  bool close_block() {
    for (const Reference& reference : references_) {
      const auto after = labels_.find(reference.after);
      const auto before = labels_.find(reference.before);
      const bool both = after != labels_.end() && before != labels_.end();
      if (!both && has_broken_lines_) continue;  // the label may be on one of them
      if (!both)
        diagnostics_.error({file_, reference.line, 0},
                           fmt::format("rank {} has no label {}", block_->rank,
                                       printable(after == labels_.end() ? reference.after : reference.before, 40)),
                           "a label stands before an operation of the same rank, as in l2: calc 5");
      else if (after == before)
        diagnostics_.error({file_, reference.line, 0},
                           fmt::format("{} waits for itself", printable(reference.after, 40)));
      else
        block_->dependencies.push_back({after->second, before->second, reference.at_start, reference.line});
      if (diagnostics_.error_count() >= kMostErrors) break;
    }
    references_.clear();
    labels_.clear();
    has_broken_lines_ = false;
    schedule_.blocks.push_back(std::move(*block_));
    block_.reset();
    return true;
  }

  const std::string& file_;
  GoalLexer text_;
  Diagnostics& diagnostics_;
  GoalSchedule schedule_;
  std::optional<GoalRank> block_;
  std::unordered_map<std::string_view, std::uint32_t> labels_;
  std::vector<Reference> references_;
  bool has_broken_lines_ = false;  // in this block
};

}  // namespace

GoalSchedule read_goal_text(const std::string& file, std::string_view text, Diagnostics& diagnostics) {
  return GoalReader(file, text, diagnostics).read();
}

}  // namespace orrery::workload
