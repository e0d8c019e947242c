// SPDX-License-Identifier: MIT
// Keeps one of each content, found by its digest and compared as a whole.
#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

namespace orrery::workload {

template <class Content>
class ContentPool {
 public:
  std::uint32_t intern(Content content) {
    const auto [begin, end] = by_hash_.equal_range(content.content_hash());
    for (auto entry = begin; entry != end; ++entry)
      if (contents_[entry->second] == content) return entry->second;
    const std::uint32_t index = static_cast<std::uint32_t>(contents_.size());
    by_hash_.emplace(content.content_hash(), index);
    contents_.push_back(std::move(content));
    return index;
  }

  const Content& operator[](std::uint32_t index) const { return contents_[index]; }
  std::vector<Content> take() { return std::move(contents_); }

 private:
  std::multimap<std::uint64_t, std::uint32_t> by_hash_;
  std::vector<Content> contents_;
};

}  // namespace orrery::workload
