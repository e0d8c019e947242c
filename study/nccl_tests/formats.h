// SPDX-License-Identifier: MIT
// Tables of the numbers of nccl-tests that are no logs.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.h"
#include "study/nccl_tests/log.h"

namespace orrery::study {

// "size_bytes,oop_time_us,oop_algbw_GBps,oop_busbw_GBps,ip_time_us,ip_algbw_GBps,ip_busbw_GBps", in any order, each but
// the size optional; also count, type, redop, root, oop_wrong, ip_wrong. Lines that start with '#' are comments.
// Nothing where the first line names no size_bytes.
std::optional<std::vector<NcclTable>> read_nccl_csv(std::string_view text, const std::string& name,
                                                    Diagnostics& diagnostics);

// The documents of `orrery collective --json`. Nothing where the text is no JSON object.
std::optional<std::vector<NcclTable>> read_collective_json(std::string_view text, const std::string& name,
                                                           Diagnostics& diagnostics);

}  // namespace orrery::study
