// SPDX-License-Identifier: MIT
#include "report/screen/time_left.h"

namespace orrery::report {

void TimeLeft::tell(double seconds, double done) {
  last_ = {seconds, done};
  if (!first_) first_ = last_;
}

std::optional<double> TimeLeft::at_most(double seconds) const {
  constexpr double kGround = 0.1, kLeastSeconds = 1, kMargin = 2, kKnown = 0.75;
  if (!first_) return std::nullopt;
  const double done = last_.done - first_->done, taken = last_.seconds - first_->seconds;
  const double all = 1 - first_->done;
  if (done <= 0 || done < kGround * all || taken < kLeastSeconds) return std::nullopt;
  const double rest_then = taken * (1 - last_.done) / done;
  const double rest = rest_then - (seconds - last_.seconds);
  if (rest < kKnown * rest_then) return std::nullopt;
  return kMargin * rest;
}

}  // namespace orrery::report
