// SPDX-License-Identifier: MIT
// SHA-256 (FIPS 180-4) as sha256sum prints it, so that anybody can check which files a result was made from.
#pragma once

#include <string>
#include <string_view>

#include <nettle/sha2.h>

namespace orrery {

class Sha256 {
 public:
  Sha256() { sha256_init(&context_); }

  void add(std::string_view bytes);
  // 64 hexadecimal digits. Nothing can be added afterwards.
  std::string finish();

 private:
  sha256_ctx context_;
};

inline std::string sha256_of(std::string_view bytes) {
  Sha256 hash;
  hash.add(bytes);
  return hash.finish();
}

}  // namespace orrery
