#include "study/collective_bound.h"

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <vector>

#include "core/assert.h"

namespace orrery {
namespace {

// Traffic goes both ways alike in most collectives: which of the two is named would mean nothing.
std::string without_direction(std::string_view link_class) {
  for (const std::string_view direction : {".up", ".down"})
    if (link_class.ends_with(direction)) link_class.remove_suffix(direction.size());
  return std::string(link_class);
}

}  // namespace

CollectiveBound collective_bound(const Fabric& fabric, const Network& network, Time finish, Duration latency) {
  ORRERY_ASSERT(finish > Time{});
  const double time = seconds(finish);
  if (2 * seconds(latency) >= time) return {"latency", std::min(1.0, seconds(latency) / time)};
  double most = 0;
  std::uint16_t busiest = 0;
  const std::vector<LinkUsage> usage = network.link_usage();
  for (std::uint32_t i = 0; i < usage.size(); ++i) {
    const Link& link = fabric.link(LinkId(i));
    const double utilisation =
        static_cast<double>(usage[i].bytes.count()) / (static_cast<double>(link.bandwidth.count()) * time);
    if (utilisation <= most) continue;
    most = utilisation;
    busiest = link.link_class;
  }
  return {without_direction(fabric.link_classes()[busiest]), most};
}

}  // namespace orrery
