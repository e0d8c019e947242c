// SPDX-License-Identifier: MIT
// The example of mutation_test.py: a program whose exit status is the number of the first of its checks that fails.
#include <algorithm>
#include <array>
#include <compare>
#include <string>

namespace {

constexpr int kMost = 10;

struct Bytes {
  long count;
  auto operator<=>(const Bytes&) const = default;
  Bytes operator+(Bytes other) const { return {count + other.count}; }
  Bytes operator-(Bytes other) const;
};

Bytes Bytes::operator-(Bytes other) const { return {count - other.count}; }

constexpr int square(int x) { return x * x; }
static_assert(square(3) == 9);

int clamp(int x) {
  if (x < 0) return 0;
  return std::min(x, kMost);
}

bool is_plain(const std::string& text, bool strict) {
  if (strict) return !text.empty() || text == "x";
  return true;
}

int rest(int a, int b) {
  std::array<int, 3> left{a, a, a};
  left[1] -= b;
  switch (b) {
    case 7: break;
    default: left[0] = b; break;
  }
  return left[1];
}

int never_called(int x) { return -x; }

bool at_least(Bytes a, Bytes b) { return a + Bytes{1} >= b; }

}  // namespace

int main(int count, char**) {
  const std::array works{clamp(-1) == 0, clamp(20) == 10, square(4) == 16, is_plain("a", true), !is_plain("", true),
                         is_plain("", false), rest(9, 2) == 7, at_least({2}, {1}), at_least({1}, {2}), !at_least({1}, {3})};
  if (count > 99) return never_called(1);
  const auto* failed = std::find(works.begin(), works.end(), false);
  return failed == works.end() ? 0 : static_cast<int>(failed - works.begin()) + 1;
}
