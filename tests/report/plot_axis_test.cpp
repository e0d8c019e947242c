// SPDX-License-Identifier: MIT
// Where axes are labelled.
#include <catch2/catch.hpp>
#include <cmath>
#include <string>
#include <vector>

#include "report/plot/axis.h"

using namespace orrery;
using namespace orrery::report;

namespace {

std::vector<std::string> tick_labels(const Axis& axis) {
  std::vector<std::string> result;
  for (const Tick& tick : axis.ticks()) result.push_back(tick.label);
  return result;
}

using Labels = std::vector<std::string>;

}  // namespace

TEST_CASE("sizes are labelled by powers of two, at most ten of them") {
  CHECK(tick_labels(Axis::sizes(Bytes(1 << 29), Bytes(std::int64_t{1} << 33))) == Labels{"512M", "1G", "2G", "4G", "8G"});
  CHECK(tick_labels(Axis::sizes(Bytes(1 << 20), Bytes(1 << 30))) == Labels{"1M", "4M", "16M", "64M", "256M", "1G"});
  CHECK(tick_labels(Axis::sizes(Bytes(8), Bytes(std::int64_t{1} << 34))) == Labels{"32", "1K", "32K", "1M", "32M", "1G"});
  CHECK(tick_labels(Axis::sizes(Bytes(1), Bytes::max())) == Labels{"1", "1K", "1M", "1G", "1T", "1P", "1E"});
  // Sizes between powers are within the next ones.
  CHECK(tick_labels(Axis::sizes(Bytes(3000), Bytes(5000))) == Labels{"2K", "4K", "8K"});
}

TEST_CASE("one size has its label in the middle") {
  const Axis axis = Axis::sizes(Bytes(1024), Bytes(1024));
  CHECK(tick_labels(axis) == Labels{"1K"});
  CHECK(axis.share(1024) == Approx(0.5));
}

TEST_CASE("every size is within its axis") {
  for (std::int64_t least = 1; least < (std::int64_t{1} << 40); least = least * 3 + 1)
    for (std::int64_t most = least; most < (std::int64_t{1} << 40); most = most * 2 + 1) {
      const Axis axis = Axis::sizes(Bytes(least), Bytes(most));
      INFO(least << " to " << most);
      CHECK((axis.share(static_cast<double>(least)) > 0 && axis.share(static_cast<double>(most)) < 1));
      CHECK((!axis.ticks().empty() && axis.ticks().size() <= 10));
    }
}

TEST_CASE("a logarithmic axis runs between round numbers around its values") {
  CHECK(tick_labels(Axis::logarithmic(330, 360)) == Labels{"100", "200", "500", "1000"});
  CHECK(tick_labels(Axis::logarithmic(2, 50)) == Labels{"2", "5", "10", "20", "50"});
  CHECK(tick_labels(Axis::logarithmic(10, 10)) == Labels{"5", "10", "20"});
  CHECK(tick_labels(Axis::logarithmic(0.03, 0.3)) == Labels{"0.02", "0.05", "0.1", "0.2", "0.5"});
  CHECK(tick_labels(Axis::logarithmic(0.00012, 480)) == Labels{"0.0001", "0.001", "0.01", "0.1", "1", "10", "100", "1000"});
  const Axis axis = Axis::logarithmic(1, 100);
  CHECK(axis.share(1) == Approx(0).margin(1e-12));
  CHECK(axis.share(10) == Approx(0.5));
  CHECK(axis.share(100) == Approx(1));
}

TEST_CASE("every value is within its logarithmic axis") {
  for (double least = 1e-9; least < 1e9; least *= 2.9)
    for (double most = least; most < 1e9; most *= 3.7) {
      const Axis axis = Axis::logarithmic(least, most);
      INFO(least << " to " << most);
      CHECK((axis.share(least) >= 0 && axis.share(most) <= 1 + 1e-12));  // an end may be a label
      CHECK((axis.ticks().size() >= 3 && axis.ticks().size() <= 20));
    }
}

TEST_CASE("an axis of errors has 0 on it and whole numbers") {
  CHECK(tick_labels(Axis::signed_percent(-37, -4)) == Labels{"-40", "-30", "-20", "-10", "0"});
  CHECK(tick_labels(Axis::signed_percent(3, 22)) == Labels{"0", "+5", "+10", "+15", "+20", "+25"});
  CHECK(tick_labels(Axis::signed_percent(-0.3, 0.4)) == Labels{"-1", "0", "+1"});
  CHECK(tick_labels(Axis::signed_percent(0, 0)) == Labels{"-1", "0", "+1"});
  CHECK(tick_labels(Axis::signed_percent(-100, 420)) == Labels{"-100", "0", "+100", "+200", "+300", "+400", "+500"});
  for (double reach = 0.01; reach < 1e6; reach *= 1.7) {
    const Axis axis = Axis::signed_percent(-reach, 0.4 * reach);
    INFO("-" << reach);
    CHECK((axis.share(-reach) >= 0 && axis.share(0.4 * reach) <= 1));
    CHECK((axis.ticks().size() >= 3 && axis.ticks().size() <= 7));
  }
}
