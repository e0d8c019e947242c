// SPDX-License-Identifier: MIT
#include "network/fabric/topology_config.h"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include "core/config/quantity_text.h"

namespace orrery::network {

TopologyChoice read_topology(Section& section, std::span<const std::string> names, const Members& members,
                             std::string_view meaning) {
  TopologyChoice choice;
  const std::size_t errors = section.errors();
  const std::size_t chosen = Choice("topology", meaning, names).required(section);
  const bool known = section.sound(errors);
  if (known) choice.topology = topology_named(names[chosen]);
  std::vector<ReadTopology> done;
  for (const std::string& name : names) {
    const ReadTopology read = topology_named(name)->read;
    if (read == nullptr || std::ranges::find(done, read) != done.end()) continue;
    done.push_back(read);
    section.when(known && read == choice.topology->read, [&] {
      TopologyOwn own;
      read(section, members, own);
      if (section.sound(errors)) choice.own = std::move(own);
    });
  }
  return choice;
}

std::string size_problem(const TopologyChoice& choice, std::uint64_t size) {
  const Topology& topology = *choice.topology;
  if (size > topology.most)
    return fmt::format("a {} of {} members; at most {} are possible", topology.name, size, topology.most);
  if (choice.own.size != 0 && choice.own.size != size)
    return fmt::format("{} members, but the {} is written for {}", size, topology.name, choice.own.size);
  if (size % choice.own.rails != 0)
    return fmt::format("{} members do not divide into nodes of {} rails", size, choice.own.rails);
  return {};
}

std::string bandwidth_problem(const Topology& topology, const TopologyParameters& parameters) {
  return topology.shape->problem == nullptr ? std::string() : topology.shape->problem(parameters);
}

Efficiency read_efficiency(Section& section, std::string_view key, std::string_view meaning, Efficiency fallback,
                           std::string_view documented) {
  return section.optional<Efficiency>(key, fallback, meaning, documented);
}

std::uint32_t read_router_ports(Section& section) {
  std::uint32_t ports = 1;
  section.needs("router_ports", ports, {1, 4096}, "dragonfly, flattened-butterfly: number of members on a router");
  return ports;
}

void read_sizes(Section& section, TopologyOwn& own) {
  constexpr std::string_view kHint = "whole numbers from 1, for example sizes: [4, 4, 4]";
  own.sizes = {1};
  own.size = 1;
  const std::vector<std::string> sizes =
      section.words("sizes",
                    "mesh, torus: number of members (flattened-butterfly: of routers) along each axis; the first axis "
                    "varies fastest. Example: `[4, 4, 4]`");
  if (!section.has("sizes"))
    return section.error("sizes", fmt::format("'{}.sizes' is missing", section.path()), std::string(kHint));
  if (sizes.empty() || sizes.size() > kMostAxes)
    return section.error("sizes", fmt::format("{} axes; 1 to {} are possible", sizes.size(), kMostAxes),
                         std::string(kHint));
  own.sizes.clear();
  for (const std::string& text : sizes) {
    const std::int64_t size = parse_whole_number(text).value_or(0);
    if (size < 1 || size > UINT32_MAX)
      return section.error("sizes", fmt::format("invalid number of members '{}'", printable(text, 40)),
                           std::string(kHint));
    if (size > kMostDevices / own.size)
      return section.error("sizes", fmt::format("the axes make more than {} members", kMostDevices));
    own.size *= static_cast<std::uint32_t>(size);
    own.sizes.push_back(static_cast<std::uint32_t>(size));
  }
}

bool is_outside(std::string_view name) {
  return name == "nic-pcie" || name == "host" || name == "nic" || name == "host-memory" || name == "stack";
}

std::string reserved_name_problem(std::string_view name) {
  if (name != "latency") return {};
  return "'latency' is what results call a time that no link bounds";
}

std::string read_name(Section& section, std::string fallback, std::string_view meaning, std::string_view documented) {
  const std::string name = section.optional<std::string>("name", std::move(fallback), meaning, documented);
  const auto fits = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
  };
  if (name.empty() || !std::ranges::all_of(name, fits))
    section.error("name", fmt::format("invalid name '{}'", printable(name)), "use letters, digits, '-' and '_'");
  if (const std::string problem = reserved_name_problem(name); !problem.empty())
    section.error("name", problem, "choose another name");
  return name;
}

}  // namespace orrery::network
