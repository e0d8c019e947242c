// SPDX-License-Identifier: MIT
#include "cli/study/watch.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include <fmt/format.h>

#include "cli/terminal.h"
#include "core/error.h"
#include "report/screen/screen.h"

namespace orrery::cli {
namespace {

std::size_t lines_of_terminal() {
  winsize size{};
  const bool knows = ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row > 2;
  return knows ? size.ws_row : report::kScreenLines;
}

// The first lines, and how many are left out; the last line stays in any case.
std::string cut(const std::string& text, std::size_t most) {
  const auto lines = static_cast<std::size_t>(std::ranges::count(text, '\n'));
  constexpr std::size_t kLeast = 3;
  most = std::max(most, kLeast);
  if (lines <= most) return text;
  const std::size_t shown = most - 2;
  std::size_t end = 0;
  for (std::size_t line = 0; line < shown; ++line) end = text.find('\n', end) + 1;
  const std::size_t last = text.rfind('\n', text.size() - 2) + 1;
  return text.substr(0, end) + fmt::format("  ... {} more lines\n", lines - shown - 1) + text.substr(last);
}

}  // namespace

WatchedScreen::WatchedScreen() {
  if (isatty(STDOUT_FILENO) == 1) return;
  throw InputError({"--watch"}, "draws on a terminal, and standard output is none",
                   "leave it out; with --out, points.csv of the folder has the points that are done");
}

void WatchedScreen::show(const std::function<std::string()>& text) {
  const auto now = std::chrono::steady_clock::now();
  if (now - drawn_ < std::chrono::milliseconds(250)) return;
  drawn_ = now;
  const std::string frame = cut(printable_lines(report::sentences_on_screen(text())), lines_of_terminal() - 1);
  clear();
  lines_ = static_cast<std::size_t>(std::ranges::count(frame, '\n'));
  std::fputs((has_colours(STDOUT_FILENO) ? coloured_answer(frame) : frame).c_str(), stdout);
  std::fflush(stdout);
}

void WatchedScreen::clear() {
  if (lines_ == 0) return;
  std::fputs(fmt::format("\x1b[{}A\r\x1b[J", lines_).c_str(), stdout);
  std::fflush(stdout);
  lines_ = 0;
}

}  // namespace orrery::cli
