// How a message chooses among parallel links and switches that serve equally well.
//
// Spray uses all of them at once, so they are one trunk of their summed capacity and there is nothing to choose. The
// other two enumerate them and send everything between two devices the same way.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace orrery {

enum class RoutingKind : std::uint8_t { kSpray, kDeterministic, kEcmp };

// "spray", "deterministic", "ecmp", in the order of the enumeration.
std::vector<std::string> routing_names();

// What a route is for: a message from one device to another.
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

  // Whether parallel links are links of their own, in place of a trunk.
  bool enumerates() const { return kind != RoutingKind::kSpray; }

  // Deterministic: destination modulo, d mod k at the first choice, (d / k) mod k' at the next, where `destination`
  // numbers the members of the topology. So all that goes to one member goes the same way from there on.
  // Ecmp: the remainder of a hash of the two devices and the seed, hashed again for each further choice.
  RouteChoices choices(const Endpoints& ends, std::uint32_t destination) const;

  bool operator==(const Routing&) const = default;
};

}  // namespace orrery
