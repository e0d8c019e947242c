// SPDX-License-Identifier: MIT
#include <algorithm>
#include <catch2/catch.hpp>
#include <string>

#include "core/error.h"
#include "tests/workload/traces/trace_builder.h"

using namespace orrery;
using namespace orrery::workload;
using namespace orrery::testing;
using Catch::Matchers::Contains;

namespace {

// Of the rank's first `count` transfers.
std::vector<TransferEnd> ends_of(const Matching& matching, std::uint32_t rank, std::uint32_t count) {
  std::vector<TransferEnd> ends;
  for (std::uint32_t i = 0; i < count; ++i) ends.push_back(matching.end(RankId{rank}, i));
  return ends;
}

}  // namespace

TEST_CASE("calls are matched by their order on the communicator, never by id") {
  // Rank 1 has other ids, and its node 5 comes before its node 3 because 3 waits for it.
  const Trace zero = {collective(1, 0, 64), collective(2, 2, 128).data({1})};
  const Trace one = {collective(5, 0, 64), collective(3, 2, 128).data({5})};
  const Matching matching = match(JobFiles({zero, one}).load());
  REQUIRE(matching.calls(GroupId{0}).size() == 2);
  CHECK(matching.calls(GroupId{0})[0].kind == CollectiveKind::kAllReduce);
  CHECK(matching.calls(GroupId{0})[0].bytes == Bytes(64));
  CHECK(matching.calls(GroupId{0})[1].kind == CollectiveKind::kAllGather);
  CHECK(matching.calls(GroupId{0})[1].bytes_of_member.empty());
}

TEST_CASE("file order does not matter, only dependencies and ids do") {
  CHECK(JobFiles({{collective(1, 0, 64), collective(2, 2, 128)}, {collective(2, 2, 128), collective(1, 0, 64)}})
            .disagreement()
            .empty());
}

TEST_CASE("members that disagree about the operation are named with what each asks for") {
  const Trace reduce = {collective(11, 0, 64)};
  const std::string report = JobFiles({reduce, reduce, {collective(12, 2, 64)}}).disagreement();
  CHECK_THAT(report, Contains("communicator \"world\" (ranks 0-2), call 1"));
  CHECK_THAT(report, Contains("ranks 0-1 with all_reduce of 64 bytes: node 11 \"collective\" (on rank 0)"));
  CHECK_THAT(report, Contains("rank 2 with all_gather of 64 bytes: node 12"));
}

TEST_CASE("members that disagree about the size are a disagreement, except where sizes may differ") {
  for (int type = 0; type < 10; ++type) {
    const bool may_differ = type == chakra::ALL_TO_ALL || type == chakra::GATHER || type == chakra::SCATTER;
    const std::string report = JobFiles({{collective(1, type, 64)}, {collective(1, type, 65)}}).disagreement();
    CHECK(report.empty() == may_differ);
    if (!may_differ) CHECK_THAT(report, Contains("of 64 bytes") && Contains("of 65 bytes"));
  }
}

TEST_CASE("an all-to-all with different sizes keeps each member's, in the order of the group") {
  const auto trace = [](std::int64_t bytes) {
    return Trace{collective(1, chakra::ALL_TO_ALL, bytes, "g"), collective(2, chakra::ALL_TO_ALL, 7, "g")};
  };
  const Matching matching = match(JobFiles({trace(10), trace(30), trace(20)}, R"({"g": [2, 0, 1]})").load());
  CHECK(matching.calls(GroupId{1})[0].bytes_of_member == MemberSizes({Bytes(20), Bytes(10), Bytes(30)}));
  CHECK(matching.calls(GroupId{1})[0].bytes == Bytes(30));
  CHECK(matching.calls(GroupId{1})[1].bytes_of_member.empty());
}

TEST_CASE("members that disagree about the root are a disagreement") {
  const auto trace = [](std::int64_t root) { return Trace{collective(1, chakra::BROADCAST, 8).with("root", root)}; };
  CHECK(JobFiles({trace(1), trace(1)}).disagreement().empty());
  CHECK(JobFiles({trace(0), trace(-1)}).disagreement().empty());  // the first member is rank 0
  CHECK_THAT(JobFiles({trace(0), trace(1)}).disagreement(),
             Contains("rank 0 with broadcast of 8 bytes from root rank 0") &&
                 Contains("rank 1 with broadcast of 8 bytes from root rank 1"));
  const Matching matching = match(JobFiles({trace(1), trace(1)}).load());
  CHECK(matching.calls(GroupId{0})[0].root == 1);
}

TEST_CASE("a member that never arrives is named, with how many calls it makes") {
  const Trace twice = {collective(1, 0, 64), collective(2, 0, 64)};
  const std::string fewer = JobFiles({twice, {collective(1, 0, 64)}, twice}).disagreement();
  CHECK_THAT(fewer, Contains("call 2") && Contains("ranks 0 and 2 with all_reduce of 64 bytes: node 2") &&
                        Contains("rank 1 never: only 1 call on this communicator"));
  const std::string none = JobFiles({twice, {compute(1)}, twice}).disagreement();
  CHECK_THAT(none, Contains("call 1") && Contains("rank 1 never: no call on this communicator"));
}

TEST_CASE("two collectives in opposite order on one communicator are recognised as such") {
  const std::string report =
      JobFiles({{collective(1, 0, 64), collective(2, 2, 8)}, {collective(1, 2, 8), collective(2, 0, 64)}})
          .disagreement();
  CHECK_THAT(report, Contains("call 1") && Contains("all members make the same calls, but in different orders"));
  const std::string different = JobFiles({{collective(1, 0, 64)}, {collective(1, 2, 8)}}).disagreement();
  CHECK_THAT(different, !Contains("different orders"));
}

TEST_CASE("opposite order on different communicators is no mismatch: that deadlock is the simulation's to find") {
  const std::string_view groups = R"({"a": [0, 1], "b": [0, 1]})";
  const Trace ab = {collective(1, 0, 8, "a"), collective(2, 0, 8, "b").data({1})};
  const Trace ba = {collective(1, 0, 8, "b"), collective(2, 0, 8, "a").data({1})};
  CHECK(JobFiles({ab, ba}, groups).disagreement().empty());
}

TEST_CASE("each communicator is reported once, at its first disagreement, and all of them are") {
  const std::string_view groups = R"({"a": [0, 1], "b": [1, 0]})";
  const Trace zero = {collective(1, 0, 1, "a"), collective(2, 0, 2, "a"), collective(3, 0, 3, "a"),
                      collective(4, 0, 9, "b")};
  const Trace one = {collective(1, 0, 1, "a"), collective(2, 0, 5, "a"), collective(3, 0, 6, "a"),
                     collective(4, 0, 8, "b")};
  const std::string report = JobFiles({zero, one}, groups).disagreement();
  CHECK_THAT(report, Contains("communicator \"a\" (ranks 0-1), call 2") &&
                         Contains("communicator \"b\" (ranks 0-1), call 1") && !Contains("call 3"));
}

TEST_CASE("a long report is capped and says how much is left out") {
  std::string groups = "{";
  Trace zero, one;
  for (std::uint64_t i = 0; i < 30; ++i) {
    const std::string name = "g" + std::to_string(i);
    groups += (i > 0 ? ", \"" : "\"") + name + "\": [0, 1]";
    zero.push_back(collective(i, 0, 1, name));
    one.push_back(collective(i, 0, 2, name));
  }
  const std::string report = JobFiles({zero, one}, groups + "}").disagreement();
  CHECK_THAT(report, Contains("... and 25 more") && Contains("all ranks finish (tried) with 30 edits"));
  CHECK(std::ranges::count(report, '\n') < 24);
}

TEST_CASE("ranks that share a graph are compared through their own groups") {
  // All four ranks have equal graphs, but rank 3's group has a member that never calls.
  const auto trace = [](std::string_view group) { return Trace{collective(1, 0, 8, group)}; };
  const std::string report =
      JobFiles({trace("a"), trace("a"), trace("b"), trace("c")}, R"({"a": [0, 1], "b": [2], "c": [3, 2]})")
          .disagreement();
  CHECK_THAT(report,
             Contains("communicator \"c\" (ranks 2-3), call 1") && Contains("rank 2 never") && !Contains("\"a\""));
}

TEST_CASE("several transfers with one source, destination and tag meet in order") {
  // Rank 0 sends three times; rank 1's receive 9 comes first because 1 waits for it.
  const Trace zero = {send(1, 1, 10), send(2, 1, 20), send(3, 1, 30)};
  const Trace one = {receive(9, 0, 10), receive(1, 0, 20).data({9}), receive(10, 0, 30)};
  const Matching matching = match(JobFiles({zero, one}).load());
  // NodeIds of rank 1 by id: 1 -> 0, 9 -> 1, 10 -> 2.
  CHECK(ends_of(matching, 0, 3) ==
        std::vector<TransferEnd>{{RankId{1}, NodeId{1}}, {RankId{1}, NodeId{0}}, {RankId{1}, NodeId{2}}});
  CHECK(ends_of(matching, 1, 3) ==
        std::vector<TransferEnd>{{RankId{0}, NodeId{1}}, {RankId{0}, NodeId{0}}, {RankId{0}, NodeId{2}}});
}

TEST_CASE("transfers of different tags do not meet") {
  const Matching matching =
      match(JobFiles({{send(1, 1, 8, 5), send(2, 1, 8, 6)}, {receive(1, 0, 8, 6), receive(2, 0, 8, 5)}}).load());
  CHECK(ends_of(matching, 0, 2) == std::vector<TransferEnd>{{RankId{1}, NodeId{1}}, {RankId{1}, NodeId{0}}});
}

TEST_CASE("a send without receive and a receive without send are counted and named") {
  const std::string sends =
      JobFiles({{send(1, 1, 8, 4), send(2, 1, 8, 4), send(3, 1, 8, 4)}, {receive(7, 0, 8, 4)}}).disagreement();
  CHECK_THAT(sends, Contains("from rank 0 to rank 1, tag 4: 3 sends but 1 receive; the first without a receive is node "
                             "2 \"send\" on rank 0"));
  const std::string receives = JobFiles({{compute(1)}, {receive(7, 0, 8)}}).disagreement();
  CHECK_THAT(receives, Contains("from rank 0 to rank 1, tag 0: 0 sends but 1 receive; the first without a send is node "
                                "7 \"receive\" on rank 1"));
}

TEST_CASE("a transfer whose ends disagree about the size is a disagreement") {
  CHECK_THAT(
      JobFiles({{send(1, 1, 8), send(2, 1, 8)}, {receive(3, 0, 8), receive(4, 0, 9)}}).disagreement(),
      Contains("transfer 2 is sent with 8 bytes (node 2 \"send\") and received with 9 bytes (node 4 \"receive\")"));
}

TEST_CASE("transfers that do not match are reported once each, by source and destination") {
  // Seen from rank 0 first: that rank 2 does not send.
  const std::string report = JobFiles({{receive(1, 2, 8)}, {send(1, 2, 8)}, {receive(1, 1, 9)}}).disagreement();
  const std::size_t first = report.find("from rank 1 to rank 2, tag 0: transfer 1 is sent with 8 bytes");
  const std::size_t second = report.find("from rank 2 to rank 0, tag 0: 0 sends but 1 receive");
  REQUIRE(first != std::string::npos);
  REQUIRE(second != std::string::npos);
  CHECK(first < second);
  CHECK(report.find("\n  from", second) == std::string::npos);
}

TEST_CASE("collectives and transfers that disagree are reported together") {
  const std::string report = JobFiles({{collective(1, 0, 8), send(2, 1, 8)}, {collective(1, 2, 8)}}).disagreement();
  CHECK_THAT(report, Contains("communicator \"world\"") && Contains("1 send but 0 receives"));
}
