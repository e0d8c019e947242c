// SPDX-License-Identifier: MIT
#include <algorithm>

#include "core/config/quantity_text.h"
#include "report/screen/screen.h"

namespace orrery::report {
namespace {

constexpr std::string_view kContinued = " \\";  // of a shell

// Returns the position at which a command is broken: that of the last blank behind `start` and up to `width` that no
// quotes hold together, of the first one behind it where there is none, or the command's length.
std::size_t break_of_command(std::string_view line, std::size_t start, std::size_t width) {
  std::size_t last = std::string_view::npos;
  bool is_quoted = false;
  for (std::size_t i = 0; i < line.size() && (i <= width || last == std::string_view::npos); ++i) {
    if (line[i] == '\'') is_quoted = !is_quoted;
    if (line[i] == '\\' && !is_quoted)
      ++i;
    else if (line[i] == ' ' && !is_quoted && i > start)
      last = i;
  }
  return std::min(last, line.size());
}

// Returns the position at which `line`, wider than it may be, is broken: that of a blank, one inside a word, or its
// length where it cannot be broken. Blanks up to `start` and those that it begins with stay.
std::size_t break_of(const std::string& line, std::size_t start, const Wrapping& wrapping) {
  const std::size_t width = wrapping.width;
  start = std::max(start, std::min(line.find_first_not_of(' '), line.size()));
  if (wrapping.at == Wrapping::Break::kShell)
    return break_of_command(line, start, width - std::min(width, kContinued.size()));
  const auto is_clause = [&](std::size_t at) {
    return line[at + 1] == '(' || std::string_view(",;:").find(line[at - 1]) != std::string_view::npos;
  };
  if (wrapping.at == Wrapping::Break::kClauses)
    for (std::size_t at = width; at > std::max(start, width / 2); --at)
      if (line[at] == ' ' && is_clause(at)) return at;
  std::size_t blank = line.rfind(' ', width);
  while (blank != std::string::npos && blank > start && is_before_unit(line, blank)) blank = line.rfind(' ', blank - 1);
  if (blank != std::string::npos && blank > start) return blank;
  if (wrapping.at != Wrapping::Break::kWords) return std::min(line.find(' ', std::max(width, start)), line.size());
  std::size_t end = width;
  while (end > start + 1 && (static_cast<unsigned char>(line[end]) & 0xC0) == 0x80) --end;
  return end;
}

}  // namespace

bool is_before_unit(std::string_view text, std::size_t blank) {
  if (blank == 0 || blank + 1 >= text.size() || text[blank - 1] < '0' || text[blank - 1] > '9') return false;
  std::string_view word = text.substr(blank + 1);
  word = word.substr(0, word.find_first_of(" ,;:)"));
  return word == "%" || (!word.empty() && ratio_of_units(word, word).has_value());
}

std::string wrapped(std::string_view text, const Wrapping& wrapping) {
  std::string lines, line = wrapping.first;
  const bool is_shell = wrapping.at == Wrapping::Break::kShell;
  std::size_t start = line.size();
  line += text;
  while (line.size() > wrapping.width) {
    const std::size_t end = break_of(line, start, wrapping);
    const std::size_t rest = line.find_first_not_of(' ', end);
    if (rest == std::string::npos) break;
    lines.append(line, 0, line.find_last_not_of(' ', end - 1) + 1).append(is_shell ? kContinued : "").append("\n");
    line = wrapping.next + line.substr(rest);
    start = wrapping.next.size();
  }
  return lines + line + "\n";
}

std::vector<std::string> wrapped_lines(std::string_view text, const Wrapping& wrapping) {
  const std::string broken = wrapped(text, wrapping);
  std::vector<std::string> lines;
  for (std::size_t at = 0; at < broken.size(); at += lines.back().size() + 1)
    lines.push_back(broken.substr(at, broken.find('\n', at) - at));
  return lines;
}

}  // namespace orrery::report
