#include "report/parts.h"

#include <algorithm>
#include <functional>

#include "core/assert.h"

namespace orrery {

RankParts parts_of(const Breakdown& b, const Result& result) {
  RankParts parts{b.compute, b.host, b.memory, b.bubble, b.wait, b.idle, {}, b.finish};
  for (const auto& [name, time] : b.exposed) {
    const auto family = result.group_family.find(name);
    parts.exposed[family == result.group_family.end() ? name : family->second] += time;
  }
  return parts;
}

std::string short_name(const Part& part) {
  switch (part.kind) {
    case PartKind::kCompute:
      return "compute";
    case PartKind::kHost:
      return "host";
    case PartKind::kMemory:
      return "remote memory";
    case PartKind::kCommunication:
      return part.family;
    case PartKind::kWait:
      return "wait";
    case PartKind::kBubble:
      return "bubble";
    case PartKind::kIdle:
      return "idle";
  }
  ORRERY_ASSERT(false);
  return {};
}

std::vector<Part> mean_parts(const Result& result) {
  struct Sum {
    PartKind kind{};
    std::string family;
    Int128 picoseconds = 0;
  };
  std::vector<std::int64_t> ranks(result.classes.size());
  for (const std::uint32_t number : result.class_of_rank) ++ranks[number];
  std::map<std::string, Sum> sums;
  for (std::size_t i = 0; i < result.classes.size(); ++i) {
    const RankParts parts = parts_of(result.classes[i], result);
    const auto add = [&](const std::string& name, PartKind kind, Duration time, const std::string& family = {}) {
      Sum& sum = sums[name];
      sum.kind = kind;
      sum.family = family;
      sum.picoseconds += Int128{time.count()} * ranks[i];
    };
    add("device compute", PartKind::kCompute, parts.compute - parts.host - parts.memory);
    add("host", PartKind::kHost, parts.host);
    add("remote memory", PartKind::kMemory, parts.memory);
    for (const auto& [family, time] : parts.exposed)
      add("exposed communication (" + family + ")", PartKind::kCommunication, time, family);
    add("waiting for members of collectives", PartKind::kWait, parts.wait);
    add("pipeline bubble", PartKind::kBubble, parts.bubble);
    add("idle", PartKind::kIdle, parts.idle);
  }
  std::vector<Part> means;
  const auto rank_count = static_cast<double>(result.class_of_rank.size());
  for (const auto& [name, sum] : sums)
    if (sum.picoseconds > 0)
      means.push_back({name, static_cast<double>(sum.picoseconds) / 1e12 / rank_count, sum.kind, sum.family});
  std::ranges::stable_sort(means, std::ranges::greater{}, &Part::seconds);
  return means;
}

}  // namespace orrery
