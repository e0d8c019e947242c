#include "study/in_parallel.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace orrery {

void in_parallel(std::size_t count, const std::function<void(std::size_t)>& work,
                 const std::function<void(std::uint64_t, std::uint64_t)>& progress) {
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
      if (progress) progress(++done, count);
    }
  };
  {
    const std::size_t threads = std::min<std::size_t>(count, std::max(1u, std::thread::hardware_concurrency()));
    std::vector<std::jthread> others;
    for (std::size_t i = 1; i < threads; ++i) others.emplace_back(take_turns);
    take_turns();
  }
  for (const std::exception_ptr& failure : failures)
    if (failure) std::rethrow_exception(failure);
}

}  // namespace orrery
