// SPDX-License-Identifier: MIT
#include "study/fit/least_squares.h"

#include <catch2/catch.hpp>

using namespace orrery;
using namespace orrery::study;
using Columns = std::vector<std::vector<double>>;
using Numbers = std::vector<std::size_t>;

TEST_CASE("a column that is a combination of earlier ones is left out, and they are named") {
  // The third is the first and twice the second; the fourth is none of them.
  const Columns columns = {{1, 0, 0, 0}, {0, 1, 1, 0}, {1, 2, 2, 0}, {0, 0, 1, 0}, {0, 3, 3, 0}};
  const ColumnChoice choice = independent_columns(columns, 1e-6);
  CHECK(choice.kept == Numbers{0, 1, 3});
  REQUIRE(choice.left.size() == 2);
  CHECK(choice.left[0].column == 2);
  CHECK(choice.left[0].on == Numbers{0, 1});
  CHECK(choice.left[1].column == 4);
  CHECK(choice.left[1].on == Numbers{1});
}

TEST_CASE("a column of zeros depends on nothing") {
  const ColumnChoice choice = independent_columns(Columns{{0, 0}, {1, 0}, {1e-12, 0}}, 1e-6);
  CHECK(choice.kept == Numbers{1});
  REQUIRE(choice.left.size() == 2);
  CHECK(choice.left[0].on.empty());
  CHECK(choice.left[1].on.empty());
}

TEST_CASE("what a column must add to be kept is a share of itself") {
  // Of (1, 0.005), 0.5 % are across (1, 0).
  const Columns columns = {{1, 0}, {1, 0.005}};
  CHECK(independent_columns(columns, 0.01).kept == Numbers{0});
  CHECK(independent_columns(columns, 0.001).kept == Numbers{0, 1});
}

TEST_CASE("the first of equal columns is kept") {
  CHECK(independent_columns(Columns{{2, 2}, {1, 1}}, 0.01).kept == Numbers{0});
  CHECK(independent_columns({}, 0.01).kept.empty());
}
