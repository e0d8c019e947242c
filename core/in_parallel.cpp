// SPDX-License-Identifier: MIT
#include "core/in_parallel.h"

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

namespace orrery {

unsigned hardware_threads() {
  constexpr std::size_t kMostSets = 64;  // of 1,024 processors each
  for (std::size_t sets = 1; sets <= kMostSets; sets *= 2) {
    std::vector<cpu_set_t> allowed(sets);
    const std::size_t bytes = sets * sizeof(cpu_set_t);
    if (::sched_getaffinity(0, bytes, allowed.data()) == 0)
      return std::max(1u, static_cast<unsigned>(CPU_COUNT_S(bytes, allowed.data())));
    if (errno != EINVAL) break;  // of a set that is too small for the machine
  }
  static const unsigned all = std::max(1u, std::thread::hardware_concurrency());  // the system reads a file to say it
  return all;
}

void in_parallel(std::size_t count, unsigned threads, const std::function<void(std::size_t)>& work,
                 const WorkProgress& progress) {
  std::atomic<std::size_t> next = 0;
  std::vector<std::exception_ptr> failures(count);
  std::mutex showing;
  std::uint64_t done = 0;
  const auto take_turns = [&] {
    for (std::size_t i = next++; i < count; i = next++) {
      try {
        work(i);
      } catch (...) {
        failures[i] = std::current_exception();
      }
      const std::lock_guard lock(showing);
      try {
        if (progress) progress(++done, count);
      } catch (...) {
        failures[i] = std::current_exception();
      }
    }
  };
  {
    std::vector<std::jthread> others;
    const std::size_t wanted = std::min<std::size_t>(threads, count);
    try {
      while (others.size() + 1 < wanted) others.emplace_back(take_turns);
    } catch (const std::system_error&) {
      // The system gives no more threads; the work goes on with those there are, and the answer is the same.
    }
    take_turns();
  }
  for (const std::exception_ptr& failure : failures)
    if (failure) std::rethrow_exception(failure);
}

}  // namespace orrery
