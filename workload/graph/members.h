// SPDX-License-Identifier: MIT
// Members of a communicator in their order: a list, or, as in regular jobs, a lattice, whose members are computed. A
// lattice is a first rank and axes: so many steps of one stride, for each of these so many of the next, and so on.
// Groups of one kind share what they have in common, so that each takes a few words.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "core/ids.h"

namespace orrery::workload {

struct LatticeAxis {
  std::uint32_t count = 1;
  std::uint32_t stride = 1;

  auto operator<=>(const LatticeAxis&) const = default;
};

// Axes with the least steps first, each longer than all of those before reach: so members ascend.
using Lattice = std::vector<LatticeAxis>;

// Ranks of a list that make up a lattice with its first; nothing where they do not.
std::optional<Lattice> find_lattice(std::span<const RankId> ascending);

class Members {
 public:
  using value_type = RankId;

  class Iterator {
   public:
    using iterator_concept = std::random_access_iterator_tag;
    using iterator_category = std::input_iterator_tag;
    using value_type = RankId;
    using difference_type = std::ptrdiff_t;
    using reference = RankId;
    using pointer = const RankId*;

    Iterator() = default;
    Iterator(const Members* of, std::ptrdiff_t at) : of_(of), at_(at) {}
    RankId operator*() const { return (*of_)[static_cast<std::size_t>(at_)]; }
    RankId operator[](std::ptrdiff_t by) const { return *(*this + by); }
    Iterator& operator++() { return *this += 1; }
    Iterator& operator--() { return *this -= 1; }
    Iterator operator++(int) { return std::exchange(*this, *this + 1); }
    Iterator operator--(int) { return std::exchange(*this, *this - 1); }
    Iterator& operator+=(std::ptrdiff_t by) {
      at_ += by;
      return *this;
    }
    Iterator& operator-=(std::ptrdiff_t by) { return *this += -by; }
    friend Iterator operator+(Iterator it, std::ptrdiff_t by) { return it += by; }
    friend Iterator operator+(std::ptrdiff_t by, Iterator it) { return it += by; }
    friend Iterator operator-(Iterator it, std::ptrdiff_t by) { return it -= by; }
    friend std::ptrdiff_t operator-(Iterator a, Iterator b) { return a.at_ - b.at_; }
    bool operator==(const Iterator& other) const { return at_ == other.at_; }
    auto operator<=>(const Iterator& other) const { return at_ <=> other.at_; }

   private:
    const Members* of_ = nullptr;
    std::ptrdiff_t at_ = 0;
  };

  Members() = default;
  Members(std::initializer_list<RankId> list) : Members(std::vector<RankId>(list)) {}
  Members(std::vector<RankId> list);
  Members(RankId first, std::shared_ptr<const Lattice> lattice);

  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  RankId operator[](std::size_t at) const {
    if (!lattice_) return (*list_)[at];
    std::uint32_t rank = first_;
    auto left = static_cast<std::uint32_t>(at);
    for (std::size_t axis = 0; axis + 1 < lattice_->size(); ++axis) {
      const LatticeAxis& along = (*lattice_)[axis];
      rank += left % along.count * along.stride;
      left /= along.count;
    }
    return RankId(rank + left * lattice_->back().stride);
  }
  // Null for a list; the same for groups that share it.
  const Lattice* lattice() const { return lattice_.get(); }
  RankId front() const { return (*this)[0]; }
  RankId back() const { return (*this)[size_ - 1]; }
  Iterator begin() const { return {this, 0}; }
  Iterator end() const { return {this, static_cast<std::ptrdiff_t>(size_)}; }

  // Position of a rank among the members, if it is one.
  std::optional<std::uint32_t> position_of(RankId rank) const;

  void push_back(RankId rank);
  // Each so much further.
  Members shifted(std::uint32_t by) const;

  bool operator==(const Members& other) const;

 private:
  std::uint32_t first_ = 0;  // of a lattice
  std::uint32_t size_ = 0;
  std::shared_ptr<const Lattice> lattice_{};     // null: a list
  std::shared_ptr<std::vector<RankId>> list_{};  // null: a lattice, or empty
};

}  // namespace orrery::workload
