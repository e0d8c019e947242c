// SPDX-License-Identifier: MIT
#include "tests/collectives/every_schedule.h"

#include <set>
#include <utility>

#include <fmt/format.h>

namespace orrery {

std::vector<Case> every_case() {
  std::vector<std::string> names = {"direct3"};
  for (const collectives::Algorithm& algorithm : collectives::algorithms()) names.emplace_back(algorithm.name);
  std::vector<Case> cases;
  for (const std::string& name : names)
    for (const CollectiveKind kind : kAllCollectiveKinds) {
      const collectives::Algorithm algorithm = collectives::find_algorithm(name).value();
      if (!algorithm.supports(kind)) continue;
      cases.push_back({name, kind, algorithm.both_ways});
      if (name == "halving-doubling") cases.push_back({name, kind, false, true});
      if (name == "double-binary-tree") cases.push_back({name, kind});
    }
  return cases;
}

bool is_rooted(CollectiveKind kind) {
  using enum CollectiveKind;
  return kind == kBroadcast || kind == kReduce || kind == kGather || kind == kScatter;
}

std::vector<std::uint32_t> some_roots(CollectiveKind kind, std::uint32_t ranks) {
  if (!is_rooted(kind)) return {0};
  const std::set<std::uint32_t> roots = {0, ranks / 2, ranks - 1};
  return {roots.begin(), roots.end()};
}

collectives::Schedule schedule_of(const Case& c, std::uint32_t ranks, std::uint32_t root, Bytes bytes) {
  collectives::Request request;
  request.kind = c.kind;
  request.ranks = ranks;
  request.root = root;
  request.bytes = bytes;
  request.descending = c.descending;
  request.nearest_first = c.nearest_first;
  return collectives::make_schedule(collectives::find_algorithm(c.algorithm).value(), std::move(request));
}

std::string title(const Case& c, std::uint32_t ranks, std::uint32_t root) {
  return fmt::format("{}{}{} {}, {} ranks, root {}", c.algorithm, c.descending ? ", descending" : "",
                     c.nearest_first ? ", nearest first" : "", name_of(c.kind), ranks, root);
}

}  // namespace orrery
