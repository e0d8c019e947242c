#include "network/routing.h"

namespace orrery {
namespace {

// The finaliser of splitmix64 (Steele, Lea and Flood, 2014): every bit of the input reaches every bit of the output.
std::uint64_t mixed(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15U;
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9U;
  x = (x ^ x >> 27) * 0x94d049bb133111ebU;
  return x ^ x >> 31;
}

}  // namespace

std::vector<std::string> routing_names() { return {"spray", "deterministic", "ecmp"}; }

std::uint32_t RouteChoices::take(std::uint32_t ways) {
  const auto choice = static_cast<std::uint32_t>(digits_ % ways);
  digits_ = hashed_ ? mixed(digits_) : digits_ / ways;
  return choice;
}

RouteChoices Routing::choices(const Endpoints& ends, std::uint32_t destination) const {
  if (kind != RoutingKind::kEcmp) return {destination, false};
  return {mixed(mixed(std::uint64_t{ends.from} << 32 | ends.to) ^ mixed(seed)), true};
}

}  // namespace orrery
