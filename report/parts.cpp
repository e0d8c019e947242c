#include "report/parts.h"

#include <algorithm>
#include <functional>

namespace orrery {

RankParts parts_of(const Breakdown& b, const Result& result) {
  RankParts parts{b.compute, b.host, b.memory, b.bubble, b.wait, b.idle, {}, b.finish};
  for (const auto& [name, time] : b.exposed) {
    const auto family = result.group_family.find(name);
    parts.exposed[family == result.group_family.end() ? name : family->second] += time;
  }
  return parts;
}

std::vector<Part> mean_parts(const Result& result) {
  std::map<std::string, double> sums;
  for (const Breakdown& rank : result.ranks) {
    const RankParts parts = parts_of(rank, result);
    sums["device compute"] += seconds(parts.compute - parts.host - parts.memory);
    sums["host"] += seconds(parts.host);
    sums["remote memory"] += seconds(parts.memory);
    for (const auto& [family, time] : parts.exposed) sums["exposed communication (" + family + ")"] += seconds(time);
    sums["waiting for members of collectives"] += seconds(parts.wait);
    sums["pipeline bubble"] += seconds(parts.bubble);
    sums["idle"] += seconds(parts.idle);
  }
  std::vector<Part> means;
  for (const auto& [name, sum] : sums)
    if (sum > 0) means.push_back({name, sum / static_cast<double>(result.ranks.size())});
  std::ranges::stable_sort(means, std::ranges::greater{}, &Part::seconds);
  return means;
}

}  // namespace orrery
