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
  std::vector<std::int64_t> ranks(result.classes.size());
  for (const std::uint32_t number : result.class_of_rank) ++ranks[number];
  std::map<std::string, Int128> sums;  // picoseconds
  for (std::size_t i = 0; i < result.classes.size(); ++i) {
    const RankParts parts = parts_of(result.classes[i], result);
    const auto add = [&](const std::string& name, Duration time) { sums[name] += Int128{time.count()} * ranks[i]; };
    add("device compute", parts.compute - parts.host - parts.memory);
    add("host", parts.host);
    add("remote memory", parts.memory);
    for (const auto& [family, time] : parts.exposed) add("exposed communication (" + family + ")", time);
    add("waiting for members of collectives", parts.wait);
    add("pipeline bubble", parts.bubble);
    add("idle", parts.idle);
  }
  std::vector<Part> means;
  for (const auto& [name, sum] : sums)
    if (sum > 0)
      means.push_back({name, static_cast<double>(sum) / 1e12 / static_cast<double>(result.class_of_rank.size())});
  std::ranges::stable_sort(means, std::ranges::greater{}, &Part::seconds);
  return means;
}

}  // namespace orrery
