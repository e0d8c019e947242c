// SPDX-License-Identifier: MIT
// The profiles of one job by rank, and whether they are of all its ranks.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.h"
#include "workload/import/kineto/events.h"

namespace orrery::workload {

struct KinetoRank {
  std::string file;
  KinetoTrace trace;  // which says its rank
};

struct KinetoWorld {
  std::vector<KinetoRank> ranks;  // ascending; one only where it stands for all
  std::uint32_t size = 0;
  bool replicate = false;  // the one rank stands for all
};

// `text` is that of the one file, if it has been read already. With `replicate`, one file may stand for all ranks.
// Throws InputError with all errors: of files, and of ranks that are missing or contradict one another.
KinetoWorld read_kineto_world(std::span<const std::string> files, std::optional<std::string_view> text, bool replicate,
                              Diagnostics& diagnostics);

}  // namespace orrery::workload
