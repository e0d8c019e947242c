// SPDX-License-Identifier: MIT
// What may be said to the nccl library: names, versions, and which algorithm runs in which protocol.
#include "collectives/nccl/options.h"

#include <catch2/catch.hpp>

#include "collectives/libraries.h"

using namespace orrery;
using namespace orrery::collectives;

TEST_CASE("algorithms and protocols of NCCL are found by their names, however they are spelt") {
  for (const NcclAlgorithm algorithm : kAllNcclAlgorithms) CHECK(nccl_algorithm_named(name_of(algorithm)) == algorithm);
  for (const NcclProtocol protocol : kAllNcclProtocols) CHECK(nccl_protocol_named(name_of(protocol)) == protocol);
  CHECK(nccl_algorithm_named("CollNetDirect") == NcclAlgorithm::kCollNetDirect);
  CHECK(nccl_algorithm_named("CollnetChain") == NcclAlgorithm::kCollNetChain);
  CHECK(nccl_algorithm_named("collnet_chain") == NcclAlgorithm::kCollNetChain);
  CHECK(nccl_algorithm_named("NVLSTree") == NcclAlgorithm::kNvlsTree);
  CHECK(nccl_algorithm_named("nvls-tree") == NcclAlgorithm::kNvlsTree);
  CHECK(nccl_algorithm_named("NVLS") == NcclAlgorithm::kNvls);
  CHECK(nccl_protocol_named("LL") == NcclProtocol::kLl);
  CHECK(nccl_protocol_named("ll-128") == NcclProtocol::kLl128);
  for (const char* wrong : {"", "-", "rin", "ringg", "ll", "^ring", "tree,ring"}) {
    CAPTURE(wrong);
    CHECK_FALSE(nccl_algorithm_named(wrong));
  }
  for (const char* wrong : {"", "ring", "ll1", "ll1288"}) CHECK_FALSE(nccl_protocol_named(wrong));
}

TEST_CASE("a version of NCCL is two or three numbers, with what NCCL prints behind them") {
  CHECK(parse_nccl_version("2.18.5") == NcclVersion{2, 18, 5});
  CHECK(parse_nccl_version("2.27") == NcclVersion{2, 27, 0});
  CHECK(parse_nccl_version("2.18.3+cuda12.2") == NcclVersion{2, 18, 3});
  for (const char* wrong : {"", "2", "2.", "2.18.", ".18", "2.18.5.1", "v2.18.5", "2.x", "2.18.5 ", " 2.18", "21805",
                            "-2.18", "2.-18", "2.18+rocm", "99999999999.1", "newest"}) {
    CAPTURE(wrong);
    CHECK_FALSE(parse_nccl_version(wrong));
  }
  CHECK(NcclVersion{2, 9, 9} < NcclVersion{2, 18, 0});
  CHECK(to_text(NcclVersion{2, 18, 5}) == "2.18.5");
  CHECK(parse_nccl_version(to_text(kNewestNccl)) == kNewestNccl);
}

TEST_CASE("NCCL that is held to nothing may take all; else what it is held to") {
  NcclOptions options;
  for (const NcclAlgorithm algorithm : kAllNcclAlgorithms) CHECK(options.may_take(algorithm));
  for (const NcclProtocol protocol : kAllNcclProtocols) CHECK(options.may_take(protocol));
  options.algorithms.set(static_cast<std::size_t>(NcclAlgorithm::kNvls));
  for (const NcclAlgorithm algorithm : kAllNcclAlgorithms)
    CHECK(options.may_take(algorithm) == (algorithm == NcclAlgorithm::kNvls));
  CHECK(options.may_take(NcclProtocol::kLl));
}

TEST_CASE("ring and tree run in every protocol of NCCL, the others in Simple") {
  int pairs = 0;
  for (const NcclAlgorithm algorithm : kAllNcclAlgorithms)
    for (const NcclProtocol protocol : kAllNcclProtocols) pairs += has_protocol(algorithm, protocol) ? 1 : 0;
  CHECK(pairs == 2 * 3 + 5);
  CHECK(has_protocol(NcclAlgorithm::kTree, NcclProtocol::kLl));
  CHECK_FALSE(has_protocol(NcclAlgorithm::kNvls, NcclProtocol::kLl));
}

TEST_CASE("libraries stand by their kind, which is the order of their names") {
  REQUIRE(libraries().size() == library_names().size());
  for (std::size_t i = 0; i < libraries().size(); ++i) {
    CHECK(static_cast<std::size_t>(libraries()[i].kind) == i);
    CHECK(libraries()[i].name == library_names()[i]);
    if (i > 0) CHECK(library_names()[i - 1] < library_names()[i]);
  }
}
