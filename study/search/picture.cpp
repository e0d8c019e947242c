// SPDX-License-Identifier: MIT
// Time against memory of the plans that were simulated.
#include <fmt/format.h>

#include "report/plot/front.h"
#include "study/search/search.h"

namespace orrery::study {

std::optional<report::Picture> search_picture(const Search& search) {
  std::vector<report::TimeAndMemory> plans;
  for (const FoundPlan& plan : search.found)
    if (plan.time) plans.push_back({text_of(plan.plan), seconds(*plan.time), static_cast<double>(plan.memory.count())});
  if (plans.empty()) return std::nullopt;
  report::Picture picture =
      report::front_picture("Plans: time against memory", plans, static_cast<double>(search.capacity.count()));
  picture.captions.insert(picture.captions.begin(), fmt::format("{} on {}", search.job, search.devices));
  return picture;
}

}  // namespace orrery::study
