// SPDX-License-Identifier: MIT
#include "workload/graph/rank_list.h"

#include <vector>

#include <fmt/format.h>

namespace orrery::workload {

std::string rank_list(std::span<const std::uint32_t> ranks) {
  constexpr std::size_t kRangesShown = 8;
  std::vector<std::string> ranges;
  std::size_t shown = 0;
  for (std::size_t begin = 0; begin < ranks.size() && ranges.size() < kRangesShown;) {
    std::size_t end = begin + 1;
    while (end < ranks.size() && ranks[end] == ranks[end - 1] + 1) ++end;
    ranges.push_back(end - begin == 1 ? fmt::format("{}", ranks[begin])
                                      : fmt::format("{}-{}", ranks[begin], ranks[end - 1]));
    shown += end - begin;
    begin = end;
  }
  if (shown < ranks.size()) ranges.push_back(fmt::format("{} more", ranks.size() - shown));

  std::string text = ranks.size() == 1 ? "rank " : "ranks ";
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    if (i > 0) text += i + 1 == ranges.size() ? " and " : ", ";
    text += ranges[i];
  }
  return text;
}

}  // namespace orrery::workload
