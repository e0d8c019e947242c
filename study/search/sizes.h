// SPDX-License-Identifier: MIT
// The best plans of a training job on clusters of several sizes: how many nodes are best, by time or by what a token
// costs.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "study/search/search.h"

namespace orrery::study {

// Objective: the least time, the most tokens per device and second, the least cost, the least energy. On one cluster,
// and among clusters of one device, all but the first are the same.
enum class Objective : std::uint8_t { kTime, kTokens, kCost, kEnergy };
std::vector<std::string> objective_names();

struct SizedSearch {
  std::int64_t nodes = 0;
  std::vector<std::string> settings;  // with the number of nodes
  std::optional<Search> search;
  std::vector<Problem> refusal;  // where no plan fits

  bool has_best() const { return search && search->simulated > 0; }  // else it was stopped, or no plan fits
};

// One search for each number of nodes, the best size first, those without a plan last. Throws InputError if none has
// one, and where the objective needs a figure that the experiment has not (a price, a power); PointsMissing.
std::vector<SizedSearch> search_sizes(const SearchRequest& request, std::span<const std::int64_t> nodes,
                                      Objective objective, Points& points, const ConfigFiles& files);

// A line for each size, and the best plans of the first.
std::string sizes_text(std::span<const SizedSearch> sizes);
// The document "orrery.search/1" of the first, with `sizes`.
nlohmann::ordered_json sizes_json(std::span<const SizedSearch> sizes);

}  // namespace orrery::study
