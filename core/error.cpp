#include "core/error.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace orrery {
namespace {

// More of one kind would scroll the first, most useful ones away.
constexpr std::size_t kProblemsShown = 20;

std::string to_string(std::span<const Problem> problems) {
  std::string text;
  for (std::size_t i = 0; i < problems.size(); ++i) {
    if (i == kProblemsShown) {
      text += fmt::format("\n... and {} more", problems.size() - kProblemsShown);
      break;
    }
    if (i > 0) text += '\n';
    text += to_string(problems[i]);
  }
  return text;
}

// Length of the well-formed UTF-8 sequence at the start of `text`, 0 if there is none.
std::size_t utf8_length(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(0);
  const std::size_t length = first < 0x80                    ? 1
                             : first >= 0xC2 && first < 0xE0 ? 2
                             : first >= 0xE0 && first < 0xF0 ? 3
                             : first >= 0xF0 && first < 0xF5 ? 4
                                                             : 0;
  if (length == 0 || length > text.size()) return 0;
  for (std::size_t i = 1; i < length; ++i)
    if ((byte(i) & 0xC0) != 0x80) return 0;
  // Overlong forms, UTF-16 surrogates and code points above U+10FFFF.
  if (first == 0xE0 && byte(1) < 0xA0) return 0;
  if (first == 0xED && byte(1) > 0x9F) return 0;
  if (first == 0xF0 && byte(1) < 0x90) return 0;
  if (first == 0xF4 && byte(1) > 0x8F) return 0;
  return length;
}

}  // namespace

std::string printable(std::string_view text, std::size_t limit) {
  std::string result;
  while (!text.empty()) {
    if (result.size() >= limit) return result + "...";
    const std::size_t length = utf8_length(text);
    const unsigned char first = static_cast<unsigned char>(text[0]);
    if (length == 0 || first < 0x20 || first == 0x7F) {
      result += fmt::format("\\x{:02X}", first);
      text.remove_prefix(1);
    } else {
      result += text.substr(0, length);
      text.remove_prefix(length);
    }
  }
  return result;
}

std::string to_string(const Problem& problem) {
  std::string text = problem.where.file;
  if (problem.where.line > 0) text += fmt::format(":{}", problem.where.line);
  if (problem.where.line > 0 && problem.where.column > 0) text += fmt::format(":{}", problem.where.column);
  if (!text.empty()) text += ": ";
  text += problem.severity == Severity::kError ? "error: " : "warning: ";
  text += problem.message;
  if (!problem.hint.empty()) text += "\n  hint: " + problem.hint;
  return text;
}

InputError::InputError(std::vector<Problem> problems) : problems_(std::move(problems)), text_(to_string(problems_)) {}

InputError::InputError(Location where, std::string message, std::string hint)
    : InputError(std::vector<Problem>{{Severity::kError, std::move(where), std::move(message), std::move(hint)}}) {}

void Diagnostics::error(Location where, std::string message, std::string hint) {
  problems_.push_back({Severity::kError, std::move(where), std::move(message), std::move(hint)});
  ++errors_;
}

void Diagnostics::warning(Location where, std::string message, std::string hint) {
  problems_.push_back({Severity::kWarning, std::move(where), std::move(message), std::move(hint)});
}

void Diagnostics::throw_if_errors() const {
  if (!has_errors()) return;
  std::vector<Problem> errors;
  std::ranges::copy_if(problems_, std::back_inserter(errors),
                       [](const Problem& p) { return p.severity == Severity::kError; });
  throw InputError(std::move(errors));
}

}  // namespace orrery
