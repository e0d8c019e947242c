// SPDX-License-Identifier: MIT
#include "study/sweep/collection.h"

#include <optional>
#include <set>
#include <utility>

#include <nlohmann/json.hpp>

#include "core/in_parallel.h"
#include "core/sha256.h"

namespace orrery::study {

PointCollection::PointCollection(const Sweep& sweep, const SweepOptions& options, const ConfigFiles& files)
    : store_(*options.store), keys_(sweep.point_count()), has_(sweep.point_count()), points_(sweep.point_count()) {
  in_parallel(points_.size(), options.jobs, [&](std::size_t number) {
    if (options.is_stopped && options.is_stopped()) return;
    keys_[number] = key_of_point(sweep, number, options, files, points_[number]);
  });
}

void PointCollection::collect(const PointDone& done) {
  const std::set<std::string> there = store_.keys();
  for (std::size_t number = 0; number < points_.size(); ++number) {
    if (has_[number]) continue;
    nlohmann::ordered_json result;
    if (there.contains(keys_[number]))
      if (std::optional<PointStore::Stored> found = store_.find(keys_[number])) {
        points_[number] = std::move(found->point);
        result = std::move(found->result);
      }
    if (!points_[number].was_begun()) continue;
    has_[number] = true;
    if (done) done(number, points_[number], result);
  }
}

std::vector<std::size_t> PointCollection::missing(std::size_t parts) const {
  std::vector<std::size_t> counts(parts);
  for (std::size_t number = 0; number < has_.size(); ++number)
    if (!has_[number]) ++counts[number % parts];
  return counts;
}

std::string PointCollection::fingerprint() const {
  Sha256 hash;
  for (const std::string& key : keys_) hash.add(key + "\n");
  return hash.finish();
}

}  // namespace orrery::study
