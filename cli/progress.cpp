#include "cli/progress.h"

#include <unistd.h>

#include <cstdio>

#include <fmt/format.h>

namespace orrery::cli {

Progress::Progress() : terminal_(isatty(STDERR_FILENO) == 1), start_(std::chrono::steady_clock::now()), last_(start_) {}

void Progress::show(std::string_view what, std::uint64_t done, std::uint64_t total) {
  if (!terminal_ || total == 0) return;
  const auto now = std::chrono::steady_clock::now();
  if (now - start_ < std::chrono::seconds(1) || now - last_ < std::chrono::milliseconds(100)) return;
  last_ = now;
  shown_ = true;
  constexpr std::uint64_t kWidth = 30;
  const std::uint64_t filled = kWidth * done / total;
  fmt::print(stderr, "\r\x1b[K{} [{:#<{}}{:.<{}}] {:3} %", what, "", filled, "", kWidth - filled, 100 * done / total);
  std::fflush(stderr);
}

void Progress::clear() {
  if (shown_) fmt::print(stderr, "\r\x1b[K");
  shown_ = false;
}

}  // namespace orrery::cli
