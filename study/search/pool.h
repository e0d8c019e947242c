// SPDX-License-Identifier: MIT
// Experiments, bounds and the like, which are made once for each thread that needs one.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace orrery::study {

// Things that are costly to make and used by one thread at a time: as many as there are threads that ask at once.
template <typename Thing>
class Pool {
 public:
  explicit Pool(std::function<Thing()> make) : make_(std::move(make)) {}

  // Calls use(thing) with one that nobody else has.
  template <typename Use>
  void with(const Use& use) {
    std::unique_ptr<Thing> one = take();
    use(*one);
    const std::lock_guard lock(mutex_);
    free_.push_back(std::move(one));
  }

 private:
  std::unique_ptr<Thing> take() {
    {
      const std::lock_guard lock(mutex_);
      if (!free_.empty()) {
        std::unique_ptr<Thing> one = std::move(free_.back());
        free_.pop_back();
        return one;
      }
    }
    return std::make_unique<Thing>(make_());
  }

  const std::function<Thing()> make_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<Thing>> free_;
};

}  // namespace orrery::study
