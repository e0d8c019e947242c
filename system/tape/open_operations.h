// SPDX-License-Identifier: MIT
// Operations of one rank that acts, from when something is known of one until it is told: in pages that are taken when
// a node of theirs gets its first predecessor done and given back when all of theirs have been told. What a rank has
// under way is little, and stays in the cache however long its program is.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "core/ids.h"
#include "core/units.h"

namespace orrery::system {

struct OpenOperation {
  Time start;  // so far, the latest end that it waited for
  Time moving = Time::max();
  Time end = Time::max();
  Duration slowed{};  // of a receive: 1 and the number of the message that waits for its start
};

class OperationPages {
 public:
  static constexpr std::uint32_t kNodes = 64;
  struct Page {
    std::array<OpenOperation, kNodes> operations;
    std::array<std::uint32_t, kNodes> waits;  // predecessors to come; then kStarted, kEnded
    std::uint32_t left = 0;                   // operations to be told
  };

  Page* take() {
    if (free_.empty()) {
      blocks_.push_back(std::make_unique<Page[]>(kBlock));
      for (std::size_t i = kBlock; i-- > 0;) free_.push_back(&blocks_.back()[i]);
    }
    Page* const page = free_.back();
    free_.pop_back();
    return page;
  }
  void give_back(Page* page) { free_.push_back(page); }
  // Bytes that all pages take; no fewer when they have been given back.
  std::size_t bytes() const { return blocks_.size() * kBlock * sizeof(Page); }

 private:
  static constexpr std::size_t kBlock = 64;  // pages

  std::vector<std::unique_ptr<Page[]>> blocks_;
  std::vector<Page*> free_;
};

class OpenOperations {
 public:
  static constexpr std::uint32_t kStarted = UINT32_MAX;
  static constexpr std::uint32_t kEnded = UINT32_MAX - 1;

  // `waits`: predecessors of each node; outlives it, like the pages. No operation starts before `earliest`.
  void open(OperationPages& pages, std::span<const std::uint32_t> waits, Time earliest);

  OpenOperation& operator[](NodeId node) { return page_of(node).operations[index_of(node) % OperationPages::kNodes]; }
  // Number of predecessors to come, kStarted or kEnded.
  std::uint32_t& waits(NodeId node) { return page_of(node).waits[index_of(node) % OperationPages::kNodes]; }
  bool has_started(NodeId node) const {
    const std::uint32_t number = index_of(node) / OperationPages::kNodes;
    if (number < first_) return true;
    const OperationPages::Page* const page = pages_[number];
    if (page == nullptr) return is_gone_[number];
    return page->waits[index_of(node) % OperationPages::kNodes] >= kEnded;
  }
  void end(NodeId node) {
    waits(node) = kEnded;
    ended_.emplace_back((*this)[node].end, node);
  }

  // True if so many operations have ended that it is time to tell.
  bool is_due() const { return ended_.size() >= due_; }
  // Calls `tell` with the ended operations, in the order of their ends and then of nodes, as far as no other ends
  // earlier or at the same time: with all, if all have ended.
  template <class Tell>
  void tell_ended(const Tell& tell) {
    const Time open = earliest_open();
    const auto first_later =
        std::partition(ended_.begin(), ended_.end(), [&](const auto& ended) { return ended.first < open; });
    std::sort(ended_.begin(), first_later);
    for (auto ended = ended_.begin(); ended != first_later; ++ended) {
      tell(ended->second, (*this)[ended->second]);
      drop(ended->second);
    }
    ended_.erase(ended_.begin(), first_later);
    due_ = std::max<std::size_t>(kFewest, 2 * ended_.size());
  }

 private:
  static constexpr std::size_t kFewest = 64;

  OperationPages::Page& page_of(NodeId node) {
    OperationPages::Page* const page = pages_[index_of(node) / OperationPages::kNodes];
    return page != nullptr ? *page : make_page(index_of(node) / OperationPages::kNodes);
  }
  OperationPages::Page& make_page(std::uint32_t number);
  Time earliest_open() const;
  void drop(NodeId node);

  OperationPages* store_ = nullptr;
  std::span<const std::uint32_t> waits_;
  Time earliest_;
  std::vector<OperationPages::Page*> pages_;  // null before and after
  std::vector<bool> is_gone_;
  std::uint32_t first_ = 0, last_ = 0;  // pages that are there are among these
  std::vector<std::pair<Time, NodeId>> ended_;
  std::size_t due_ = kFewest;
};

}  // namespace orrery::system
