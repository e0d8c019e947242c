#include "core/error.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "core/utf8.h"

namespace orrery {
namespace {

// More of one kind would scroll the first, most useful ones away.
constexpr std::size_t kProblemsShown = 20;
// A file's name comes from the input, too; a path longer than this cannot be opened.
constexpr std::size_t kLongestFile = 4096;

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

}  // namespace

std::string printable(std::string_view text, std::size_t limit) {
  std::string result;
  while (!text.empty()) {
    if (result.size() >= limit) return result + "...";
    const std::size_t length = utf8_length(text);
    const unsigned char first = static_cast<unsigned char>(text[0]);
    const bool control_in_two_bytes = length == 2 && first == 0xC2 && static_cast<unsigned char>(text[1]) < 0xA0;
    if (length == 0 || first < 0x20 || first == 0x7F || control_in_two_bytes) {
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
  std::string text = printable(problem.where.file, kLongestFile);
  if (problem.where.line > 0) text += fmt::format(":{}", problem.where.line);
  if (problem.where.line > 0 && problem.where.column > 0) text += fmt::format(":{}", problem.where.column);
  if (!text.empty()) text += ": ";
  text += problem.severity == Severity::kError ? "error: " : "warning: ";
  text += problem.message;
  if (!problem.hint.empty()) text += "\n  hint: " + problem.hint;
  return text;
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
