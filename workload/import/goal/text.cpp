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

struct Reference {
  std::string_view after;
  std::string_view before;
  bool at_start = false;
  int line = 0;
};

class GoalReader {
 public:
  GoalReader(const std::string& file, std::string_view text, Diagnostics& diagnostics)
      : file_(file), rest_(text), diagnostics_(diagnostics) {}

  GoalSchedule read() {
    const std::size_t before = diagnostics_.error_count();
    for (skip_lines(); !rest_.empty(); skip_lines()) {
      if (diagnostics_.error_count() - before >= kMostErrors) return std::move(schedule_);
      if (statement()) continue;
      has_broken_lines_ = true;
      skip_rest_of_line();
    }
    if (block_) {
      fail("the file ends within a rank",
           fmt::format("rank {} of line {} is not closed with }}", block_->rank, block_->line));
      close_block();
    }
    return std::move(schedule_);
  }

 private:
  // --- characters ---

  bool skip_comment() {
    if (rest_.starts_with("//")) {
      rest_.remove_prefix(std::min(rest_.find('\n'), rest_.size()));
      return true;
    }
    if (!rest_.starts_with("/*")) return false;
    const std::size_t end = std::min(rest_.find("*/", 2), rest_.size());
    for (const char c : rest_.substr(0, end)) line_ += c == '\n' ? 1 : 0;
    rest_.remove_prefix(std::min(end + 2, rest_.size()));
    return true;
  }

  void skip_spaces() {
    while (!rest_.empty()) {
      if (rest_[0] == ' ' || rest_[0] == '\t' || rest_[0] == '\r')
        rest_.remove_prefix(1);
      else if (!skip_comment())
        return;
    }
  }

  void skip_lines() {
    for (skip_spaces(); rest_.starts_with('\n'); skip_spaces()) {
      ++line_;
      rest_.remove_prefix(1);
    }
  }

  void skip_rest_of_line() { rest_.remove_prefix(std::min(rest_.find('\n'), rest_.size())); }

  bool accept(char c) {
    skip_spaces();
    if (!rest_.starts_with(c)) return false;
    rest_.remove_prefix(1);
    return true;
  }

  std::string_view take_word() {
    skip_spaces();
    std::size_t length = 0;
    while (length < rest_.size() && is_word(rest_[length])) ++length;
    const std::string_view word = rest_.substr(0, length);
    rest_.remove_prefix(length);
    return word;
  }

  std::optional<std::int64_t> take_number() {
    skip_spaces();
    std::int64_t value = 0;
    if (rest_.empty() || !(is_digit(rest_[0]) || rest_[0] == '-')) return std::nullopt;
    const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), value);
    if (error != std::errc()) return std::nullopt;
    rest_.remove_prefix(static_cast<std::size_t>(end - rest_.data()));
    return value;
  }

  bool at_end_of_line() {
    skip_spaces();
    return rest_.empty() || rest_[0] == '\n' || rest_[0] == '}';
  }

  // --- messages ---

  bool fail(std::string message, std::string hint = {}) {
    diagnostics_.error({file_, line_, 0}, std::move(message), std::move(hint));
    return false;
  }

  bool expected(std::string_view what) {
    const std::string_view found = rest_.substr(0, std::min(rest_.find('\n'), rest_.size()));
    if (found.empty()) return fail(fmt::format("the line ends, expected {}", what));
    return fail(fmt::format("found \"{}\", expected {}", printable(found, 40), what));
  }

  // --- statements; false after an error ---

  bool statement() {
    if (accept('}')) return end_block();
    const std::string_view word = take_word();
    if (word == "num_ranks") return number_of_ranks();
    if (word == "rank") return begin_block();
    if (word.empty()) return expected("an operation, a label, \"rank\", \"num_ranks\" or \"}\"");
    if (!block_)
      return fail(fmt::format("\"{}\" outside a rank", printable(word, 40)), "operations stand in rank <r> { ... }");
    if (word == "calc" || word == "send" || word == "recv") return operation({}, word);
    if (accept(':')) return operation(word, take_word());
    return dependency(word);
  }

  bool number_of_ranks() {
    const std::optional<std::int64_t> ranks = take_number();
    if (!ranks || *ranks < 1 || *ranks > UINT32_MAX) return fail("num_ranks without a number above 0");
    if (schedule_.ranks != 0) return fail("num_ranks is given twice");
    schedule_.ranks = *ranks;
    return true;
  }

  bool begin_block() {
    if (block_) return fail(fmt::format("a rank within rank {}", block_->rank), "is a } missing?");
    const std::optional<std::int64_t> rank = take_number();
    if (!rank || *rank < 0) return expected("the number of the rank");
    if (!accept('{')) return expected("{");
    block_.emplace();
    block_->rank = *rank;
    block_->line = line_;
    return true;
  }

  bool end_block() {
    if (!block_) return fail("} without a rank before it");
    close_block();
    return true;
  }

  bool operation(std::string_view label, std::string_view word) {
    GoalOperation result;
    result.line = line_;
    result.label = label;
    if (word == "calc")
      result.kind = GoalKind::kCalc;
    else if (word == "send")
      result.kind = GoalKind::kSend;
    else if (word == "recv")
      result.kind = GoalKind::kReceive;
    else
      return unknown_operation(word);
    const std::optional<std::int64_t> amount = take_number();
    if (!amount || *amount < 0) return expected(result.kind == GoalKind::kCalc ? "nanoseconds" : "a number of bytes");
    result.amount = *amount;
    if (result.kind != GoalKind::kCalc && !peer(result)) return false;
    if (!suffixes(result)) return false;
    const auto position = static_cast<std::uint32_t>(block_->operations.size());
    if (!label.empty() && !labels_.try_emplace(label, position).second)
      return fail(fmt::format("label {} is given twice in rank {}", printable(label, 40), block_->rank));
    block_->operations.push_back(result);
    return true;
  }

  bool unknown_operation(std::string_view word) {
    return fail(
        word.empty() ? "a label without an operation" : fmt::format("unknown operation \"{}\"", printable(word, 40)),
        "calc, send and recv are known; put, get, append and others of LogGOPSim 2 are not");
  }

  bool peer(GoalOperation& result) {
    if (take_word() != "b") return expected("b after the number of bytes");
    const bool is_send = result.kind == GoalKind::kSend;
    if (take_word() != (is_send ? "to" : "from")) return expected(is_send ? "to <rank>" : "from <rank>");
    const std::optional<std::int64_t> rank = take_number();
    if (!rank || *rank < (is_send ? 0 : -1)) return expected("the number of a rank");
    result.peer = *rank;
    return true;
  }

  bool suffixes(GoalOperation& result) {
    while (!at_end_of_line()) {
      const std::string_view word = take_word();
      const std::optional<std::int64_t> value = take_number();
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
    const std::string_view word = take_word();
    if (word != "requires" && word != "irequires")
      return expected("\":\", \"requires\" or \"irequires\" after the label");
    const std::string_view before = take_word();
    if (before.empty()) return expected("a label");
    references_.push_back({after, before, word == "irequires", line_});
    return at_end_of_line() ? true : expected("the end of the line");
  }

  // Labels are known when the block is.
  void close_block() {
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
  }

  const std::string& file_;
  std::string_view rest_;
  Diagnostics& diagnostics_;
  int line_ = 1;
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
