// SPDX-License-Identifier: MIT
// A screen as wide as any table, for tests of what tables say: how they fit a screen is tested by itself
// (screen_test.cpp).
#include "report/screen/screen.h"

namespace {

[[maybe_unused]] const bool kIsWide = [] {
  orrery::report::set_screen_width(1000);
  return true;
}();

}  // namespace
