// SPDX-License-Identifier: MIT
// Bandwidth of a link over time: steps listed by the user, and background traffic drawn by a seed.
#pragma once

#include <cstdint>
#include <vector>

#include "core/units.h"

namespace orrery::network {

// From `time` on a link has this share of its bandwidth.
struct BandwidthStep {
  Time time;
  Efficiency share = kFullEfficiency;

  bool operator==(const BandwidthStep&) const = default;
};

// Background traffic on a link: in each period it takes a share drawn uniformly from `least` to `most`.
struct BackgroundTraffic {
  std::int64_t least = 0;  // millionths
  std::int64_t most = 0;   // likewise, less than a million
  Duration period{1};
  std::uint64_t stream = 0;  // of random numbers: each period's share is a hash of it and the period's number

  Efficiency left(Time time) const;
  Time next_change(Time after) const;

  bool operator==(const BackgroundTraffic&) const = default;
};

struct LinkCourse {
  // One list for each name that the link was given one by: shares multiply. Of each, times ascend and are after 0.
  std::vector<std::vector<BandwidthStep>> steps;
  std::vector<BackgroundTraffic> traffic;

  // Bandwidth at a time of a link whose undisturbed bandwidth is `whole`; at least 1 B/s.
  Bandwidth bandwidth_at(Bandwidth whole, Time time) const;
  // The first time after `time` at which that may be another; Time::max() if there is none.
  Time next_change(Time time) const;

  bool operator==(const LinkCourse&) const = default;
};

}  // namespace orrery::network
