// SPDX-License-Identifier: MIT
// Things under way, each under a small number that is used again once its thing is gone. No allocation while running.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

namespace orrery {

template <class T>
class Slab {
 public:
  std::uint32_t put(const T& item) { return put(T(item)); }
  std::uint32_t put(T&& item) {
    if (free_.empty()) {
      items_.push_back(std::move(item));
      return static_cast<std::uint32_t>(items_.size() - 1);
    }
    const std::uint32_t number = free_.back();
    free_.pop_back();
    items_[number] = std::move(item);
    return number;
  }

  // The contents stay until the number is used again.
  void release(std::uint32_t number) { free_.push_back(number); }

  T& operator[](std::uint32_t number) { return items_[number]; }
  const T& operator[](std::uint32_t number) const { return items_[number]; }

 private:
  std::vector<T> items_;
  std::vector<std::uint32_t> free_;
};

}  // namespace orrery
