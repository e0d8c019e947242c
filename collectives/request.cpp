// SPDX-License-Identifier: MIT
#include "collectives/request.h"

#include <fmt/format.h>

#include "core/error.h"

namespace orrery::collectives {

void require_countable(CollectiveKind kind, std::uint32_t ranks, Bytes bytes) {
  constexpr Int128 kMostBytes = Int128{1} << 62;
  // No message carries more than every rank's whole buffer, with each of its parts rounded up.
  if ((Int128{bytes.count()} + ranks) * ranks <= kMostBytes) return;
  throw InputError(
      {}, fmt::format("{} of {} bytes on {} ranks: together more than 2^62 bytes", name_of(kind), bytes.count(), ranks),
      "look for a size that is off by orders of magnitude");
}

}  // namespace orrery::collectives
