// SPDX-License-Identifier: MIT
#include "core/config/comments.h"

namespace orrery {
namespace {

std::string_view without_blanks(std::string_view text) {
  const std::size_t from = text.find_first_not_of(' ');
  if (from == std::string_view::npos) return {};
  return text.substr(from, text.find_last_not_of(" \r") + 1 - from);
}

}  // namespace

std::string_view Comments::behind(const Location& where) {
  const std::string_view line = line_of(where.file, where.line);
  char quote = 0;
  for (std::size_t i = 0; i + 1 < line.size(); ++i) {
    if (quote != 0)
      quote = line[i] == quote ? char{0} : quote;
    else if (line[i] == '"' || (line[i] == '\'' && i > 0 && line[i - 1] == ' '))
      quote = line[i];
    else if (line[i] == ' ' && line[i + 1] == '#')
      return without_blanks(line.substr(i + 2));
  }
  return {};
}

std::string Comments::above(const Location& where) {
  std::string text;
  for (int line = where.line - 1; line > 0 && line_of(where.file, line).starts_with('#'); --line)
    text = std::string(without_blanks(line_of(where.file, line).substr(1))) + (text.empty() ? "" : " ") + text;
  return text;
}

std::string_view Comments::line_of(const std::string& file, int line) {
  const auto [known, is_new] = lines_.try_emplace(file);
  Lines& lines = known->second;
  if (is_new) {
    lines.text = files_.text(file);
    for (std::size_t at = 0; at < lines.text.size(); at = lines.text.find('\n', at) + 1) {
      lines.starts.push_back(at);
      if (lines.text.find('\n', at) == std::string::npos) break;
    }
  }
  if (line < 1 || static_cast<std::size_t>(line) > lines.starts.size()) return {};
  const std::string_view rest = std::string_view(lines.text).substr(lines.starts[static_cast<std::size_t>(line) - 1]);
  return rest.substr(0, rest.find('\n'));
}

}  // namespace orrery
