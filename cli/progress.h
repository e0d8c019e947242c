// A progress line on the terminal for work that takes longer than a second.
#pragma once

#include <chrono>
#include <cstdint>
#include <string_view>

namespace orrery::cli {

class Progress {
 public:
  Progress();
  ~Progress() { clear(); }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // Shows the state at most ten times a second, and only if standard error is a terminal.
  void show(std::string_view what, std::uint64_t done, std::uint64_t total);
  // Takes the line away.
  void clear();

 private:
  bool terminal_;
  bool shown_ = false;
  std::chrono::steady_clock::time_point start_;
  std::chrono::steady_clock::time_point last_;
};

}  // namespace orrery::cli
