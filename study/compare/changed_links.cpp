// SPDX-License-Identifier: MIT
#include "study/compare/changed_links.h"

#include <algorithm>
#include <iterator>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace orrery::study {
namespace {

std::string_view parent_of(std::string_view path) { return path.substr(0, std::min(path.rfind('.'), path.size())); }

std::vector<Bandwidth> bandwidths_of(const network::Fabric& fabric, std::size_t link_class) {
  std::vector<Bandwidth> bandwidths;
  for (const network::Link& link : fabric.link_kinds())
    if (link.link_class == link_class) bandwidths.push_back(link.bandwidth);
  return bandwidths;
}

// Cap of links that are full in neither fabric, as it is in the second.
std::optional<network::LinkCap> cap_of(const network::Fabric& first, const network::Fabric& second,
                                       const ChangedLinks& links) {
  return cap_in(first, links) ? cap_in(second, links) : std::nullopt;
}

}  // namespace

bool is_below(std::string_view path, std::string_view section) {
  return path == section || (path.size() > section.size() && path.starts_with(section) &&
                             (path[section.size()] == '.' || path[section.size()] == '['));
}

std::vector<ChangedLinks> changed_links(const network::Fabric& first, const network::Fabric& second) {
  std::vector<ChangedLinks> changed;
  if (!std::ranges::equal(first.link_classes(), second.link_classes())) return changed;
  for (std::size_t link_class = 0; link_class < first.link_classes().size(); ++link_class) {
    const std::vector<Bandwidth> before = bandwidths_of(first, link_class), after = bandwidths_of(second, link_class);
    if (before == after) continue;
    const double rise = before.empty() || after.empty() ? 1
                                                        : static_cast<double>(std::ranges::max(after).count()) /
                                                              static_cast<double>(std::ranges::max(before).count());
    changed.push_back({link_class, first.link_keys()[link_class], rise});
  }
  return changed;
}

std::vector<ChangedLinks> links_of(const std::string& key, const std::vector<ChangedLinks>& changed, bool is_only) {
  std::vector<ChangedLinks> found;
  const auto take = [&](const auto& is_of) {
    if (found.empty()) std::ranges::copy_if(changed, std::back_inserter(found), is_of);
  };
  take([&](const ChangedLinks& links) { return links.key == key; });
  take([&](const ChangedLinks& links) { return !links.key.empty() && is_below(key, parent_of(links.key)); });
  if (is_only) take([](const ChangedLinks&) { return true; });
  return found;
}

std::optional<network::LinkCap> cap_in(const network::Fabric& fabric, const ChangedLinks& links) {
  std::optional<network::LinkCap> cap = network::cap_of(fabric, links.link_class);
  if (cap && cap->together > cap->least) cap.reset();
  return cap;
}

CappedLinks capped(const network::Fabric& first, const network::Fabric& second,
                   const std::vector<ChangedLinks>& links) {
  CappedLinks result;
  for (const ChangedLinks& one : links) {
    const std::optional<network::LinkCap> cap = cap_of(first, second, one);
    (cap ? result.capped : result.others).push_back(one);
    if (cap && (!result.cap || cap->together < result.cap->together)) result.cap = cap;
  }
  return result;
}

std::string names_of(const network::Fabric& fabric, const std::vector<ChangedLinks>& links) {
  std::vector<std::string> names;
  for (const ChangedLinks& one : links) {
    std::string name = network::without_direction(fabric.link_classes()[one.link_class]);
    if (std::ranges::find(names, name) == names.end()) names.push_back(std::move(name));
  }
  return fmt::format("'{}'", fmt::join(names, "', '"));
}

}  // namespace orrery::study
