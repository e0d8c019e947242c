// SPDX-License-Identifier: MIT
// An array of which only those pages take memory that are being worked on: neither untouched yet nor finished as a
// whole. Copies cost as much.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/assert.h"

namespace orrery {

template <class T>
class Paged {
 public:
  explicit Paged(std::size_t size) : size_(size), place_((size + kPage - 1) / kPage, kUntouched) {}

  std::size_t size() const { return size_; }

  // No finished item may be opened. An item that was never opened is T{}.
  T& open(std::size_t index) {
    std::uint32_t& place = place_[index / kPage];
    ORRERY_ASSERT(place != kFinished);
    if (place == kUntouched) place = take(index / kPage);
    return pages_[place].items[index % kPage];
  }
  // Null if its page takes no memory.
  const T* find(std::size_t index) const {
    const std::uint32_t place = place_[index / kPage];
    return place < kFinished ? &pages_[place].items[index % kPage] : nullptr;
  }
  bool has_finished_page(std::size_t index) const { return place_[index / kPage] == kFinished; }

  // Each item once, after it was opened. Its page goes when all that are on it are finished.
  void finish(std::size_t index) {
    std::uint32_t& place = place_[index / kPage];
    ORRERY_ASSERT(place < kFinished);
    if (--pages_[place].left > 0) return;
    free_.push_back(place);
    place = kFinished;
  }

 private:
  static constexpr std::size_t kPage = 64;
  static constexpr std::uint32_t kUntouched = UINT32_MAX;
  static constexpr std::uint32_t kFinished = UINT32_MAX - 1;

  struct Page {
    std::array<T, kPage> items{};
    std::size_t left = 0;  // items to finish
  };

  std::uint32_t take(std::size_t page) {
    const std::size_t left = std::min(kPage, size_ - page * kPage);
    if (free_.empty()) {
      pages_.push_back({{}, left});
      return static_cast<std::uint32_t>(pages_.size() - 1);
    }
    const std::uint32_t place = free_.back();
    free_.pop_back();
    pages_[place] = {{}, left};
    return place;
  }

  std::size_t size_;
  std::vector<std::uint32_t> place_;  // by page, in pages_
  std::vector<Page> pages_;
  std::vector<std::uint32_t> free_;  // of pages_
};

}  // namespace orrery
