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
  bool is_printable = false;  // neither a control character nor broken UTF-8, which is taken byte by byte
  char32_t code = 0;          // of one that is well-formed
};

// Code point that `length` bytes of well-formed UTF-8 stand for.
char32_t code_of(std::string_view text, std::size_t length) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  if (length == 1) return byte(0);
  char32_t code = byte(0) & (0x7FU >> length);
  for (std::size_t i = 1; i < length; ++i) code = code << 6 | (byte(i) & 0x3FU);
  return code;
}

// C0, DEL and C1; what turns the direction of the text behind it round, so that it reads as what it is not (Unicode's
// bidirectional controls); what breaks lines or is not seen at all.
bool is_control(char32_t code) {
  constexpr std::pair<char32_t, char32_t> kControls[] = {
      {0x00, 0x1F},     {0x7F, 0x9F},     {0x61C, 0x61C},   {0x180E, 0x180E}, {0x200B, 0x200B},  {0x200E, 0x200F},
      {0x2028, 0x202E}, {0x2060, 0x206F}, {0xFEFF, 0xFEFF}, {0xFFF9, 0xFFFB}, {0xE0000, 0xE007F}};
  return std::ranges::any_of(kControls, [&](const auto& range) { return range.first <= code && code <= range.second; });
}

// `text` is not empty.
Character first_character(std::string_view text) {
  const std::size_t length = utf8_length(text);
  if (length == 0) return {};
  const char32_t code = code_of(text, length);
  return {length, (code >= 0x20 && code < 0x7F) || !is_control(code), code};
}

// "\\x1B", or "\\u202E" of what is beyond C1; in JSON always the latter, in UTF-16.
std::string escaped(std::string_view bytes, const Character& character, TextKind kind) {
  const auto code = static_cast<std::uint32_t>(character.code);
  if (kind == TextKind::kPlain && code > 0x9F) return fmt::format("\\u{:04X}", code);
  if (kind == TextKind::kJson && code > 0xFFFF)
    return fmt::format("\\u{:04X}\\u{:04X}", 0xD800 + ((code - 0x10000) >> 10), 0xDC00 + ((code - 0x10000) & 0x3FF));
  const std::uint32_t broken = static_cast<unsigned char>(bytes.back());
  if (kind == TextKind::kJson) return fmt::format("\\u{:04X}", code > 0 ? code : broken);
  std::string text;
  for (const char byte : bytes) text += fmt::format("\\x{:02X}", static_cast<unsigned char>(byte));
  return text;
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
    const std::string_view bytes = text.substr(0, character.length);
    if (character.is_printable)
      result += bytes;
    else
      result += escaped(bytes, character, TextKind::kPlain);
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
    result += escaped(text.substr(0, next.length), next, kind);
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

void Diagnostics::take_back(std::size_t count) {
  problems_.erase(problems_.begin() + static_cast<std::ptrdiff_t>(std::min(count, problems_.size())), problems_.end());
  errors_ = static_cast<std::size_t>(std::ranges::count(problems_, Severity::kError, &Problem::severity));
}

void Diagnostics::throw_if_errors() const {
  if (!has_errors()) return;
  std::vector<Problem> errors;
  std::ranges::copy_if(problems_, std::back_inserter(errors),
                       [](const Problem& p) { return p.severity == Severity::kError; });
  throw InputError(std::move(errors));
}

}  // namespace orrery
