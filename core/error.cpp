// SPDX-License-Identifier: MIT
#include "core/error.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/utf8.h"

namespace orrery {
namespace {

// More of one kind would scroll the first, most useful ones away.
constexpr std::size_t kProblemsShown = 20;
// A file's name comes from the input, too; a path longer than this cannot be opened.
constexpr std::size_t kLongestFile = 4096;

struct Character {
  std::size_t length = 1;     // in bytes
  bool is_printable = false;  // neither a control character (C0, C1, DEL) nor broken UTF-8, which is taken byte by byte
};

// `text` is not empty.
Character first_character(std::string_view text) {
  const std::size_t length = utf8_length(text);
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  if (length == 0) return {1, false};
  const bool is_control = byte(0) < 0x20 || byte(0) == 0x7F || (length == 2 && byte(0) == 0xC2 && byte(1) < 0xA0);
  return {length, !is_control};
}

std::string to_string(std::span<const Problem> all) {
  const std::vector<Problem> problems = with_hints_once(all.first(std::min(all.size(), kProblemsShown)));
  std::string text;
  for (const Problem& problem : problems) text += (text.empty() ? "" : "\n") + to_string(problem);
  if (all.size() > problems.size()) text += fmt::format("\n... and {} more", all.size() - problems.size());
  return text;
}

}  // namespace

std::string printable(std::string_view text, std::size_t limit) {
  std::string result;
  while (!text.empty()) {
    if (result.size() >= limit) return result + "...";
    const Character character = first_character(text);
    if (character.is_printable)
      result += text.substr(0, character.length);
    else
      for (const char byte : text.substr(0, character.length))
        result += fmt::format("\\x{:02X}", static_cast<unsigned char>(byte));
    text.remove_prefix(character.length);
  }
  return result;
}

std::string printable_lines(std::string_view text, TextKind kind) {
  std::string result;
  result.reserve(text.size());
  while (!text.empty()) {
    std::size_t safe = 0;
    Character next;
    for (; safe < text.size(); safe += next.length) {
      next = first_character(text.substr(safe));
      if (!next.is_printable && text[safe] != '\n' && text[safe] != '\t') break;
    }
    result += text.substr(0, safe);
    text.remove_prefix(safe);
    if (text.empty()) break;
    const std::string_view control = text.substr(0, next.length);
    // Of two bytes in UTF-8 the second is the character.
    result += kind == TextKind::kPlain ? printable(control)
                                       : fmt::format("\\u{:04X}", static_cast<unsigned char>(control.back()));
    text.remove_prefix(next.length);
  }
  return result;
}

std::string to_string(const Location& where) {
  std::string text = printable(where.file, kLongestFile);
  if (where.line > 0) text += fmt::format(":{}", where.line);
  if (where.line > 0 && where.column > 0) text += fmt::format(":{}", where.column);
  return text;
}

std::string to_string(const Problem& problem) {
  std::string text = to_string(problem.where);
  if (!text.empty()) text += ": ";
  text += problem.severity == Severity::kError ? "error: " : "warning: ";
  text += problem.message;
  if (!problem.hint.empty()) text += "\n  hint: " + problem.hint;
  return text;
}

std::vector<Problem> with_hints_once(std::span<const Problem> problems) {
  std::vector<Problem> result(problems.begin(), problems.end());
  std::set<std::string> given;
  for (auto problem = result.rbegin(); problem != result.rend(); ++problem)
    if (!given.insert(problem->hint).second) problem->hint.clear();
  return result;
}

InputError located(const InputError& error, const std::string& file) {
  std::vector<Problem> problems(error.problems().begin(), error.problems().end());
  for (Problem& problem : problems)
    if (problem.where.file.empty()) problem.where.file = file;
  return InputError(std::move(problems));
}

InputError::InputError(std::vector<Problem> problems) : problems_(std::move(problems)), text_(to_string(problems_)) {}

InputError::InputError(Location where, std::string message, std::string hint)
    : InputError(std::vector<Problem>{{Severity::kError, std::move(where), std::move(message), std::move(hint)}}) {}

void Diagnostics::error(Location where, std::string message, std::string hint) {
  add({Severity::kError, std::move(where), std::move(message), std::move(hint)});
}

void Diagnostics::warning(Location where, std::string message, std::string hint) {
  add({Severity::kWarning, std::move(where), std::move(message), std::move(hint)});
}

void Diagnostics::add(Problem problem) {
  if (problem.severity == Severity::kError) ++errors_;
  problems_.push_back(std::move(problem));
}

void Diagnostics::throw_if_errors() const {
  if (!has_errors()) return;
  std::vector<Problem> errors;
  std::ranges::copy_if(problems_, std::back_inserter(errors),
                       [](const Problem& p) { return p.severity == Severity::kError; });
  throw InputError(std::move(errors));
}

}  // namespace orrery
