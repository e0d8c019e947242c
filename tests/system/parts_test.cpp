// SPDX-License-Identifier: MIT
// The small parts of the system layer on their own.
#include <catch2/catch.hpp>
#include <numeric>
#include <random>

#include "system/execution/slot_set.h"
#include "system/plans/communicator_layout.h"

using namespace orrery;
using namespace orrery::network;
using namespace orrery::system;

namespace {

std::vector<DeviceId> devices(const std::vector<std::uint32_t>& numbers) {
  std::vector<DeviceId> result;
  for (const std::uint32_t number : numbers) result.push_back(DeviceId(number));
  return result;
}

// Dimensions whose members are all alike.
std::vector<LogicalDimension> switches(const std::vector<std::uint32_t>& sizes) {
  std::vector<LogicalDimension> dimensions;
  for (const std::uint32_t size : sizes) dimensions.push_back({"", "switch", size});
  return dimensions;
}

LogicalDimension grid(const std::vector<std::uint32_t>& sizes, bool closed) {
  LogicalDimension dimension{"", closed ? "torus" : "mesh", 1};
  for (const std::uint32_t size : sizes) {
    dimension.size *= size;
    dimension.axes.push_back({size, closed});
  }
  return dimension;
}

std::vector<std::uint32_t> count_from_0(std::uint32_t count) {
  std::vector<std::uint32_t> numbers(count);
  std::iota(numbers.begin(), numbers.end(), 0u);
  return numbers;
}

}  // namespace

TEST_CASE("a slot set agrees with a plain set in any order of arrival") {
  std::mt19937 random(1);
  for (int trial = 0; trial < 50; ++trial) {
    std::vector<std::uint32_t> order(1 + random() % 200);
    std::iota(order.begin(), order.end(), 0u);
    std::shuffle(order.begin(), order.end(), random);
    SlotSet set;
    std::vector<bool> plain(order.size());
    CHECK(set.empty());
    for (const std::uint32_t slot : order) {
      set.insert(slot);
      plain[slot] = true;
      const auto prefix = static_cast<std::uint32_t>(std::find(plain.begin(), plain.end(), false) - plain.begin());
      REQUIRE(set.prefix() == prefix);
      REQUIRE_FALSE(set.empty());
      for (std::uint32_t s = 0; s < plain.size(); ++s) REQUIRE(set.contains(s) == plain[s]);
      const auto begin = static_cast<std::uint32_t>(random() % plain.size());
      const auto end = begin + static_cast<std::uint32_t>(random() % (plain.size() - begin + 1));
      REQUIRE(set.covers(begin, end) ==
              std::all_of(plain.begin() + begin, plain.begin() + end, [](bool there) { return there; }));
    }
  }
}

TEST_CASE("a group is laid out along the dimensions that it fills") {
  const std::vector<std::uint32_t> sizes = {4, 3, 2};
  SECTION("the world is the whole cuboid") {
    const CommunicatorLayout layout = lay_out(devices(count_from_0(24)), switches(sizes));
    CHECK(layout.cuboid);
    CHECK(layout.sizes == sizes);
    CHECK(layout.strides == std::vector<std::uint32_t>{1, 4, 12});
    CHECK(layout.moved_to(7, 0, 1) == 5);   // 7 = (3, 1, 0) -> (1, 1, 0)
    CHECK(layout.moved_to(5, 2, 1) == 17);  // (1, 1, 0) -> (1, 1, 1)
  }
  SECTION("a column along the middle and last dimensions, in any order") {
    const CommunicatorLayout layout = lay_out(devices({22, 2, 6, 10, 14, 18}), switches(sizes));  // first coordinate 2
    CHECK(layout.cuboid);
    CHECK(layout.sizes == std::vector<std::uint32_t>{3, 2});
    CHECK(layout.dimensions == std::vector<std::uint32_t>{1, 2});
    CHECK(layout.position_of == std::vector<std::uint32_t>{5, 0, 1, 2, 3, 4});
    CHECK(layout.member_at == std::vector<std::uint32_t>{1, 2, 3, 4, 5, 0});
  }
  SECTION("half of a dimension is a logical ring in group order") {
    const CommunicatorLayout layout = lay_out(devices({1, 0}), switches(sizes));
    CHECK_FALSE(layout.cuboid);
    CHECK(layout.sizes == std::vector<std::uint32_t>{2});
    CHECK(layout.member_at == std::vector<std::uint32_t>{0, 1});
  }
  SECTION("as many members as a cuboid, but not one") {
    CHECK_FALSE(lay_out(devices({0, 1, 2, 7}), switches(sizes)).cuboid);
  }
  SECTION("a group of one") { CHECK(lay_out(devices({5}), switches(sizes)).size() == 1); }
}

TEST_CASE("a torus or a mesh is several axes, of which a group may have equally spaced coordinates") {
  using Numbers = std::vector<std::uint32_t>;
  using Flags = std::vector<bool>;
  const std::vector<LogicalDimension> torus = {grid({4, 3}, true), {"", "switch", 2}};
  SECTION("the world has every axis, and with the torus as one dimension the same positions") {
    const CommunicatorLayout layout = lay_out(devices(count_from_0(24)), torus);
    CHECK(layout.sizes == Numbers{4, 3, 2});
    CHECK(layout.dimensions == Numbers{0, 0, 1});
    CHECK(layout.strides == Numbers{1, 4, 12});
    CHECK(layout.open == Flags{false, false, false});
    const auto merged = merge_axes(layout, [](std::uint32_t dimension) { return dimension == 0; });
    REQUIRE(merged);
    CHECK(merged->sizes == Numbers{12, 2});
    CHECK(merged->dimensions == Numbers{0, 1});
    CHECK(merged->strides == Numbers{1, 12});
    CHECK(merged->position_of == layout.position_of);
    CHECK_FALSE(merge_axes(layout, [](std::uint32_t dimension) { return dimension == 1; }));
  }
  SECTION("a line of the torus") {
    const CommunicatorLayout layout = lay_out(devices({9, 1, 5}), torus);
    CHECK(layout.cuboid);
    CHECK(layout.sizes == Numbers{3});
    CHECK(layout.dimensions == Numbers{0});
    CHECK(layout.position_of == Numbers{2, 0, 1});
    CHECK(layout.open == Flags{false});
  }
  SECTION("half of an axis side by side has open ends, every other coordinate closes round the torus") {
    CHECK(lay_out(devices({0, 1}), torus).open == Flags{true});
    CHECK(lay_out(devices({1, 3}), torus).open == Flags{false});
    const CommunicatorLayout layout = lay_out(devices({0, 2, 4, 6, 8, 10}), torus);
    CHECK(layout.sizes == Numbers{2, 3});
    CHECK(layout.member_at == Numbers{0, 1, 2, 3, 4, 5});
  }
  SECTION("every line of a mesh has open ends") {
    const std::vector<LogicalDimension> mesh = {grid({4, 3}, false)};
    const CommunicatorLayout layout = lay_out(devices(count_from_0(12)), mesh);
    CHECK(layout.open == Flags{true, true});
    const auto merged = merge_axes(layout, [](std::uint32_t) { return true; });
    REQUIRE(merged);
    CHECK(merged->open == Flags{false});
  }
  SECTION("coordinates that are not equally spaced, or no product, are a logical ring") {
    CHECK_FALSE(lay_out(devices({0, 1, 3}), torus).cuboid);
    CHECK_FALSE(lay_out(devices({0, 1, 2, 7}), torus).cuboid);
  }
}
