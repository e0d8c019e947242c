// SPDX-License-Identifier: MIT
#include "workload/matching/alignment.h"

#include <algorithm>

namespace orrery::workload {
namespace {

// Items between what is the same at both ends.
struct Middle {
  std::size_t begin = 0;
  std::size_t here_end = 0;
  std::size_t there_end = 0;

  std::size_t here() const { return here_end - begin; }
  std::size_t there() const { return there_end - begin; }
};

// `least`: the difference from which on items count as not the same.
Middle trimmed(std::size_t here, std::size_t there, const Difference& difference, std::uint32_t least) {
  Middle middle{0, here, there};
  while (middle.begin < std::min(middle.here_end, middle.there_end) && difference(middle.begin, middle.begin) < least)
    ++middle.begin;
  while (middle.begin < std::min(middle.here_end, middle.there_end) &&
         difference(middle.here_end - 1, middle.there_end - 1) < least) {
    --middle.here_end;
    --middle.there_end;
  }
  return middle;
}

// The swap of two items that makes the sequences the same, if there is one.
std::optional<Step> swap_in(const Middle& all, const Difference& difference) {
  const auto is_same = [&](std::size_t i, std::size_t j) { return difference(i, j) < kDiffers; };
  const Middle middle = trimmed(all.here_end, all.there_end, difference, kDiffers);
  if (middle.here() != middle.there() || middle.here() < 2) return std::nullopt;
  const std::size_t first = middle.begin, last = middle.here_end - 1;
  if (!is_same(first, last) || !is_same(last, first)) return std::nullopt;
  for (std::size_t i = first + 1; i < last; ++i)
    if (!is_same(i, i)) return std::nullopt;
  return Step{Step::Kind::kSwap, first, last};
}

class Table {
 public:
  Table(const Middle& middle, const Difference& difference)
      : middle_(middle), difference_(difference), costs_((middle.here() + 1) * (middle.there() + 1)) {
    for (std::size_t i = middle_.here() + 1; i-- > 0;)
      for (std::size_t j = middle_.there() + 1; j-- > 0;) at(i, j) = cost(i, j);
  }

  std::vector<Step> steps() const {
    std::vector<Step> steps;
    std::size_t i = 0, j = 0;
    while (i < middle_.here() || j < middle_.there()) {
      const std::size_t here = middle_.begin + i, there = middle_.begin + j;
      if (i < middle_.here() && j < middle_.there() && at(i, j) == at(i + 1, j + 1) + difference_(here, there)) {
        if (difference_(here, there) == kDiffers) steps.push_back({Step::Kind::kReplace, here, there});
        ++i, ++j;
      } else if (i < middle_.here() && at(i, j) == at(i + 1, j) + kDiffers) {
        steps.push_back({Step::Kind::kRemove, here, there});
        ++i;
      } else {
        steps.push_back({Step::Kind::kInsert, here, there});
        ++j;
      }
    }
    return steps;
  }

 private:
  // Cost of making the items from (i, j) on the same.
  std::uint32_t cost(std::size_t i, std::size_t j) const {
    if (i == middle_.here() && j == middle_.there()) return 0;
    std::uint32_t least = UINT32_MAX;
    if (i < middle_.here()) least = std::min(least, at(i + 1, j) + kDiffers);
    if (j < middle_.there()) least = std::min(least, at(i, j + 1) + kDiffers);
    if (i < middle_.here() && j < middle_.there())
      least = std::min(least, at(i + 1, j + 1) + difference_(middle_.begin + i, middle_.begin + j));
    return least;
  }
  std::uint32_t& at(std::size_t i, std::size_t j) { return costs_[i * (middle_.there() + 1) + j]; }
  std::uint32_t at(std::size_t i, std::size_t j) const { return costs_[i * (middle_.there() + 1) + j]; }

  const Middle& middle_;
  const Difference& difference_;
  std::vector<std::uint32_t> costs_;
};

}  // namespace

std::optional<std::vector<Step>> alignment(std::size_t here, std::size_t there, const Difference& difference,
                                           std::size_t& left) {
  constexpr std::size_t kMostCells = std::size_t{1} << 22;
  if (const std::optional<Step> swap = swap_in({0, here, there}, difference)) return std::vector<Step>{*swap};
  Middle middle = trimmed(here, there, difference, 1);
  if (middle.here() * middle.there() > kMostCells) middle = trimmed(here, there, difference, kDiffers);
  const std::size_t cells = (middle.here() + 1) * (middle.there() + 1);
  if (cells > std::min(kMostCells, left)) return std::nullopt;
  left -= cells;
  return Table(middle, difference).steps();
}

}  // namespace orrery::workload
