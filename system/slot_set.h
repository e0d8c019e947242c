// Which of a numbered set of things have happened: nearly always the first so many, now and then one early.
#pragma once

#include <bit>
#include <cstdint>
#include <vector>

namespace orrery {

class SlotSet {
 public:
  // How many from 0 on are all there.
  std::uint32_t prefix() const { return prefix_; }

  bool empty() const { return prefix_ == 0 && early_.empty(); }

  bool contains(std::uint32_t slot) const {
    if (slot < prefix_) return true;
    const std::size_t word = slot / 64;
    return word < early_.size() && ((early_[word] >> (slot % 64)) & 1) != 0;
  }

  // Whether all of [begin, end) are there.
  bool covers(std::uint32_t begin, std::uint32_t end) const {
    if (end <= prefix_) return true;
    for (std::uint32_t slot = begin < prefix_ ? prefix_ : begin; slot < end; ++slot)
      if (!contains(slot)) return false;
    return true;
  }

  void insert(std::uint32_t slot) {
    if (slot != prefix_) {
      if (slot / 64 >= early_.size()) early_.resize(slot / 64 + 1);
      early_[slot / 64] |= std::uint64_t{1} << (slot % 64);
      return;
    }
    ++prefix_;
    while (!early_.empty() && contains(prefix_)) ++prefix_;
  }

 private:
  std::uint32_t prefix_ = 0;
  std::vector<std::uint64_t> early_;  // bits at and beyond prefix_; empty while everything comes in order
};

}  // namespace orrery
