// The small parts of the system layer on their own.
#include <catch2/catch.hpp>
#include <numeric>
#include <random>

#include "system/communicator_layout.h"
#include "system/slot_set.h"

using namespace orrery;

namespace {

std::vector<DeviceId> devices(const std::vector<std::uint32_t>& numbers) {
  std::vector<DeviceId> result;
  for (const std::uint32_t number : numbers) result.push_back(DeviceId(number));
  return result;
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
    std::vector<std::uint32_t> all(24);
    std::iota(all.begin(), all.end(), 0u);
    const CommunicatorLayout layout = lay_out(devices(all), sizes);
    CHECK(layout.cuboid);
    CHECK(layout.sizes == sizes);
    CHECK(layout.strides == std::vector<std::uint32_t>{1, 4, 12});
    CHECK(layout.moved_to(7, 0, 1) == 5);   // 7 = (3, 1, 0) -> (1, 1, 0)
    CHECK(layout.moved_to(5, 2, 1) == 17);  // (1, 1, 0) -> (1, 1, 1)
  }
  SECTION("a column along the middle and last dimensions, in any order") {
    const CommunicatorLayout layout = lay_out(devices({22, 2, 6, 10, 14, 18}), sizes);  // first coordinate 2
    CHECK(layout.cuboid);
    CHECK(layout.sizes == std::vector<std::uint32_t>{3, 2});
    CHECK(layout.dimensions == std::vector<std::uint32_t>{1, 2});
    CHECK(layout.position_of == std::vector<std::uint32_t>{5, 0, 1, 2, 3, 4});
    CHECK(layout.member_at == std::vector<std::uint32_t>{1, 2, 3, 4, 5, 0});
  }
  SECTION("half of a dimension is a logical ring in group order") {
    const CommunicatorLayout layout = lay_out(devices({1, 0}), sizes);
    CHECK_FALSE(layout.cuboid);
    CHECK(layout.sizes == std::vector<std::uint32_t>{2});
    CHECK(layout.member_at == std::vector<std::uint32_t>{0, 1});
  }
  SECTION("as many members as a cuboid, but not one") { CHECK_FALSE(lay_out(devices({0, 1, 2, 7}), sizes).cuboid); }
  SECTION("a group of one") { CHECK(lay_out(devices({5}), sizes).size() == 1); }
}
