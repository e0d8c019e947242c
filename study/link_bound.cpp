#include "study/link_bound.h"

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

LinkBound link_bound(const Fabric& fabric, const Network& network, Time finish) {
  ORRERY_ASSERT(finish > Time{});
  LinkBound bound{"latency", 0};
  const std::vector<LinkUsage> usage = network.link_usage();
  std::uint16_t busiest = 0;
  for (std::uint32_t i = 0; i < usage.size(); ++i) {
    const Link& link = fabric.link(LinkId(i));
    const double capacity = static_cast<double>(link.bandwidth.count()) * seconds(finish);
    const double utilisation = static_cast<double>(usage[i].bytes.count()) / capacity;
    if (utilisation <= bound.utilisation) continue;
    bound.utilisation = utilisation;
    busiest = link.link_class;
  }
  if (bound.utilisation >= kBindingUtilisation) bound.name = without_direction(fabric.link_classes()[busiest]);
  return bound;
}

}  // namespace orrery
