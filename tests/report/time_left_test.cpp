// SPDX-License-Identifier: MIT
#include <cstdint>
#include <vector>

#include <catch2/catch.hpp>

#include "report/screen/time_left.h"

using orrery::report::TimeLeft;

TEST_CASE("nothing is said of the time left before there is ground") {
  TimeLeft left;
  CHECK_FALSE(left.at_most(5));
  left.tell(10, 0);
  CHECK_FALSE(left.at_most(100));  // nothing is done
  left.tell(10.5, 0.5);
  CHECK_FALSE(left.at_most(10.5));  // in less than a second
  left.tell(20, 0.5);
  CHECK(left.at_most(20) == 20.0);  // the first half took 10 s, the second takes that, twice at most
  CHECK(left.at_most(22) == 16.0);  // 10 - 2 are left, times 2
  CHECK_FALSE(left.at_most(23));    // more than a quarter of the rest has gone by
  TimeLeft slow;
  slow.tell(0, 0);
  slow.tell(60, 0.09);
  CHECK_FALSE(slow.at_most(60));  // less than a tenth
}

TEST_CASE("what was there from the beginning is no work that was done") {
  TimeLeft left;
  left.tell(0, 0.8);
  left.tell(10, 0.9);
  CHECK(left.at_most(10) == 20.0);  // a tenth took 10 s, and one tenth is left
}

// Shares differ by three orders of magnitude, and parts take 0.7 to 1.4 times what their share says, in any order.
TEST_CASE("the time that is shown is no less than the rest, and no more than four times as much") {
  std::uint64_t state = 1;
  const auto random = [&state] {  // from 0 to 1
    state = state * 6364136223846793005u + 1442695040888963407u;
    return static_cast<double>(state >> 40) / 16777216.0;
  };
  std::size_t shown = 0;
  for (int sequence = 0; sequence < 200; ++sequence) {
    std::vector<double> shares, seconds;
    double all = 0, rest = 0;
    for (int i = 0; i < 40; ++i) {
      double share = 1;
      for (int doublings = static_cast<int>(random() * 10); doublings > 0; --doublings) share *= 2;  // 1 to 512
      shares.push_back(share);
      seconds.push_back(share * (0.7 + 0.7 * random()));
      all += share;
      rest += seconds.back();
    }
    TimeLeft left;
    double now = 0, done = 0;
    left.tell(now, 0);
    for (std::size_t i = 0; i < shares.size(); ++i) {
      for (const double within : {0.25, 0.5, 0.75}) {  // while the part is under way
        const auto most = left.at_most(now + within * seconds[i]);
        if (!most) continue;
        CHECK(*most >= rest - within * seconds[i]);
        CHECK(*most <= 4 * (rest - within * seconds[i]));
        ++shown;
      }
      now += seconds[i];
      rest -= seconds[i];
      done += shares[i];
      left.tell(now, done / all);
      if (i + 1 == shares.size()) continue;
      if (const auto most = left.at_most(now)) {
        CHECK(*most >= rest);
        CHECK(*most <= 4 * rest);
        ++shown;
      }
    }
  }
  CHECK(shown > 200 * 40);  // of 160 looks at each sequence more than 40 tell something
}
