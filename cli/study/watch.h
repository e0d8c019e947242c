// SPDX-License-Identifier: MIT
// `--watch`: a text on the terminal that is drawn again as more of it is known.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <string>

namespace orrery::cli {

class WatchedScreen {
 public:
  // InputError where standard output is no terminal.
  WatchedScreen();
  ~WatchedScreen() { clear(); }
  WatchedScreen(const WatchedScreen&) = delete;
  WatchedScreen& operator=(const WatchedScreen&) = delete;

  // Draws the text over that of before, as much of it as the terminal has lines for; four times a second or less often.
  void show(const std::function<std::string()>& text);
  // Takes it away.
  void clear();

 private:
  std::size_t lines_ = 0;  // that are drawn
  std::chrono::steady_clock::time_point drawn_{};
};

}  // namespace orrery::cli
