// SPDX-License-Identifier: MIT
// Time against memory: variants of a job as spots, those joined that none beats in both.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "report/plot/picture.h"

namespace orrery::report {

struct TimeAndMemory {
  std::string name;
  double seconds = 0;
  double bytes = 0;  // of the fullest rank
};

// Numbers of those that no other beats both in time and in memory, the fastest first.
std::vector<std::size_t> front_of(const std::vector<TimeAndMemory>& variants);

// `capacity`: of the fullest rank's device.
Picture front_picture(std::string title, const std::vector<TimeAndMemory>& variants, std::optional<double> capacity);

}  // namespace orrery::report
