// SPDX-License-Identifier: MIT
// Time that work still takes at most, from how long its parts have taken.
#pragma once

#include <optional>

namespace orrery::report {

// Parts of work may take times of different orders: what counts is their share of all work, as estimated beforehand.
class TimeLeft {
 public:
  // At `seconds`, of any clock, so much of all work is done, a share of one. The first call is the beginning.
  void tell(double seconds, double done);

  // Seconds that the rest takes at most: twice what it takes at the pace so far, so that parts may take half or twice
  // as long as their share says. Nothing before a tenth of the work is done, or a second has passed; and nothing while
  // a single part takes so long that a quarter of the rest has gone by, for nobody knows how far it is.
  std::optional<double> at_most(double seconds) const;

 private:
  struct Told {
    double seconds = 0;
    double done = 0;
  };
  std::optional<Told> first_;
  Told last_;
};

}  // namespace orrery::report
