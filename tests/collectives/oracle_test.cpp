// SPDX-License-Identifier: MIT
// The oracle on exchanges written by hand, each wrong in one way.
#include <array>

#include <catch2/catch.hpp>

#include "collectives/oracle/oracle.h"

namespace orrery {
namespace {

using collectives::Combine;
using collectives::Exchange;
using collectives::Message;
using collectives::Verdict;
using enum CollectiveKind;
constexpr std::array<std::uint64_t, 3> kSeeds = {1, 2, 3};
constexpr collectives::Combine kCopy = collectives::Combine::kCopy;

std::string reason(const Exchange& exchange) {
  const Verdict verdict = check_meaning(exchange, kSeeds);
  CHECK(verdict.correct == verdict.reason.empty());
  return verdict.reason;
}

Exchange broadcast_to_two(std::vector<Message> messages) { return {kBroadcast, 3, 0, 1, std::move(messages)}; }

// Rank 1 adds to rank 0, which returns the sum.
Exchange sum_of_two() {
  return {kAllReduce, 2, 0, 1, {{1, 0, {0}, collectives::Combine::kReduce, {}}, {0, 1, {0}, kCopy, {0}}}};
}

TEST_CASE("a chain and a star broadcast alike") {
  CHECK(reason(broadcast_to_two({{0, 1, {0}, kCopy, {}}, {1, 2, {0}, kCopy, {0}}})) == "");
  CHECK(reason(broadcast_to_two({{0, 1, {0}, kCopy, {}}, {0, 2, {0}, kCopy, {}}})) == "");
  CHECK(reason(sum_of_two()) == "");
}

TEST_CASE("a rank that gets nothing is named") {
  CHECK(reason(broadcast_to_two({{0, 1, {0}, kCopy, {}}})) == "rank 2 never gets piece 0");
  CHECK(reason({kAllToAll, 2, 0, 4, {{0, 1, {1}, kCopy, {}}}}) == "rank 0 never gets piece 2");
}

TEST_CASE("forwarding what one does not have yet is an error") {
  // without its dependency, rank 1 may forward before or while it receives
  CHECK(reason(broadcast_to_two({{0, 1, {0}, kCopy, {}}, {1, 2, {0}, kCopy, {}}})) ==
        "message 0 (0 -> 1) and message 1 (1 -> 2) race for piece 0 of rank 1");
  CHECK(reason(broadcast_to_two({{2, 1, {0}, kCopy, {}}, {0, 2, {0}, kCopy, {0}}})) ==
        "message 1 (0 -> 2) waits for message 0 (2 -> 1), which its sender neither sends nor receives");
  CHECK(reason(broadcast_to_two({{2, 1, {0}, kCopy, {}}})) ==
        "message 0 (2 -> 1) reads piece 0, which its sender never got");
}

TEST_CASE("a sum without all contributions is an error") {
  Exchange exchange = sum_of_two();
  exchange.messages[0].combine = kCopy;
  CHECK(reason(exchange) == "piece 0 of rank 0 ends without the contribution of rank 0");
}

TEST_CASE("adding onto nothing and adding twice are errors") {
  CHECK(reason({kBroadcast, 2, 0, 1, {{0, 1, {0}, Combine::kReduce, {}}}}) ==
        "message 0 (0 -> 1) reduces piece 0 onto nothing");
  Exchange exchange = sum_of_two();
  exchange.messages[1].combine = collectives::Combine::kReduce;
  CHECK(reason(exchange) == "message 1 (0 -> 1) counts a contribution to piece 0 twice");
}

TEST_CASE("returning a sum before the sender's own contribution has left is a race") {
  Exchange exchange = sum_of_two();
  exchange.messages[1].after.clear();
  CHECK(reason(exchange) == "message 1 (0 -> 1) and message 0 (1 -> 0) race for piece 0 of rank 1");
}

TEST_CASE("what is to be added waits beside the copy until a send needs it, or for the end") {
  constexpr collectives::Combine kReduce = collectives::Combine::kReduce;
  // Two swap and add; then each passes on to a third and a fourth, which swap before.
  CHECK(reason({kAllReduce, 2, 0, 1, {{0, 1, {0}, kReduce, {}}, {1, 0, {0}, kReduce, {}}}}) == "");
  // Rank 2 adds to rank 0, which then swaps with rank 1 and returns the sum.
  Exchange exchange{
      kAllReduce,
      3,
      0,
      1,
      {{2, 0, {0}, kReduce, {}}, {0, 1, {0}, kReduce, {0}}, {1, 0, {0}, kReduce, {}}, {0, 2, {0}, kCopy, {1, 2}}}};
  CHECK(reason(exchange) == "");
  exchange.messages[3].after = {0, 2};
  CHECK(reason(exchange) == "message 2 (1 -> 0) and message 1 (0 -> 1) race for piece 0 of rank 0");
  exchange.messages[3].after = {0, 1};
  CHECK(reason(exchange) == "piece 0 of rank 2 ends without the contribution of rank 1");
}

TEST_CASE("two sums may arrive in any order, two copies may not") {
  const std::vector<Message> two = {{1, 0, {0}, collectives::Combine::kReduce, {}},
                                    {2, 0, {0}, collectives::Combine::kReduce, {}}};
  CHECK(reason({kReduce, 3, 0, 1, two}) == "");
  CHECK(reason(broadcast_to_two({{0, 1, {0}, kCopy, {}}, {0, 1, {0}, kCopy, {}}, {0, 2, {0}, kCopy, {}}})) ==
        "message 0 (0 -> 1) and message 1 (0 -> 1) race for piece 0 of rank 1");
}

TEST_CASE("being released is not being there") {
  // Rank 0 overwrites rank 1 twice: the first has left before the second starts, but need not have arrived.
  CHECK(reason({kBroadcast, 2, 0, 1, {{0, 1, {0}, kCopy, {}}, {0, 1, {0}, kCopy, {0}}}}) ==
        "message 0 (0 -> 1) and message 1 (0 -> 1) race for piece 0 of rank 1");
}

TEST_CASE("a barrier means that everybody knows of everybody") {
  CHECK(reason({kBarrier, 2, 0, 2, {{0, 1, {0}, kCopy, {}}, {1, 0, {1}, kCopy, {}}}}) == "");
  CHECK(reason({kBarrier, 2, 0, 2, {{0, 1, {0}, kCopy, {}}}}) == "rank 0 never gets piece 1");
}

TEST_CASE("a malformed exchange is refused with the message at fault") {
  CHECK(reason({kBroadcast, 2, 2, 1, {}}) == "the root is not in the group");
  CHECK(reason({kBroadcast, 0, 0, 1, {}}) == "the root is not in the group");
  CHECK(reason({kAllGather, 2, 0, 3, {}}) == "3 pieces, 2 expected");
  CHECK(reason({kAllReduce, 2, 0, 0, {}}) == "0 pieces, at least 1 expected");
  CHECK(reason(broadcast_to_two({{0, 3, {0}, kCopy, {}}})) == "message 0 (0 -> 3) goes outside the group");
  CHECK(reason(broadcast_to_two({{0, 0, {0}, kCopy, {}}})) == "message 0 (0 -> 0) goes to its sender");
  CHECK(reason(broadcast_to_two({{0, 1, {}, kCopy, {}}})) == "message 0 (0 -> 1) carries nothing");
  CHECK(reason(broadcast_to_two({{0, 1, {1}, kCopy, {}}})) ==
        "message 0 (0 -> 1) carries piece 1, which does not exist");
  CHECK(reason(broadcast_to_two({{0, 1, {0, 0}, kCopy, {}}})) == "message 0 (0 -> 1) carries piece 0 twice");
  CHECK(reason({kBroadcast, 2, 0, 2, {{0, 1, {2, 0}, kCopy, {}}}}) ==
        "message 0 (0 -> 1) carries piece 2, which does not exist");
  CHECK(reason({kBroadcast, 2, 0, 2, {{0, 1, {0, 1, 0}, kCopy, {}}}}) == "message 0 (0 -> 1) carries piece 0 twice");
  CHECK(reason(broadcast_to_two({{0, 1, {0}, kCopy, {7}}})) ==
        "message 0 (0 -> 1) waits for message 7, which does not exist");
  CHECK(reason(broadcast_to_two({{0, 1, {0}, kCopy, {}, {}, {7}}})) ==
        "message 0 (0 -> 1) waits for message 7, which does not exist");
  CHECK(reason(broadcast_to_two({{0, 1, {0}, kCopy, {}, {}, {1}}, {0, 2, {0}, kCopy, {}}})) ==
        "message 0 (0 -> 1) waits for message 1 (0 -> 2), which its receiver neither sends nor receives");
  CHECK(reason(broadcast_to_two({{0, 1, {0}, kCopy, {1}}, {0, 2, {0}, kCopy, {0}}})) ==
        "messages wait for one another in a circle");
}

// Both ranks send up to a switch, which returns the sum.
Exchange sum_in_a_switch() {
  return {kAllReduce,
          2,
          0,
          1,
          {{0, 2, {0}, collectives::Combine::kReduce, {}},
           {1, 2, {0}, collectives::Combine::kReduce, {}},
           {2, 0, {0}, kCopy, {0, 1}},
           {2, 1, {0}, kCopy, {0, 1}}},
          1};
}

TEST_CASE("a switch adds up from nothing, and has to have all before it returns the sum") {
  CHECK(reason(sum_in_a_switch()) == "");
  Exchange exchange = sum_in_a_switch();
  exchange.messages[2].after = {0};
  CHECK(reason(exchange) == "message 1 (1 -> 2) and message 2 (2 -> 0) race for piece 0 of rank 2");
  exchange = sum_in_a_switch();
  exchange.messages[0].combine = kCopy;
  CHECK(reason(exchange) == "message 0 (0 -> 2) overwrites what a switch adds up");
  exchange = sum_in_a_switch();
  exchange.messages[2].combine = collectives::Combine::kReduce;
  CHECK(reason(exchange) == "message 2 (2 -> 0) counts a contribution to piece 0 twice");
  exchange = sum_in_a_switch();
  exchange.switches = 0;
  CHECK(reason(exchange) == "message 0 (0 -> 2) goes outside the group");
}

}  // namespace
}  // namespace orrery
