#include "report/rank_ranges.h"

#include <fmt/format.h>

namespace orrery {

std::string rank_ranges(std::span<const std::size_t> ranks, std::size_t most) {
  std::string text;
  for (std::size_t i = 0; i < ranks.size();) {
    std::size_t last = i;
    while (last + 1 < ranks.size() && ranks[last + 1] == ranks[last] + 1) ++last;
    if (!text.empty()) text += ",";
    if (text.size() > most) return text + "...";
    text += last == i ? fmt::format("{}", ranks[i]) : fmt::format("{}-{}", ranks[i], ranks[last]);
    i = last + 1;
  }
  return text;
}

}  // namespace orrery
