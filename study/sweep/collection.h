// SPDX-License-Identifier: MIT
// Results of a sweep's points as they come into a folder, where others simulate them. Each experiment is read once;
// after that only the folder is looked at.
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "study/sweep/store.h"
#include "study/sweep/sweep.h"

namespace orrery::study {

class PointCollection {
 public:
  // Points that are refused as they stand have their answer now. Ends early if the options' is_stopped() says so.
  PointCollection(const Sweep& sweep, const SweepOptions& options, const ConfigFiles& files);

  // Takes what has come since the last time.
  void collect(const PointDone& done);
  // For each of so many parts, points missing of those whose number leaves the part when divided by `parts`.
  std::vector<std::size_t> missing(std::size_t parts) const;
  // Stands for all that the results depend on.
  std::string fingerprint() const;
  std::vector<SweepPoint> take_points() { return std::move(points_); }

 private:
  PointStore& store_;
  std::vector<std::string> keys_;   // empty: refused
  std::vector<bool> has_;           // been given to `done`
  std::vector<SweepPoint> points_;  // in order
};

}  // namespace orrery::study
