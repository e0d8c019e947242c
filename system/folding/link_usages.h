// SPDX-License-Identifier: MIT
// Usage of all links of a fabric: that of those that act for others is kept, the rest is looked up.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "core/ids.h"
#include "core/paged_array.h"
#include "network/network.h"
#include "system/folding/cast.h"

namespace orrery::system {

class LinkUsages {
 public:
  // `cast` outlives it.
  LinkUsages(PagedArray<network::LinkUsage> used, const Cast& cast) : used_(std::move(used)), cast_(cast) {}

  std::uint32_t size() const { return static_cast<std::uint32_t>(used_.size()); }
  const network::LinkUsage& operator[](LinkId link) const { return used_.at(index_of(cast_.acting(link))); }

  // Visits all links with their usage, in ascending order. Nodes that are alike come one after the other: what is
  // looked up for one is kept for the next.
  template <class Visit>
  void for_each(const Visit& visit) const {
    std::vector<network::LinkUsage> block;
    LinkId first{UINT32_MAX};  // of the block
    for (std::uint32_t link = 0; link < size();) {
      const LinkBlock like = cast_.block_of(LinkId(link));
      if (like.first != first || block.size() != like.size) {
        block.clear();
        for (std::uint32_t i = 0; i < like.size; ++i) block.push_back((*this)[LinkId(index_of(like.first) + i)]);
        first = like.first;
      }
      for (const network::LinkUsage& usage : block) visit(LinkId(link++), usage);
    }
  }

 private:
  PagedArray<network::LinkUsage> used_;
  const Cast& cast_;
};

}  // namespace orrery::system
