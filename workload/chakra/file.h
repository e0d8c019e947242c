// SPDX-License-Identifier: MIT
// Decompression of gzip files, so that a corrupt archive gets the same error everywhere.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace orrery::workload {

bool is_gzip(std::string_view bytes);

// Limits to what a small file may inflate to. deflate cannot exceed about 1030:1; traces stay below 100:1.
struct InflateLimits {
  std::uint64_t bytes = std::uint64_t{8} << 30;        // never more than this
  std::uint64_t free_bytes = std::uint64_t{64} << 20;  // up to here any ratio is fine
  std::uint64_t ratio = 400;                           // beyond, no more than this many bytes a compressed byte
};

// The content of a gzip file, which may have several members one after another. InputError naming `file` when it is
// truncated, corrupt, followed by other bytes, or beyond `limits`.
std::string inflate_gzip(const std::string& file, std::string_view bytes, const InflateLimits& limits = {});

}  // namespace orrery::workload
