// SPDX-License-Identifier: MIT
// Memory of a device as its driver has it.
#pragma once

#include <cstdint>

#include "core/units.h"

namespace orrery {

// Data sheets say GB of what are GiB: 80 GiB of "80 GB", and so of every whole number of GB. What a job needs by its
// arithmetic has to fit the smaller number, as other programs have a share of the memory; whether it may run out with
// libraries and what the allocator cannot use is decided by this one.
inline Bytes whole_memory(Bytes capacity) {
  constexpr std::int64_t kGB = 1'000'000'000, kGiB = 1LL << 30;
  return capacity.count() % kGB == 0 ? Bytes(capacity.count() / kGB * kGiB) : capacity;
}

}  // namespace orrery
