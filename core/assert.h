// SPDX-License-Identifier: MIT
// The one macro of the code base: an assertion that stays on in every build. It is for bugs of ours; wrong input is an
// InputError (core/error.h).
#pragma once

namespace orrery {

// Prints the failed condition and where it stands on standard error, then aborts.
[[noreturn]] void assertion_failed(const char* condition, const char* file, int line) noexcept;

}  // namespace orrery

#define ORRERY_ASSERT(condition) \
  (static_cast<bool>(condition) ? static_cast<void>(0) : ::orrery::assertion_failed(#condition, __FILE__, __LINE__))
