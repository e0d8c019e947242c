// SPDX-License-Identifier: MIT
#include "core/sha256.h"

#include <array>
#include <cstdint>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nettle/version.h>

namespace orrery {

void Sha256::add(std::string_view bytes) {
  sha256_update(&context_, bytes.size(), reinterpret_cast<const std::uint8_t*>(bytes.data()));
}

std::string Sha256::finish() {
  std::array<std::uint8_t, SHA256_DIGEST_SIZE> digest;
#if NETTLE_VERSION_MAJOR >= 4
  sha256_digest(&context_, digest.data());
#else
  sha256_digest(&context_, digest.size(), digest.data());
#endif
  return fmt::format("{:02x}", fmt::join(digest, ""));
}

}  // namespace orrery
