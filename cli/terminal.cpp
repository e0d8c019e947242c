// SPDX-License-Identifier: MIT
#include "cli/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <optional>

#include "report/screen/screen.h"

namespace orrery::cli {
namespace {

constexpr std::string_view kBold = "\x1b[1m", kDim = "\x1b[2m", kRed = "\x1b[31m", kGreen = "\x1b[32m",
                           kYellow = "\x1b[33m", kPlain = "\x1b[0m";
constexpr std::size_t kMostColumns = 10'000;  // a terminal that says more is mistaken

bool is_set(const char* variable) {
  const char* value = std::getenv(variable);
  return value != nullptr && *value != '\0';
}

std::optional<std::size_t> columns_said() {
  const char* value = std::getenv("COLUMNS");
  if (value == nullptr) return std::nullopt;
  const std::string_view text = value;
  std::size_t columns = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), columns);
  const bool is_number = code == std::errc() && end == text.data() + text.size();
  return is_number && columns > 0 && columns <= kMostColumns ? std::optional(columns) : std::nullopt;
}

std::string in_colour(std::string_view text, std::string_view colour) {
  return std::string(colour).append(text).append(kPlain);
}

// A word of an answer that has a colour behind a figure ("4.2 % slower") or before a number in parentheses
// ("refused (1)"), and only there: prose uses it, too.
struct ColouredWord {
  std::string_view word;
  std::string_view colour;
  bool is_mark;
};
constexpr std::array<ColouredWord, 4> kWords = {
    {{"slower", kRed, false}, {"faster", kGreen, false}, {"refused", kYellow, true}, {"stuck", kYellow, true}}};

// True if a figure of two words, or of one, ends there: "4.2 % ", "12.3x ".
bool ends_with_figure(std::string_view before) {
  std::size_t words = 0;
  while (words < 2 && before.ends_with(' ')) {
    before.remove_suffix(1);
    const std::string_view word = before.substr(before.find_last_of(" (") + 1);
    if (word.find_first_of("0123456789") != std::string_view::npos) return true;
    before.remove_suffix(word.size());
    ++words;
  }
  return false;
}

bool is_meant(const ColouredWord& word, std::string_view before, std::string_view behind) {
  if (!word.is_mark) return ends_with_figure(before);
  return behind.size() > 2 && behind.starts_with(" (") && behind[2] >= '1' && behind[2] <= '9';
}

std::string with_coloured_words(std::string_view line) {
  std::string text(line);
  for (const ColouredWord& word : kWords)
    for (std::size_t at = 0; (at = text.find(word.word, at)) != std::string::npos;) {
      const std::size_t end = at + word.word.size();
      std::string coloured(word.word);
      if (is_meant(word, std::string_view(text).substr(0, at), std::string_view(text).substr(end)))
        coloured = in_colour(word.word, word.colour);
      text.replace(at, word.word.size(), coloured);
      at += coloured.size();
    }
  return text;
}

// The end of what a first line begins with: "iteration time 24.3 s" of what stands behind it in parentheses or behind a
// colon. Nothing where it is headings, which may have further lines.
std::size_t end_of_figure(std::string_view line) {
  if (line.starts_with("  ")) return 0;
  return std::min({line.find("   ("), line.find(": "), line.size()});
}

}  // namespace

std::size_t answer_columns() {
  if (isatty(STDOUT_FILENO) != 1) return report::kScreenWidth;
  if (const std::optional<std::size_t> said = columns_said()) return *said;
  winsize size{};
  const bool knows = ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
  return knows ? size.ws_col : report::kScreenWidth;
}

bool has_colours(int file_descriptor) {
  if (is_set("NO_COLOR")) return false;
  if (is_set("CLICOLOR_FORCE") && std::string_view(std::getenv("CLICOLOR_FORCE")) != "0") return true;
  return isatty(file_descriptor) == 1 && is_set("TERM") && std::string_view(std::getenv("TERM")) != "dumb";
}

std::string coloured_answer(std::string_view text) {
  std::string coloured;
  const std::size_t first = std::min(text.find('\n'), text.size());
  const std::size_t figure = end_of_figure(text.substr(0, first));
  if (figure > 0) coloured = in_colour(text.substr(0, figure), kBold);
  text.remove_prefix(figure);
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size() - 1) + 1;
    coloured += with_coloured_words(text.substr(0, end));
    text.remove_prefix(end);
  }
  return coloured;
}

std::string coloured_message(std::string_view text, MessageKind kind) {
  const std::string_view word = kind == MessageKind::kError ? "error" : kind == MessageKind::kWarning ? "warning" : "";
  constexpr std::string_view kHint = "  hint: ";
  std::string coloured;
  bool has_word = false;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    const std::size_t at = word.empty() || has_word ? std::string_view::npos : line.find(std::string(word) + ": ");
    if (line.starts_with(kHint)) {
      coloured += in_colour(line, kDim);
    } else if (at != std::string_view::npos) {
      has_word = true;
      coloured.append(line.substr(0, at)).append(kBold);
      coloured += in_colour(word, kind == MessageKind::kError ? kRed : kYellow);
      coloured += line.substr(at + word.size());
    } else {
      coloured += line;
    }
    if (end < text.size()) coloured += '\n';
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return coloured;
}

}  // namespace orrery::cli
