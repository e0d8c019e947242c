// SPDX-License-Identifier: MIT
#include "network/topologies/graph_config.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "core/config/quantity_text.h"
#include "core/suggest.h"
#include "network/fabric/link_type.h"
#include "network/fabric/topology_config.h"

namespace orrery::network {
namespace {

constexpr std::string_view kDevice = "gpu";
constexpr std::string_view kNic = "nic";

struct Edge {
  std::string from;
  std::string to;
  std::string link_class = "link";
  Bandwidth bandwidth{1};
  Efficiency efficiency = kFullEfficiency;
  Duration latency{};
  std::uint32_t count = 1;
  bool directed = false;
  Location from_at;
  Location to_at;
};

// The number of a name such as "gpu12"; nothing if the name is another.
std::optional<std::uint32_t> numbered(std::string_view name, std::string_view prefix) {
  if (!name.starts_with(prefix) || name.size() == prefix.size()) return std::nullopt;
  const std::string_view digits = name.substr(prefix.size());
  if (digits.size() > 1 && digits.front() == '0') return std::nullopt;
  std::uint32_t number = 0;
  const auto [end, code] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (code != std::errc{} || end != digits.data() + digits.size()) return std::nullopt;
  return number;
}

bool is_word(std::string_view name) {
  const auto fits = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
  };
  return !name.empty() && name.size() <= 64 && std::ranges::all_of(name, fits);
}

void check_word(Section& section, std::string_view key, const std::string& word) {
  if (!is_word(word))
    section.error(key, fmt::format("invalid name '{}'", printable(word, 40)), "use letters, digits, '-' and '_'");
}

std::string too_much(std::int64_t count, Bandwidth each) {
  return fmt::format("{} links of {} make more than can be counted", count, to_text(each));
}

Edge read_edge(Section& section) {
  Edge edge;
  for (const auto& [key, name] : {std::pair("from", &edge.from), std::pair("to", &edge.to)}) {
    section.needs(key, *name, "one end of the link: `gpu<i>`, `nic<i>`, or any other name, which is a switch");
    check_word(section, key, *name);
  }
  const LinkRate rate = read_link_rate(section, "bandwidth of one link, per direction",
                                       "share of the link's nominal bandwidth that messages get");
  edge.bandwidth = rate.nominal;
  edge.efficiency = rate.efficiency;
  section.needs("latency", edge.latency, "latency of the link, including the switch that it leads to");
  section.takes("count", edge.count, {1, 4096}, "number of parallel links; they act as one trunk of summed bandwidth");
  section.takes("class", edge.link_class, "name of the links in results");
  check_word(section, "class", edge.link_class);
  section.takes("directed", edge.directed, "true: the link leads from `from` to `to` only; false: it leads both ways");
  if (edge.bandwidth > Bandwidth(Bandwidth::max().count() / edge.count))
    section.error("bandwidth", too_much(edge.count, edge.bandwidth));
  else
    edge.bandwidth = edge.bandwidth * edge.count;
  if (is_outside(edge.link_class))
    section.error("class", fmt::format("'{}' names the links that leave a node", edge.link_class));
  if (const std::string problem = reserved_name_problem(edge.link_class); !problem.empty())
    section.error("class", problem, "choose another name");
  edge.from_at = section.where("from");
  edge.to_at = section.where("to");
  return edge;
}

// Reads figures for all links of a class, which replace their own.
void read_class(const ConfigEntry& entry, Section& section, std::vector<Edge>& edges) {
  constexpr std::string_view kBandwidth = "bandwidth of each link of the class, per direction";
  const auto bandwidth = section.has("bandwidth") ? std::optional(read_link_bandwidth(section, "bandwidth", kBandwidth))
                                                  : section.maybe<Bandwidth>("bandwidth", kBandwidth);
  std::optional<Efficiency> efficiency;
  std::optional<Duration> latency;
  section.takes("efficiency", efficiency, "share of the links' nominal bandwidth that messages get");
  section.takes("latency", latency, "latency of each link of the class");
  std::vector<std::string> names;
  for (Edge& edge : edges) {
    if (std::ranges::find(names, edge.link_class) == names.end()) names.push_back(edge.link_class);
    if (edge.link_class != entry.key) continue;
    if (bandwidth && *bandwidth > Bandwidth(Bandwidth::max().count() / edge.count))
      return section.error("bandwidth", too_much(edge.count, *bandwidth));
    if (bandwidth) edge.bandwidth = *bandwidth * edge.count;
    edge.efficiency = efficiency.value_or(edge.efficiency);
    edge.latency = latency.value_or(edge.latency);
  }
  if (std::ranges::find(names, entry.key) == names.end())
    section.context().diagnostics().error(entry.where, fmt::format("{}: no link has this class", section.path()),
                                          suggestion(entry.key, names));
}

std::vector<Edge> read_edges(Section& section) {
  std::vector<Edge> edges;
  const std::size_t errors = section.errors();
  const bool given = section.list("links",
                                  "edge-list: the links, one entry for each. Example: `[{from: gpu0, to: gpu1, "
                                  "bandwidth: 25 GB/s, latency: 700 ns}]`",
                                  [&](Section& link) { edges.push_back(read_edge(link)); });
  section.when(section.sound(errors), [&] {
    section.map(
        "classes", "CLASS",
        "edge-list: what all links of a class get in place of their own. Example: `{pcie: {bandwidth: 16 GB/s}}`",
        [&](const ConfigEntry& entry, Section& s) { read_class(entry, s, edges); });
  });
  if (!section.sound(errors)) {
    section.know("classes");
    return {};
  }
  if (edges.empty())
    section.error("links", fmt::format("'{}.links' is {}", section.path(), given ? "empty" : "missing"),
                  "a list such as [{from: gpu0, to: gpu1, bandwidth: 25 GB/s, latency: 700 ns}]");
  if (2 * edges.size() > kMostGraphLinks)
    section.error("links", fmt::format("{} links; at most {} are possible", edges.size(), kMostGraphLinks / 2));
  return edges;
}

// Gives every name its vertex.
class Vertices {
 public:
  Vertices(GraphSpec& spec, const GraphMembers& members, Diagnostics& diagnostics)
      : spec_(spec), diagnostics_(diagnostics) {
    spec_.devices = members.devices;
    spec_.nics = members.nics;
    for (std::uint32_t i = 0; i < members.devices; ++i) add(fmt::format("{}{}", kDevice, i), {});
    for (std::uint32_t i = 0; i < members.nics; ++i) add(fmt::format("{}{}", kNic, i), {});
  }

  std::uint32_t at(const std::string& name, const Location& where) {
    if (const auto known = vertex_.find(name); known != vertex_.end()) return known->second;
    if (numbered(name, kDevice)) refuse(name, where, spec_.devices, kDevice, "devices");
    if (numbered(name, kNic)) refuse(name, where, spec_.nics, kNic, "NICs");
    return add(name, where);
  }

  // Location where a vertex that is no member was first named.
  const Location& first_named(std::uint32_t vertex) const { return where_[vertex]; }

 private:
  std::uint32_t add(std::string name, const Location& where) {
    const std::uint32_t vertex = spec_.vertex_count();
    vertex_.emplace(name, vertex);
    spec_.vertices.push_back(std::move(name));
    where_.push_back(where);
    return vertex;
  }

  void refuse(const std::string& name, const Location& where, std::uint32_t count, std::string_view prefix,
              std::string_view what) {
    const std::string known = count == 0   ? fmt::format("there are no {} here", what)
                              : count == 1 ? fmt::format("the only one is {}0", prefix)
                                           : fmt::format("valid {} are {}0 to {}{}", what, prefix, prefix, count - 1);
    diagnostics_.error(where, fmt::format("there is no '{}'", name), known);
  }

  GraphSpec& spec_;
  Diagnostics& diagnostics_;
  std::map<std::string, std::uint32_t, std::less<>> vertex_;
  std::vector<Location> where_;
};

std::uint32_t class_of(GraphSpec& spec, const std::string& name) {
  const auto found = std::ranges::find(spec.link_classes, name);
  const auto index = static_cast<std::uint32_t>(found - spec.link_classes.begin());
  if (found == spec.link_classes.end()) spec.link_classes.push_back(name);
  return index;
}

void add_edges(GraphSpec& spec, std::span<const Edge> edges, Vertices& vertices, Diagnostics& diagnostics) {
  std::set<std::pair<std::uint32_t, std::uint32_t>> joined;
  const auto add = [&](std::uint32_t from, std::uint32_t to, const Edge& edge) {
    const bool first = joined.insert({from, to}).second;
    if (!first)
      diagnostics.error(edge.from_at,
                        fmt::format("a second link from {} to {}", spec.vertices[from], spec.vertices[to]),
                        "parallel links are one with `count`");
    spec.links.push_back(
        {from, to, class_of(spec, edge.link_class), edge.bandwidth, edge.latency, edge.count, edge.efficiency});
    return first;
  };
  for (const Edge& edge : edges) {
    const std::uint32_t from = vertices.at(edge.from, edge.from_at);
    const std::uint32_t to = vertices.at(edge.to, edge.to_at);
    if (from == to) {
      diagnostics.error(edge.to_at, fmt::format("a link from {} to itself", edge.from));
      continue;
    }
    if (add(from, to, edge) && !edge.directed) add(to, from, edge);
  }
}

// Takes the links of NICs away that the node does not have, where `links` is written for more: as when `nics.count` is
// lowered beside a shipped node. Returns the names at their other ends. A number that is out of line is an error later.
std::set<std::string> leave_nics_out(std::vector<Edge>& edges, std::uint32_t nics, Section& section) {
  std::set<std::uint32_t> named;
  for (const Edge& edge : edges)
    for (const std::string& name : {edge.from, edge.to})
      if (const auto number = numbered(name, kNic)) named.insert(*number);
  std::set<std::string> others;
  if (named.size() <= nics || *named.rbegin() + 1 != named.size()) return others;
  const auto is_left_out = [&](const std::string& name) { return numbered(name, kNic).value_or(0) >= nics; };
  std::erase_if(edges, [&](const Edge& edge) {
    const bool from = is_left_out(edge.from), to = is_left_out(edge.to);
    if (from) others.insert(edge.to);
    if (to) others.insert(edge.from);
    return from || to;
  });
  const auto last = static_cast<std::uint32_t>(named.size() - 1);
  section.warning("links",
                  fmt::format("the node has {}, so the links of {}{} are left out", counted(nics, "NIC"), kNic,
                              nics == last ? fmt::format("{}", nics) : fmt::format("{} to {}{}", nics, kNic, last)),
                  "`nics.count` says how many NICs there are; they are numbered from 0");
  return others;
}

// A switch with one neighbour joins nothing: most likely its name is misspelt. Those `known` have lost another.
void check_switches(const GraphSpec& spec, const Vertices& vertices, const std::set<std::string>& known,
                    Diagnostics& diagnostics) {
  std::vector<std::set<std::uint32_t>> neighbours(spec.vertices.size());
  for (const GraphLink& link : spec.links) {
    neighbours[link.from].insert(link.to);
    neighbours[link.to].insert(link.from);
  }
  for (std::uint32_t vertex = spec.members(); vertex < spec.vertex_count(); ++vertex) {
    if (neighbours[vertex].size() > 1 || known.contains(spec.vertices[vertex])) continue;
    std::vector<std::string> others = spec.vertices;
    others.erase(others.begin() + vertex);
    const std::string near = nearest_name(spec.vertices[vertex], others);
    diagnostics.error(vertices.first_named(vertex),
                      fmt::format("'{}' leads nowhere: nothing else is joined to it", spec.vertices[vertex]),
                      near.empty() ? "add the links that lead on" : fmt::format("did you mean '{}'?", near));
  }
}

RoutedGraph graph_of(std::span<const Edge> edges, const GraphMembers& members, Section& section,
                     const std::set<std::string>& known = {}) {
  Diagnostics& diagnostics = section.context().diagnostics();
  const std::size_t errors = diagnostics.error_count();
  if (std::uint64_t{members.devices} + members.nics > kMostGraphVertices) {
    section.error("links", fmt::format("{} devices and NICs; at most {} can be joined by a list of links",
                                       std::uint64_t{members.devices} + members.nics, kMostGraphVertices));
    return {};
  }
  GraphSpec spec;
  Vertices vertices(spec, members, diagnostics);
  add_edges(spec, edges, vertices, diagnostics);
  if (diagnostics.error_count() == errors) check_switches(spec, vertices, known, diagnostics);
  if (spec.vertices.size() > kMostGraphVertices)
    section.error("links", fmt::format("the links join {} vertices; at most {} are possible", spec.vertices.size(),
                                       kMostGraphVertices));
  if (diagnostics.error_count() != errors) return {};
  for (const std::string& name : spec.link_classes)
    spec.class_keys.push_back(fmt::format("{}.classes.{}.bandwidth", section.path(), name));
  return routed(std::move(spec), section, "links", members.rails);
}

// The vertices that the links lead to from one, whatever passes messages on.
std::set<std::uint32_t> joined_to(const GraphSpec& spec, std::uint32_t start, bool against_direction) {
  std::set<std::uint32_t> joined = {start};
  std::vector<std::uint32_t> order = {start};
  for (std::size_t i = 0; i < order.size(); ++i)
    for (const GraphLink& link : spec.links) {
      if (link.from == order[i] && joined.insert(link.to).second) order.push_back(link.to);
      if (against_direction && link.to == order[i] && joined.insert(link.from).second) order.push_back(link.from);
    }
  return joined;
}

std::string why_unreachable(const GraphSpec& spec, const RoutedGraph::Pair& pair) {
  for (const std::uint32_t end : {pair.from, pair.to}) {
    if (joined_to(spec, end, true).size() > 1) continue;
    const bool is_nic = end >= spec.devices && spec.devices > 0;
    return fmt::format("no link names {}; join it to a switch or to another device{}", spec.vertices[end],
                       is_nic ? ", or lower `nics.count`" : "");
  }
  if (!joined_to(spec, pair.from, true).contains(pair.to))
    return "nothing joins the parts that they are in; add a link";
  if (!joined_to(spec, pair.from, false).contains(pair.to))
    return "links with `directed: true` lead the other way only; add those that lead back";
  return "NICs pass nothing on, and a device passes messages on only from one device to another";
}

}  // namespace

RoutedGraph read_graph(Section& section, const GraphMembers& members) {
  const std::size_t errors = section.errors();
  std::vector<Edge> edges = read_edges(section);
  if (!section.sound(errors)) return {};
  if (members.nics == 0) return graph_of(edges, members, section);
  const std::set<std::string> known = leave_nics_out(edges, members.nics, section);
  return graph_of(edges, members, section, known);
}

RoutedGraph read_graph(Section& section, const Members& members) {
  const std::size_t errors = section.errors();
  const std::vector<Edge> edges = read_edges(section);
  if (!section.sound(errors)) return {};
  const bool devices = members.kind == MemberKind::kDevice;
  std::uint32_t count = 0;
  for (const Edge& edge : edges)
    for (const std::string& name : {edge.from, edge.to})
      if (const auto number = numbered(name, devices ? kDevice : kNic))
        count = std::max(count, std::min(*number, kMostGraphVertices) + 1);
  if (count == 0) {
    section.error("links",
                  fmt::format("no link names a member; they are called {0}0, {0}1, ...", devices ? kDevice : kNic));
    return {};
  }
  if (members.count != 0) count = std::min(count, members.count);
  return graph_of(edges, devices ? GraphMembers{count, 0} : GraphMembers{0, count, members.rails}, section);
}

RoutedGraph routed(GraphSpec spec, Section& section, std::string_view key, std::uint32_t rails) {
  RoutedGraph graph(std::move(spec));
  const auto pair = graph.unreachable(rails);
  if (!pair) return graph;
  const GraphSpec& s = graph.spec();
  section.error(key, fmt::format("no way leads from {} to {}", s.vertices[pair->from], s.vertices[pair->to]),
                why_unreachable(s, *pair));
  return {};
}

}  // namespace orrery::network
