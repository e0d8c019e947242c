// SPDX-License-Identifier: MIT
#include "network/fabric/caps.h"

#include <algorithm>
#include <unordered_map>
#include <vector>

#include <fmt/format.h>

#include "core/config/quantity_text.h"
#include "core/error.h"

namespace orrery::network {
namespace {

// Number of routes over one link, and what else they cross.
struct Crossing {
  explicit Crossing(std::size_t classes) : routes_of(classes), links_of(classes) {}

  std::size_t routes = 0;
  std::vector<std::size_t> routes_of;         // by class: routes that cross it, too
  std::vector<std::vector<LinkId>> links_of;  // by class: which of its links, ascending
};

using Crossings = std::unordered_map<LinkId, Crossing>;

// Devices whose routes are looked at: all, or the first node's and as many others as tell what is shared from what is
// not.
std::vector<DeviceId> chosen_devices(const Fabric& fabric) {
  constexpr std::uint32_t kMost = 128, kTimes = 4;
  const std::uint32_t devices = fabric.device_count(), of_node = fabric.dimensions().front().size;
  const std::uint32_t most = std::max(kMost, kTimes * std::min(of_node, kMost));
  std::vector<DeviceId> chosen;
  for (std::uint32_t i = 0; i < std::min(devices, most); ++i) {
    const bool is_first = devices <= most || i < of_node;
    chosen.push_back(DeviceId(is_first ? i : static_cast<std::uint32_t>(std::uint64_t{i} * devices / most)));
  }
  return chosen;
}

// Adds a route to those over one of its links.
void add_route(const Fabric& fabric, std::size_t link_class, const std::vector<LinkId>& route, Crossing& crossing) {
  ++crossing.routes;
  std::vector<std::size_t> classes;
  for (const LinkId other : route) {
    const std::size_t of = fabric.link(other).link_class;
    if (of == link_class || fabric.link_keys()[of] == fabric.link_keys()[link_class]) continue;
    if (std::ranges::find(classes, of) == classes.end()) {
      classes.push_back(of);
      ++crossing.routes_of[of];
    }
    std::vector<LinkId>& links = crossing.links_of[of];
    if (links.empty() || links.back() != other) links.push_back(other);
  }
}

Crossings crossings_of(const Fabric& fabric, std::size_t link_class, const std::vector<DeviceId>& devices) {
  Crossings crossings;
  std::vector<LinkId> route;
  for (const DeviceId from : devices)
    for (const DeviceId to : devices) {
      if (from == to) continue;
      try {
        fabric.route(from, to, route);
      } catch (const InputError&) {
        continue;  // dead links have left no way
      }
      for (const LinkId link : route)
        if (fabric.link(link).link_class == link_class)
          add_route(fabric, link_class, route, crossings.try_emplace(link, fabric.link_classes().size()).first->second);
    }
  for (auto& [link, crossing] : crossings)
    for (std::vector<LinkId>& links : crossing.links_of) {
      std::ranges::sort(links);
      links.erase(std::unique(links.begin(), links.end()), links.end());
    }
  return crossings;
}

// Bandwidth that links bring together.
struct Brought {
  Bandwidth real{1};
  Bandwidth nominal{1};
};

// Most that links of a class bring to the link; nothing where routes go without them.
std::optional<Brought> brought_by(const Fabric& fabric, const Crossing& crossing, std::size_t by, std::size_t most) {
  if (crossing.routes_of[by] != crossing.routes) return std::nullopt;
  const std::vector<LinkId>& links = crossing.links_of[by];
  if (links.size() > most) return std::nullopt;
  Int128 real = 0, nominal = 0;
  for (const LinkId link : links) {
    real += fabric.link(link).bandwidth.count();
    nominal += fabric.link(link).nominal.count();
  }
  const auto limited = [](Int128 rate) {
    return Bandwidth(static_cast<std::int64_t>(std::min<Int128>(rate, Bandwidth::max().count())));
  };
  return Brought{limited(real), limited(nominal)};
}

}  // namespace

std::optional<LinkCap> cap_of(const Fabric& fabric, std::size_t link_class) {
  const std::vector<DeviceId> devices = chosen_devices(fabric);
  const bool is_whole = devices.size() == fabric.device_count();
  const std::size_t most = is_whole ? SIZE_MAX : fabric.dimensions().front().size;
  const Crossings crossings = crossings_of(fabric, link_class, devices);
  if (crossings.empty()) return std::nullopt;
  std::optional<LinkCap> cap;
  for (std::size_t by = 0; by < fabric.link_classes().size(); ++by) {
    LinkCap of_class{by, Bandwidth(1), Bandwidth::max(), Bandwidth(1), Bandwidth::max()};
    bool is_cap = true;
    for (const auto& [link, crossing] : crossings) {
      const std::optional<Brought> brought = brought_by(fabric, crossing, by, most);
      is_cap = is_cap && brought && (is_whole || !fabric.joins_switches(link));
      if (!is_cap) break;
      of_class.together = std::max(of_class.together, brought->real);
      of_class.nominal_together = std::max(of_class.nominal_together, brought->nominal);
      of_class.least = std::min(of_class.least, fabric.link(link).bandwidth);
      of_class.nominal_least = std::min(of_class.nominal_least, fabric.link(link).nominal);
    }
    if (is_cap && (!cap || of_class.together < cap->together)) cap = of_class;
  }
  return cap;
}

std::vector<CappedClass> capped_links(const Fabric& fabric, const std::function<bool(const std::string& key)>& wanted) {
  std::vector<CappedClass> capped;
  const auto is_told = [&](const std::string& key) {
    return std::ranges::any_of(capped,
                               [&](const CappedClass& one) { return fabric.link_keys()[one.link_class] == key; });
  };
  for (std::size_t link_class = 0; link_class < fabric.link_classes().size(); ++link_class) {
    const std::string& key = fabric.link_keys()[link_class];
    if (key.empty() || is_told(key) || !wanted(key)) continue;
    const std::optional<LinkCap> cap = cap_of(fabric, link_class);
    if (cap && cap->together < cap->least) capped.push_back({link_class, *cap});
  }
  return capped;
}

std::string capped_text(const CappedClass& links, const Fabric& fabric) {
  return fmt::format("links '{}' of {} are faster than what comes to them: all of it crosses '{}', {}",
                     fabric.link_classes()[links.link_class], rounded(links.cap.least),
                     fabric.link_classes()[links.cap.by], rounded(links.cap.together));
}

}  // namespace orrery::network
