// SPDX-License-Identifier: MIT
// Conditions of shell scripts, as far as values that are known decide them.
#include <fnmatch.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <span>

#include <fmt/format.h>

#include "experiment/launchers/shell_words.h"

namespace orrery::experiment {
namespace {

using Words = std::span<const RawWord>;

Truth truth_if(bool is_true) { return is_true ? Truth::kYes : Truth::kNo; }

std::optional<std::int64_t> whole_of(std::string_view text) {
  std::int64_t number = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (problem != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

std::optional<Truth> compared(std::int64_t left, std::string_view op, std::int64_t right) {
  if (op == "-eq" || op == "==") return truth_if(left == right);
  if (op == "-ne" || op == "!=") return truth_if(left != right);
  if (op == "-gt" || op == ">") return truth_if(left > right);
  if (op == "-ge" || op == ">=") return truth_if(left >= right);
  if (op == "-lt" || op == "<") return truth_if(left < right);
  if (op == "-le" || op == "<=") return truth_if(left <= right);
  return std::nullopt;
}

// "TP > 1", "$N % 2": one comparison, or a number that is not 0.
Truth truth_of_arithmetic(const RawWord& text, const ShellVariables& variables) {
  if (!assigned_names({{{"((", text.line}, text}, {}, text.line}).empty()) return Truth::kUnknown;
  const auto value = [&](std::string_view part) {
    const ShellField field = variables.expand_whole({fmt::format("$(({}))", part), text.line});
    return field.unknown.empty() ? whole_of(field.text) : std::nullopt;
  };
  const std::string_view all = text.text;
  if (all.find("&&") != std::string_view::npos || all.find("||") != std::string_view::npos) return Truth::kUnknown;
  for (const std::string_view op : {"==", "!=", ">=", "<=", ">", "<"}) {
    const std::size_t at = all.find(op);
    if (at == std::string_view::npos) continue;
    const auto left = value(all.substr(0, at)), right = value(all.substr(at + op.size()));
    return left && right ? compared(*left, op, *right).value_or(Truth::kUnknown) : Truth::kUnknown;
  }
  const auto number = value(all);
  return number ? truth_if(*number != 0) : Truth::kUnknown;
}

// One test between brackets: "-z $X", "$A == b", "$N -gt 1". Of [[ ]] the right side is a pattern.
Truth truth_of_test(Words words, bool has_patterns, const ShellVariables& variables) {
  if (words.empty()) return Truth::kNo;
  if (words.front().text == "!") return negation(truth_of_test(words.subspan(1), has_patterns, variables));
  std::vector<ShellField> fields;
  for (const RawWord& word : words) fields.push_back(variables.expand_whole(word));
  // A variable that nothing gives is empty; one that may have been assigned is not known.
  const auto is_empty = [&](const ShellField& field) -> Truth {
    if (field.unknown.empty()) return truth_if(field.text.empty());
    return variables.find(field.unknown) == nullptr && plain_text(field.text) == "$" + field.unknown ? Truth::kYes
                                                                                                     : Truth::kUnknown;
  };
  if (fields.size() == 1) return negation(is_empty(fields[0]));
  if (fields.size() == 2 && fields[0].text == "-z") return is_empty(fields[1]);
  if (fields.size() == 2 && fields[0].text == "-n") return negation(is_empty(fields[1]));
  if (fields.size() != 3 || !fields[0].unknown.empty() || !fields[2].unknown.empty()) return Truth::kUnknown;
  const std::string& op = fields[1].text;
  if (op == "=" || op == "==" || op == "!=") {
    const bool is_same =
        has_patterns ? matches_pattern(fields[0].text, words[2], variables) : fields[0].text == fields[2].text;
    return truth_if(is_same == (op != "!="));
  }
  const auto left = whole_of(fields[0].text), right = whole_of(fields[2].text);
  if (!left || !right || op.front() != '-') return Truth::kUnknown;
  return compared(*left, op, *right).value_or(Truth::kUnknown);
}

// Tests that && and || join, from left to right.
Truth truth_of_tests(Words words, bool has_patterns, const ShellVariables& variables) {
  Truth all = Truth::kUnknown;
  std::string joined;
  for (std::size_t first = 0; first <= words.size();) {
    std::size_t end = first;
    while (end < words.size() && words[end].text != "&&" && words[end].text != "||" && words[end].text != "-a" &&
           words[end].text != "-o")
      ++end;
    const Words test = words.subspan(first, end - first);
    const bool has_brackets =
        std::ranges::any_of(test, [](const RawWord& w) { return w.text == "(" || w.text == ")"; });
    if (has_brackets) return Truth::kUnknown;
    const Truth one = truth_of_test(test, has_patterns, variables);
    all = joined.empty() ? one : joined_truth(all, joined, one);
    if (end == words.size()) break;
    joined = words[end].text == "&&" || words[end].text == "-a" ? "&&" : "||";
    first = end + 1;
  }
  return all;
}

std::size_t length_of_name(std::string_view text) {
  std::size_t length = 0;
  while (length < text.size() && (std::isalnum(static_cast<unsigned char>(text[length])) != 0 || text[length] == '_'))
    ++length;
  return length;
}

// Names that "=", "+=", "++" and the like follow in a text.
void add_assigned(std::string_view text, bool counts, std::vector<std::string>& names) {
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t length = length_of_name(text.substr(at));
    if (length == 0) {
      ++at;
      continue;
    }
    const std::string_view name = text.substr(at, length);
    std::string_view rest = text.substr(at + length);
    const bool is_counted = counts && (rest.starts_with("++") || rest.starts_with("--") ||
                                       (at >= 2 && (text.substr(at - 2, 2) == "++" || text.substr(at - 2, 2) == "--")));
    at += length;
    while (counts && rest.starts_with(' ')) rest.remove_prefix(1);
    if (!rest.empty() && std::string_view("+-*/%").find(rest.front()) != std::string_view::npos) rest.remove_prefix(1);
    const bool is_assigned = rest.starts_with('=') && !rest.starts_with("==");
    if ((is_counted || is_assigned) && std::isdigit(static_cast<unsigned char>(name.front())) == 0)
      names.emplace_back(name);
  }
}

}  // namespace

Truth negation(Truth truth) { return truth == Truth::kUnknown ? truth : truth_if(truth == Truth::kNo); }

Truth joined_truth(Truth one, std::string_view by, Truth other) {
  const Truth deciding = truth_if(by == "||");
  if (one == deciding || other == deciding) return deciding;
  return one == Truth::kUnknown || other == Truth::kUnknown ? Truth::kUnknown : negation(deciding);
}

Truth truth_of(const std::vector<RawWord>& words, const ShellVariables& variables) {
  Words rest = words;
  bool negated = false;
  for (; !rest.empty() && rest.front().text == "!"; rest = rest.subspan(1)) negated = !negated;
  if (rest.empty()) return Truth::kUnknown;
  const std::string& verb = rest.front().text;
  Truth truth = Truth::kUnknown;
  if (verb == "true" || verb == ":") {
    truth = Truth::kYes;
  } else if (verb == "false") {
    truth = Truth::kNo;
  } else if (verb == "((" && rest.size() == 2) {
    truth = truth_of_arithmetic(rest[1], variables);
  } else if (verb == "test") {
    truth = truth_of_tests(rest.subspan(1), false, variables);
  } else if ((verb == "[" && rest.back().text == "]") || (verb == "[[" && rest.back().text == "]]")) {
    truth = truth_of_tests(rest.subspan(1, rest.size() - 2), verb == "[[", variables);
  }
  return negated ? negation(truth) : truth;
}

bool matches_pattern(const std::string& text, const RawWord& pattern, const ShellVariables& variables) {
  const std::string value = variables.expand_whole(pattern).text;
  const bool is_quoted = pattern.text.find_first_of("\"'") != std::string::npos;
  return is_quoted ? text == value : fnmatch(value.c_str(), text.c_str(), 0) == 0;
}

std::vector<std::string> assigned_names(const ShellCommand& command) {
  std::vector<std::string> names;
  if (command.words.empty()) return names;
  const std::string& verb = command.words.front().text;
  const bool takes_names =
      verb == "read" || verb == "mapfile" || verb == "readarray" || verb == "unset" || verb == "getopts";
  for (const RawWord& word : command.words) {
    const std::size_t length = length_of_name(word.text);
    const bool is_name = length > 0 && length == word.text.size();
    if (verb == "((" || verb == "let" || verb == "eval")
      add_assigned(word.text, verb != "eval", names);
    else if (takes_names ? is_name && &word != &command.words.front() : length > 0 && length < word.text.size())
      if (takes_names || word.text[length] == '=' || word.text.substr(length, 2) == "+=")
        names.push_back(word.text.substr(0, length));
    if (verb == "printf" && word.text == "-v" && &word != &command.words.back()) names.push_back((&word)[1].text);
  }
  return names;
}

void ShellBlock::add_condition(const ShellCommand& command, const ShellVariables& variables) {
  const bool is_piped = joined_by == "|" || command.end == "|";
  const Truth test = was_active && !is_piped ? truth_of(command.words, variables) : Truth::kUnknown;
  const bool joins_others = joined_by == "||" || joined_by == "&&";
  condition = joins_others ? joined_truth(condition, joined_by, test) : test;
  joined_by = command.end;
}

void ShellBlock::begin_branch(bool is_else) {
  in_condition = false;
  if (!is_else && condition == Truth::kUnknown && !taken) unknown = true;
  const bool holds = !unknown && (is_else || condition == Truth::kYes);
  active = was_active && holds && !taken;
  taken = taken || active;
}

void ShellBlock::add_pattern(const ShellCommand& command, const ShellVariables& variables) {
  patterns.insert(patterns.end(), command.words.begin(), command.words.end());
  if (command.end != ")") return;
  const bool fits = std::ranges::any_of(
      patterns, [&](const RawWord& word) { return !unknown && matches_pattern(subject, word, variables); });
  patterns.clear();
  wants_pattern = false;
  active = was_active && fits && !taken;
  taken = taken || active;
}

}  // namespace orrery::experiment
