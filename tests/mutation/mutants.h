// SPDX-License-Identifier: MIT
// Included by every file that scripts/mutate rewrites: tells, at run time, which mutant is on. ORRERY_MUTANT is its number; -1
// turns none on and adds the number of each mutant that is reached to the file ORRERY_MUTANTS_REACHED, once per process.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <string>
#include <type_traits>

namespace orrery::mutants {

inline constexpr int kUnknown = -2;
inline constexpr int kReachedAreListed = -1;
inline constinit std::atomic<int> active{kUnknown};
inline constinit std::array<std::atomic<bool>, 65536> reached{};

inline void list_reached(int mutant) {
  const char* file = std::getenv("ORRERY_MUTANTS_REACHED");
  if (file == nullptr || reached[static_cast<std::size_t>(mutant)].exchange(true)) return;
  const std::string line = std::to_string(mutant) + "\n";
  const int out = ::open(file, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
  if (out < 0 || ::write(out, line.data(), line.size()) < 0) std::abort();
  ::close(out);
}

inline bool look_up(int mutant) {
  int now = active.load(std::memory_order_relaxed);
  if (now == kUnknown) {
    const char* text = std::getenv("ORRERY_MUTANT");
    now = text == nullptr ? 0 : std::atoi(text);
    active.store(now, std::memory_order_relaxed);
  }
  if (now == kReachedAreListed) list_reached(mutant);
  return now == mutant;
}

// True if `mutant`, counted from 1, is on.
inline bool on(int mutant) {
  const int now = active.load(std::memory_order_relaxed);
  return now == mutant || (now < 0 && look_up(mutant));
}

// The same where the compiler may evaluate the code, in which no mutant is on.
constexpr bool on_at_run_time(int mutant) { return !std::is_constant_evaluated() && on(mutant); }

}  // namespace orrery::mutants
