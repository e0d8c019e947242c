// SPDX-License-Identifier: MIT
// SHA-256 (FIPS 180-4), so that anybody can check with sha256sum which files a result was made from.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace orrery {

class Sha256 {
 public:
  void add(std::string_view bytes);
  // 64 hexadecimal digits. Nothing can be added afterwards.
  std::string finish();

 private:
  static constexpr std::size_t kBlock = 64;

  void add_block(const char* bytes);

  std::array<std::uint32_t, 8> state_ = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                         0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  std::string rest_;  // less than a block
  std::uint64_t size_ = 0;
};

inline std::string sha256_of(std::string_view bytes) {
  Sha256 hash;
  hash.add(bytes);
  return hash.finish();
}

}  // namespace orrery
