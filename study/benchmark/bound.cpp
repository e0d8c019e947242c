#include "study/benchmark/bound.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "core/assert.h"

namespace orrery {
namespace {

// The link that carried most of what it could have in a time of its own; the first of equals.
LinkOverload most_loaded(const Fabric& fabric, std::span<const LinkUsage> usage,
                         const std::function<double(const LinkUsage&)>& time) {
  double most = 0;
  std::uint16_t busiest = 0;
  for (std::uint32_t i = 0; i < usage.size(); ++i) {
    if (usage[i].bytes == Bytes(0)) continue;
    const Link& link = fabric.link(LinkId(i));
    const double capacity = static_cast<double>(link.bandwidth.count()) * time(usage[i]);
    const double load = static_cast<double>(usage[i].bytes.count()) / capacity;
    if (load <= most) continue;
    most = load;
    busiest = link.link_class;
  }
  return {without_direction(fabric.link_classes()[busiest]), most};
}

}  // namespace

std::string without_direction(std::string_view link_class) {
  for (const std::string_view direction : {".up", ".down"})
    if (link_class.ends_with(direction)) link_class.remove_suffix(direction.size());
  return std::string(link_class);
}

LinkOverload worst_overload(const Fabric& fabric, std::span<const LinkUsage> usage) {
  return most_loaded(fabric, usage, [](const LinkUsage& link) { return seconds(link.busy); });
}

CollectiveBound collective_bound(const Fabric& fabric, std::span<const LinkUsage> usage, Time finish,
                                 Duration latency) {
  if (finish == Time{}) return {"latency", 1};  // of a barrier over links without latency
  const double time = seconds(finish);
  if (2 * seconds(latency) >= time) return {"latency", std::min(1.0, seconds(latency) / time)};
  const LinkOverload most = most_loaded(fabric, usage, [time](const LinkUsage&) { return time; });
  return {most.name, most.factor};
}

}  // namespace orrery
