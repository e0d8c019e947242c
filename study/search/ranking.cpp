// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cstddef>
#include <optional>
#include <utility>

#include "core/config/quantity_text.h"
#include "study/search/search.h"

namespace orrery::study {

std::optional<Duration> Search::next_bound() const {
  if (!knows_all || (!bounds_hold && simulated < found.size())) return Duration{};
  if (simulated == found.size()) return std::nullopt;
  return found[simulated].bound;
}

std::size_t Search::rank_of(std::size_t plan) const {
  const double time = seconds(*found[plan].time);
  const auto end = found.begin() + static_cast<long>(simulated);
  return 1 + static_cast<std::size_t>(std::count_if(found.begin(), end, [&](const FoundPlan& other) {
           return *other.time < *found[plan].time && !(ratio && is_within(time / seconds(*other.time), *ratio));
         }));
}

std::size_t Search::proven() const {
  const std::optional<Duration> bound = next_bound();
  if (!bound) return simulated;
  const auto end = std::find_if(found.begin(), found.begin() + static_cast<long>(simulated),
                                [&](const FoundPlan& one) { return *one.time > *bound; });
  return static_cast<std::size_t>(end - found.begin());
}

std::pair<std::size_t, std::size_t> Search::faster_than_given() const {
  if (!given) return {0, 0};
  const auto left = found.begin() + static_cast<long>(simulated);
  const auto faster =
      std::count_if(found.begin(), left, [&](const FoundPlan& one) { return *one.time < *given->time; });
  const auto maybe =
      std::count_if(left, found.end(), [&](const FoundPlan& one) { return !bounds_hold || one.bound < *given->time; });
  return {static_cast<std::size_t>(faster), static_cast<std::size_t>(maybe)};
}

}  // namespace orrery::study
