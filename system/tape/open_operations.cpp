// SPDX-License-Identifier: MIT
#include "system/tape/open_operations.h"

#include <algorithm>

#include "core/assert.h"

namespace orrery::system {

void OpenOperations::open(OperationPages& pages, std::span<const std::uint32_t> waits, Time earliest) {
  store_ = &pages;
  waits_ = waits;
  earliest_ = earliest;
  pages_.assign((waits.size() + OperationPages::kNodes - 1) / OperationPages::kNodes, nullptr);
  is_gone_.assign(pages_.size(), false);
}

OperationPages::Page& OpenOperations::make_page(std::uint32_t number) {
  ORRERY_ASSERT(!is_gone_[number]);
  OperationPages::Page* const page = pages_[number] = store_->take();
  const std::size_t begin = std::size_t{number} * OperationPages::kNodes;
  const std::span<const std::uint32_t> waits =
      waits_.subspan(begin, std::min<std::size_t>(OperationPages::kNodes, waits_.size() - begin));
  page->operations.fill({earliest_});
  page->waits.fill(kEnded);
  std::ranges::copy(waits, page->waits.begin());
  page->left = static_cast<std::uint32_t>(waits.size());
  last_ = std::max(last_, number + 1);
  return *page;
}

// Operations that wait for others end after one of those that do not, so that these alone count.
Time OpenOperations::earliest_open() const {
  Time earliest = Time::max();
  for (std::uint32_t number = first_; number < last_; ++number) {
    const OperationPages::Page* const page = pages_[number];
    if (page == nullptr) continue;
    for (std::uint32_t i = 0; i < OperationPages::kNodes; ++i)
      if (page->waits[i] == 0 || page->waits[i] == kStarted) earliest = std::min(earliest, page->operations[i].start);
  }
  return earliest;
}

void OpenOperations::drop(NodeId node) {
  const std::uint32_t number = index_of(node) / OperationPages::kNodes;
  if (--pages_[number]->left > 0) return;
  store_->give_back(pages_[number]);
  pages_[number] = nullptr;
  is_gone_[number] = true;
  while (first_ < last_ && is_gone_[first_]) ++first_;
}

}  // namespace orrery::system
