// SPDX-License-Identifier: MIT
// Set of numbered things that have happened: nearly always the first so many, now and then one early.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace orrery::system {

class SlotSet {
 public:
  SlotSet() = default;
  SlotSet(SlotSet&&) = default;
  SlotSet& operator=(SlotSet&&) = default;
  SlotSet(const SlotSet& other)
      : prefix_(other.prefix_),
        early_(other.early_ == nullptr ? nullptr : std::make_unique<std::vector<std::uint64_t>>(*other.early_)) {}
  SlotSet& operator=(const SlotSet& other) { return *this = SlotSet(other); }

  // Number of elements, counted from 0, that are all there.
  std::uint32_t prefix() const { return prefix_; }

  bool empty() const { return prefix_ == 0 && early_ == nullptr; }

  bool contains(std::uint32_t slot) const {
    if (slot < prefix_) return true;
    if (early_ == nullptr) return false;
    const std::size_t word = slot / 64;
    return word < early_->size() && (((*early_)[word] >> (slot % 64)) & 1) != 0;
  }

  // True if all of [begin, end) are there.
  bool covers(std::uint32_t begin, std::uint32_t end) const {
    if (end <= prefix_) return true;
    for (std::uint32_t slot = begin < prefix_ ? prefix_ : begin; slot < end; ++slot)
      if (!contains(slot)) return false;
    return true;
  }

  void insert(std::uint32_t slot) {
    if (slot != prefix_) return insert_early(slot);
    ++prefix_;
    if (early_ == nullptr) return;
    while (contains(prefix_)) ++prefix_;
  }

 private:
  void insert_early(std::uint32_t slot) {
    if (early_ == nullptr) early_ = std::make_unique<std::vector<std::uint64_t>>();
    if (slot / 64 >= early_->size()) early_->resize(slot / 64 + 1);
    (*early_)[slot / 64] |= std::uint64_t{1} << (slot % 64);
  }

  std::uint32_t prefix_ = 0;
  std::unique_ptr<std::vector<std::uint64_t>> early_;  // bits at and beyond prefix_; null while all come in order
};

}  // namespace orrery::system
