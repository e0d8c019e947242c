// SPDX-License-Identifier: MIT
// A small explicit graph of devices, NICs and switches with its routes worked out: a real node (NVLink cube mesh, PCIe
// tree), or any fabric that no formula describes.
//
// Which way a message goes: NICs pass nothing on, and a device passes messages on only from one device to another (as
// NVLink does), never between a switch and something else. Of the routes that remain: the fewest hops, then the widest,
// then the one without a switch. Of those that are left, the lowest vertex number at each hop; or, with choices to make
// (Routing), any, and at each hop any of the parallel links that make up a trunk.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/units.h"

namespace orrery::network {

// Choice of a message among parallel links and switches that serve equally well.
//
// Spray uses all of them at once, so they are one trunk of their summed capacity and there is nothing to choose. The
// other two enumerate them and send everything between two devices the same way.
enum class RoutingKind : std::uint8_t { kSpray, kDeterministic, kEcmp };

// "spray", "deterministic", "ecmp", in the order of the enumeration.
std::vector<std::string> routing_names();

// Ends of a route: a message from one device to another.
struct Endpoints {
  std::uint32_t from = 0;
  std::uint32_t to = 0;
};

// The choices along one route, in the order of travel.
class RouteChoices {
 public:
  RouteChoices(std::uint64_t digits, bool hashed) : digits_(digits), hashed_(hashed) {}

  // The next choice, one of 0 .. ways-1. `ways` is at least 1.
  std::uint32_t take(std::uint32_t ways);

 private:
  std::uint64_t digits_;
  bool hashed_;
};

struct Routing {
  RoutingKind kind = RoutingKind::kSpray;
  std::uint64_t seed = 0;  // of ecmp

  // True if parallel links are separate links rather than one trunk.
  bool enumerates() const { return kind != RoutingKind::kSpray; }

  // Deterministic: destination modulo, d mod k at the first choice, (d / k) mod k' at the next, where `destination`
  // numbers the members of the topology. So all that goes to one member goes the same way from there on.
  // Ecmp: the remainder of a hash of the two devices and the seed, hashed again for each further choice.
  RouteChoices choices(const Endpoints& ends, std::uint32_t destination) const;

  bool operator==(const Routing&) const = default;
};

struct GraphLink {
  std::uint32_t from = 0;  // vertices
  std::uint32_t to = 0;
  std::uint32_t link_class = 0;  // into GraphSpec::link_classes
  Bandwidth bandwidth{1};        // nominal
  Duration latency{};
  std::uint32_t count = 1;  // parallel links that make it up
  Efficiency efficiency = kFullEfficiency;

  Bandwidth rate() const { return bandwidth * efficiency; }
};

// Vertices are numbered: devices, NICs, switches. Devices and NICs are the members, between which messages travel.
struct GraphSpec {
  std::uint32_t devices = 0;
  std::uint32_t nics = 0;
  std::vector<std::string> vertices;  // names
  std::vector<std::string> link_classes;
  std::vector<std::string> class_keys{};  // by class, as far as known: the key that sets the bandwidth of its links
  std::vector<GraphLink> links;

  std::uint32_t members() const { return devices + nics; }
  std::uint32_t vertex_count() const { return static_cast<std::uint32_t>(vertices.size()); }
};

inline constexpr std::uint32_t kMostGraphVertices = 1024;
inline constexpr std::uint32_t kMostGraphLinks = 64U << 10;

class RoutedGraph {
 public:
  struct Pair {
    std::uint32_t from = 0;
    std::uint32_t to = 0;
  };

  RoutedGraph() = default;
  // The ends of the links exist; counts are within the limits above.
  explicit RoutedGraph(GraphSpec spec);

  const GraphSpec& spec() const { return spec_; }
  bool empty() const { return spec_.vertices.empty(); }

  // Two members without a route, of those that may talk: a device with any member; NICs with each other where there is
  // no device, if their numbers are the same modulo `rails`. route() needs that there is one.
  std::optional<Pair> unreachable(std::uint32_t rails = 1) const;
  // Links on the route between two members that may talk.
  std::uint32_t hops(std::uint32_t from, std::uint32_t to) const;

  // Calls `cross` with each link between two different members, in the order of travel.
  template <class Cross>
  void route(std::uint32_t from, std::uint32_t to, const Cross& cross) const {
    const std::vector<Hop>& hops = hops_of(from, to);
    for (std::uint32_t at = from; at != to;) {
      const std::uint32_t link = hops[pair(at, to)].next;
      cross(link);
      at = spec_.links[link].to;
    }
  }

  // The same with choices to make. The links are single ones: those of the first trunk, those of the second, ...
  template <class Cross>
  void route(std::uint32_t from, std::uint32_t to, RouteChoices choices, const Cross& cross) const {
    for (std::uint32_t at = from; at != to;) {
      const std::uint32_t link = choose(from, at, to, choices);
      cross(link);
      at = spec_.links[trunk_of(link)].to;
    }
  }

  std::uint32_t single_links() const { return first_single_.back(); }
  // The trunk that a single link belongs to.
  std::uint32_t trunk_of(std::uint32_t single) const;

 private:
  static constexpr std::uint32_t kNone = UINT32_MAX;

  // From a vertex to a member: how far, how wide at the narrowest, and over which link first.
  struct Hop {
    std::uint32_t hops = kNone;  // kNone: no way
    std::uint32_t next = kNone;
    Bandwidth width{0};
  };
  using Way = std::vector<Hop>;  // of all vertices to one member

  std::size_t pair(std::uint32_t vertex, std::uint32_t member) const {
    return std::size_t{vertex} * spec_.members() + member;
  }
  const std::vector<Hop>& hops_of(std::uint32_t from, std::uint32_t to) const {
    return on_devices_[pair(from, to)] ? over_devices_ : over_switches_;
  }
  template <class PassesOn>
  Way search(std::uint32_t target, bool devices_only, const PassesOn& passes_on) const;
  std::uint32_t choose(std::uint32_t from, std::uint32_t at, std::uint32_t to, RouteChoices& choices) const;

  GraphSpec spec_;
  std::vector<std::vector<std::uint32_t>> into_;   // links by the vertex they end at
  std::vector<std::vector<std::uint32_t>> from_;   // links by the vertex they start at, in the order of where they end
  std::vector<std::uint32_t> first_single_ = {0};  // by trunk; then how many there are
  // Hops by vertex and target member: over other devices only, or over switches only.
  std::vector<Hop> over_devices_;
  std::vector<Hop> over_switches_;
  std::vector<bool> on_devices_;  // by pair of members: which of the two
};

}  // namespace orrery::network
