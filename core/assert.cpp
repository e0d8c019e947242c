// SPDX-License-Identifier: MIT
#include "core/assert.h"

#include <cstdio>
#include <cstdlib>

namespace orrery {

void assertion_failed(const char* condition, const char* file, int line) noexcept {
  std::fprintf(stderr, "%s:%d: internal error: '%s' does not hold; please report it\n", file, line, condition);
  std::abort();
}

}  // namespace orrery
