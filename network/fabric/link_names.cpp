// SPDX-License-Identifier: MIT
#include "network/fabric/link_names.h"

#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "core/config/quantity_text.h"
#include "core/suggest.h"

namespace orrery::network {
namespace {

// "nic.up[5]" in its parts; a name without a number is all class.
struct ClassName {
  std::string_view link_class;
  std::optional<std::int64_t> number;
};

ClassName parse(std::string_view name) {
  const std::size_t bracket = name.find('[');
  if (bracket == std::string_view::npos || !name.ends_with(']')) return {name, {}};
  const auto number = parse_whole_number(name.substr(bracket + 1, name.size() - bracket - 2));
  if (!number || *number < 0) return {name, {}};
  return {name.substr(0, bracket), number};
}

std::vector<LinkId> links_of_class(const Fabric& fabric, std::string_view name) {
  std::vector<LinkId> links;
  for (std::uint32_t i = 0; i < fabric.link_count(); ++i)
    if (fabric.link_classes()[fabric.link(LinkId(i)).link_class] == name) links.push_back(LinkId(i));
  return links;
}

std::vector<LinkId> links_at(const Fabric& fabric, VertexId vertex) {
  std::vector<LinkId> links;
  for (std::uint32_t i = 0; i < fabric.link_count(); ++i) {
    const LinkEnds ends = fabric.ends(LinkId(i));
    if (ends.from == vertex || ends.to == vertex) links.push_back(LinkId(i));
  }
  return links;
}

}  // namespace

std::string name_of(const Fabric& fabric, LinkId link) {
  const LinkEnds ends = fabric.ends(link);
  const std::string from = fabric.vertex_name(ends.from), to = fabric.vertex_name(ends.to);
  const std::string_view link_class = fabric.link_classes()[fabric.link(link).link_class];
  const std::size_t dot = link_class.rfind('.');
  const std::string_view direction = dot == std::string_view::npos ? "" : link_class.substr(dot + 1);
  const bool is_down = direction == "down";
  const auto is_device = [&](VertexId vertex) { return index_of(vertex) < fabric.device_count(); };
  const bool is_between_devices = ends.from != ends.to && is_device(ends.from) && is_device(ends.to);
  if ((!is_down && direction != "up") || is_between_devices) return from + ">" + to;
  const std::string& at = is_down ? to : from;
  // A link class that starts with its vertex's name does not repeat it.
  const std::string_view own = std::string_view(at).substr(at.rfind('.') + 1);
  if (own.starts_with(link_class.substr(0, dot))) return fmt::format("{}.{}", at, direction);
  return fmt::format("{}.{}", at, link_class);
}

std::optional<std::string> renamed_link(const Fabric& fabric, std::string_view name) {
  for (const std::string_view former : {"host.up", "host.down"}) {
    const std::size_t at = name.find(former);
    if (at == std::string_view::npos || (at > 0 && name[at - 1] != '.')) continue;
    const bool is_taken = std::ranges::find(fabric.link_classes(), "nic-pcie.up") != fabric.link_classes().end();
    const std::string direction(former.substr(former.rfind('.')));
    return fmt::format("{}{}{}{}", name.substr(0, at), is_taken ? "nic-pcie" : "pcie", direction,
                       name.substr(at + former.size()));
  }
  return std::nullopt;
}

std::vector<LinkId> links_named(const Fabric& fabric, std::string_view name) {
  const ClassName parsed = parse(name);
  const std::vector<LinkId> links = links_of_class(fabric, parsed.link_class);
  if (!links.empty() && !parsed.number) return links;
  if (parsed.number && *parsed.number < static_cast<std::int64_t>(links.size()))
    return {links[static_cast<std::size_t>(*parsed.number)]};
  const std::string_view vertex = name.ends_with(".*") ? name.substr(0, name.size() - 2) : name;
  for (std::uint32_t i = 0; i < fabric.vertex_count(); ++i)
    if (fabric.vertex_name(VertexId(i)) == vertex) return links_at(fabric, VertexId(i));
  std::vector<LinkId> called_so;
  for (std::uint32_t i = 0; i < fabric.link_count(); ++i)
    if (name_of(fabric, LinkId(i)) == name) called_so.push_back(LinkId(i));
  return called_so;
}

std::string link_name_hint(const Fabric& fabric, std::string_view name) {
  constexpr std::uint32_t kMostCompared = 10'000;  // vertices: enough for a slip of the pen, and soon done
  const ClassName parsed = parse(name);
  if (const std::size_t links = links_of_class(fabric, parsed.link_class).size(); links > 0)
    return fmt::format("the links of this class are {0}[0] to {0}[{1}]", parsed.link_class, links - 1);
  std::vector<std::string> names(fabric.link_classes().begin(), fabric.link_classes().end());
  for (std::uint32_t i = 0; i < std::min(fabric.vertex_count(), kMostCompared); ++i)
    names.push_back(fabric.vertex_name(VertexId(i)));
  if (const std::string nearest = nearest_name(name, names); !nearest.empty())
    return fmt::format("did you mean '{}'?", nearest);
  return fmt::format("classes of links: {}; one link: {}[0]; all of a device, switch or NIC: {}",
                     fmt::join(fabric.link_classes(), ", "), fabric.link_classes().front(),
                     fabric.vertex_name(VertexId(0)));
}

}  // namespace orrery::network
