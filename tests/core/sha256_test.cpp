// SPDX-License-Identifier: MIT
#include "core/sha256.h"

#include <catch2/catch.hpp>

using namespace orrery;

namespace {

std::string hash_of_pieces(std::string_view text, std::size_t piece) {
  Sha256 hash;
  for (; !text.empty(); text.remove_prefix(std::min(piece, text.size()))) hash.add(text.substr(0, piece));
  return hash.finish();
}

}  // namespace

// The examples of FIPS 180-4 and of NIST's Cryptographic Standards and Guidelines.
TEST_CASE("SHA-256 of the published examples, in pieces of any size") {
  CHECK(Sha256().finish() == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  const std::string two_blocks = "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq";
  for (const std::size_t piece : {1u, 7u, 55u, 64u, 1000u}) {
    CHECK(hash_of_pieces("abc", piece) == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    CHECK(hash_of_pieces(two_blocks, piece) == "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
    CHECK(hash_of_pieces(std::string(1'000'000, 'a'), piece * 100) ==
          "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
  }
}
