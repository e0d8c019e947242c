// SPDX-License-Identifier: MIT
#include "workload/graph/members.h"

#include <algorithm>
#include <utility>

#include "core/assert.h"

namespace orrery::workload {

// The axes are those along which the list repeats: the second member is one step of the first; as long as steps are
// equal they are of this axis; where they end the next begins, and so on. The list is compared with what comes of it.
std::optional<Lattice> find_lattice(std::span<const RankId> ascending) {
  Lattice lattice;
  if (ascending.empty()) return std::nullopt;
  const std::uint32_t first = index_of(ascending.front());
  std::size_t known = 1;  // members that the axes so far make
  while (known < ascending.size()) {
    if (ascending.size() % known != 0 || index_of(ascending[known]) <= first) return std::nullopt;
    const std::uint32_t stride = index_of(ascending[known]) - first;
    std::uint32_t count = 1;
    while (count * known < ascending.size() &&
           index_of(ascending[count * known]) == first + std::uint64_t{count} * stride)
      ++count;
    lattice.push_back({count, stride});
    known *= count;
  }
  if (lattice.empty()) lattice.push_back({1, 1});
  if (known != ascending.size() || lattice.size() > 4) return std::nullopt;
  const Members members(ascending.front(), std::make_shared<const Lattice>(lattice));
  if (!std::ranges::equal(members, ascending)) return std::nullopt;
  std::uint64_t reach = 0;
  for (const LatticeAxis& axis : lattice) {
    if (axis.stride <= reach) return std::nullopt;
    reach += std::uint64_t{axis.count - 1} * axis.stride;
  }
  return lattice;
}

Members::Members(std::vector<RankId> list)
    : size_(static_cast<std::uint32_t>(list.size())),
      list_(list.empty() ? nullptr : std::make_shared<std::vector<RankId>>(std::move(list))) {}

Members::Members(RankId first, std::shared_ptr<const Lattice> lattice)
    : first_(index_of(first)), size_(1), lattice_(std::move(lattice)) {
  for (const LatticeAxis& axis : *lattice_) size_ *= axis.count;
}

std::optional<std::uint32_t> Members::position_of(RankId rank) const {
  if (!lattice_) {
    const auto found = std::ranges::find(*this, rank);
    if (found == end()) return std::nullopt;
    return static_cast<std::uint32_t>(found - begin());
  }
  if (index_of(rank) < first_) return std::nullopt;
  std::uint32_t left = index_of(rank) - first_, position = 0, count = size_;
  for (auto axis = lattice_->rbegin(); axis != lattice_->rend(); ++axis) {
    count /= axis->count;
    const std::uint32_t step = std::min(left / axis->stride, axis->count - 1);
    position += step * count;
    left -= step * axis->stride;
  }
  if (left != 0) return std::nullopt;
  return position;
}

void Members::push_back(RankId rank) {
  if (lattice_ || !list_ || list_.use_count() > 1) list_ = std::make_shared<std::vector<RankId>>(begin(), end());
  lattice_.reset();
  list_->push_back(rank);
  ++size_;
}

Members Members::shifted(std::uint32_t by) const {
  if (lattice_) return Members(RankId(first_ + by), lattice_);
  std::vector<RankId> list;
  for (const RankId rank : *this) list.push_back(RankId(index_of(rank) + by));
  return Members(std::move(list));
}

bool Members::operator==(const Members& other) const {
  if (size_ != other.size_) return false;
  if (lattice_ && other.lattice_ && first_ == other.first_ && *lattice_ == *other.lattice_) return true;
  return std::ranges::equal(*this, other);
}

}  // namespace orrery::workload
