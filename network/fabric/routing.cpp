#include "network/fabric/routing.h"

#include "core/hash.h"

namespace orrery {

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
