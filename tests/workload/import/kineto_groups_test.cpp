// SPDX-License-Identifier: MIT
// What profiles say of collectives, their groups, and who sends to whom.
#include <algorithm>
#include <catch2/catch.hpp>
#include <random>
#include <string>

#include "core/error.h"
#include "tests/workload/chakra/bytes.h"
#include "tests/workload/import/kineto_jobs.h"
#include "tests/workload/import/kineto_text.h"
#include "tests/workload/traces/same_job.h"
#include "tests/workload/traces/trace_builder.h"
#include "workload/import/kineto/kineto.h"
#include "workload/import/kineto/messages.h"
#include "workload/matching/matching.h"

using namespace orrery;
using namespace orrery::workload;
using namespace orrery::testing;

TEST_CASE("c10d's operations are known under all their names") {
  const std::vector<std::pair<std::string_view, CollectiveKind>> names = {
      {"allreduce", CollectiveKind::kAllReduce},
      {"allreduce_coalesced", CollectiveKind::kAllReduce},
      {"_allgather_base", CollectiveKind::kAllGather},
      {"all_gather", CollectiveKind::kAllGather},
      {"allgather_into_tensor_coalesced", CollectiveKind::kAllGather},
      {"_reduce_scatter_base", CollectiveKind::kReduceScatter},
      {"reduce_scatter_tensor_coalesced", CollectiveKind::kReduceScatter},
      {"reduce", CollectiveKind::kReduce},
      {"_reduce_oop", CollectiveKind::kReduce},
      {"broadcast", CollectiveKind::kBroadcast},
      {"all_to_all", CollectiveKind::kAllToAll},
      {"all_to_allv", CollectiveKind::kAllToAll},
      {"alltoall_base", CollectiveKind::kAllToAll},
      {"gather", CollectiveKind::kGather},
      {"scatter", CollectiveKind::kScatter},
      {"barrier", CollectiveKind::kBarrier}};
  for (const auto& [name, kind] : names) {
    INFO(name);
    REQUIRE(operation_kind(name));
    CHECK(operation_kind(name)->type == KinetoOperationKind::Type::kCollective);
    CHECK(operation_kind(name)->collective == kind);
  }
  CHECK(operation_kind("send")->type == KinetoOperationKind::Type::kSend);
  CHECK(operation_kind("recv")->type == KinetoOperationKind::Type::kReceive);
  CHECK_FALSE(operation_kind("coalesced"));
  for (const auto& [type, bytes] : std::vector<std::pair<std::string_view, std::int64_t>>{{"Float", 4},
                                                                                          {"BFloat16", 2},
                                                                                          {"Half", 2},
                                                                                          {"Double", 8},
                                                                                          {"Byte", 1},
                                                                                          {"Long", 8},
                                                                                          {"Int", 4},
                                                                                          {"Bool", 1},
                                                                                          {"Float8_e4m3fn", 1},
                                                                                          {"ComplexDouble", 16}})
    CHECK(element_size(type) == bytes);
  CHECK_FALSE(element_size("Undefined"));
}

TEST_CASE("ranks of a process group are read in full, or continued where they are cut") {
  const auto list = [](std::string_view text, std::int64_t size) {
    const auto ranks = ranks_of(text, size);
    return ranks ? fmt::format("{}", fmt::join(*ranks, " ")) : std::string("none");
  };
  CHECK(list("[0, 4, 1]", 3) == "0 4 1");
  CHECK(list("[0, 4, 1]", -1) == "0 4 1");
  CHECK(list("[0, 4, 1]", 4) == "none");
  CHECK(list("[0, 2, ..., 10]", 6) == "0 2 4 6 8 10");
  CHECK(list("[0, 2, ..., 8, 10]", 6) == "0 2 4 6 8 10");
  CHECK(list("[0, 2, ..., 11]", 6) == "none");
  CHECK(list("[0, 2, ..., 9, 10]", 6) == "none");
  CHECK(list("[0, 2, 3, ..., 10]", 6) == "none");  // uneven
  CHECK(list("[3, 2, ..., 0]", 4) == "none");
  CHECK(list("[0, ..., 3]", 4) == "none");
  CHECK(list("[0, 1, ..., ..., 3]", 4) == "none");
  CHECK(list("", -1) == "none");
  CHECK(list("[a]", 1) == "none");
  CHECK(list("[99999999999]", 1) == "none");
}

TEST_CASE("process groups become communicators, named as people named them") {
  const auto rank = [](int number, std::string_view pair) {
    return KinetoText(number, 4)
        .nccl("allreduce", 100, 10, notes(4, 4, pair, 2, number < 2 ? "1" : "2", "tensor_group", "BFloat16"))
        .nccl("_allgather_base", 120, 10, notes(4, 16, "[0, 1, 2, 3]", 4, "3", "all"))
        .nccl("allreduce", 140, 10, notes(4, 4, "", 4, "0", "default_pg"))
        .str();
  };
  const Job job = import({rank(3, "[2, 3]"), rank(0, "[0, 1]"), rank(1, "[0, 1]"), rank(2, "[2, 3]")});
  REQUIRE(job.communicators.size() == 4);
  CHECK(job.communicators[1].name == "tensor_group");
  CHECK(job.communicators[2].name == "all");
  CHECK(job.communicators[3].name == "tensor_group_1");
  CHECK(job.communicators[3].members == std::vector<RankId>{RankId{2}, RankId{3}});
  CHECK(job.graphs.size() == 1);
  const ExecutionGraph& graph = job.graphs[0];
  CHECK(graph.bytes(graph.collectives()[0]) == Bytes(8));
  CHECK(graph.bytes(graph.collectives()[1]) == Bytes(16));  // the shard
  CHECK(job.communicator(RankId{3}, graph.collectives()[0]) == GroupId{3});
  CHECK(job.communicator(RankId{3}, graph.collectives()[2]) == GroupId{0});
  match(job);
}

TEST_CASE("groups that a kernel does not list are in distributedInfo, or given by first rank and step") {
  const std::string collective = R"("In msg nelems": 1, "Out msg nelems": 1, "dtype": "Float", "Group size": 2, )";
  const auto members = [](const Job& job) {
    REQUIRE(job.communicators.size() == 2);
    return job.communicators[1].members;
  };
  const auto of = [&](const std::string& args, const std::string& config) {
    std::vector<std::string> texts;
    for (int rank = 0; rank < 3; ++rank) {
      KinetoText text(rank, 3);
      if (!config.empty()) text.group_config(config);
      if (rank == 1)
        text.kernel("a", 1, 1);
      else
        text.nccl("allreduce", 100, 10, collective + args);
      texts.push_back(text.str());
    }
    return import(texts);
  };
  const std::vector<RankId> expected = {RankId{0}, RankId{2}};
  CHECK(members(of(R"("Process Group Name": "7")", R"({"pg_name": "7", "pg_desc": "x", "ranks": [0, 2]})")) ==
        expected);
  CHECK(members(of(R"("Process Group Name": "7")", R"({"pg_name": "7", "ranks": "[0, 2]"})")) == expected);
  CHECK(members(of(R"("Process Group Name": "7", "Global rank start": 0, "Global rank stride": 2)", "")) == expected);
}

TEST_CASE("sends and receives name their peer within the group") {
  const auto rank = [](int number) {
    KinetoText text(number, 4);
    const std::string args = notes(16, 16, "[1, 3]", 2, "5", "pipe");
    if (number == 1)
      text.nccl("send", 100, 10, args + R"(, "Dst Rank": 1)");
    else if (number == 3)
      text.nccl("recv", 100, 10, args + R"(, "Src Rank": 0)");
    else
      text.kernel("idle", 100, 10);
    return text.str();
  };
  const Job job = import({rank(0), rank(1), rank(2), rank(3)});
  const NodeId transfer{0};
  CHECK(job.graph(RankId{1}).kind(transfer) == NodeKind::kSend);
  CHECK(job.peer(RankId{1}, transfer) == RankId{3});
  CHECK(job.graph(RankId{3}).kind(transfer) == NodeKind::kReceive);
  CHECK(job.peer(RankId{3}, transfer) == RankId{1});
  CHECK(job.graph(RankId{3}).bytes(transfer) == Bytes(64));
  match(job);
}

TEST_CASE("a batch of sends and receives is read from the calls of the host") {
  // Twice: both send to and receive from each other, in one kernel; then one sends by itself.
  const auto rank = [](int number) {
    const std::string pair = notes(16, 16, "[0, 1]", 2, "5", "pipe");
    const std::string other = std::to_string(1 - number);
    KinetoText text(number, 2);
    text.kernel("a", 80, 10);
    for (const double begin : {100.0, 200.0}) {
      text.host_op(begin - 30, 2, "send", pair + R"(, "External id": 1, "Dst Rank": )" + other);
      text.host_op(begin - 20, 2, "recv", pair + R"(, "External id": 2, "Src Rank": )" + other);
      text.kernel("ncclDevKernel_SendRecv", begin, 10, 20);
    }
    const std::string single = number == 0 ? R"(, "Dst Rank": 1)" : R"(, "Src Rank": 0)";
    const std::string name = number == 0 ? "send" : "recv";
    text.host_op(270, 2, name, pair + R"(, "External id": 3)" + single);
    text.kernel("ncclDevKernel_SendRecv", 300, 10, 20,
                R"("External id": 3, "Collective name": ")" + name + "\", " + pair + single);
    return text.str();
  };
  const Job job = import({rank(0), rank(1)});
  const ExecutionGraph& graph = job.graph(RankId{0});
  REQUIRE(graph.transfers().size() == 5);
  const NodeId send = graph.transfers()[0];
  CHECK(graph.kind(send) == NodeKind::kSend);
  CHECK(graph.kind(graph.transfers()[1]) == NodeKind::kReceive);
  CHECK(graph.kind(graph.transfers()[4]) == NodeKind::kSend);
  CHECK(graph.bytes(send) == Bytes(64));
  CHECK(waits_for(job, "ncclDevKernel_SendRecv", "a"));
  CHECK(waits_for(job, "end of ncclDevKernel_SendRecv", "ncclDevKernel_SendRecv"));
  match(job);
}

TEST_CASE("a batch of one message is that message") {
  const auto rank = [](int number) {
    KinetoText text(number, 2);
    text.host_op(70, 2, number == 0 ? "send" : "recv",
                 notes(16, 16, "[0, 1]", 2, "5", "pipe") +
                     (number == 0 ? R"(, "External id": 1, "Dst Rank": 1)" : R"(, "External id": 1, "Src Rank": 0)"));
    return text.kernel("ncclDevKernel_SendRecv", 100, 10, 20).kernel("a", 120, 10, 20).str();
  };
  const Job job = import({rank(0), rank(1)});
  REQUIRE(job.graph(RankId{0}).transfers().size() == 1);
  CHECK(job.graph(RankId{0}).transfers()[0] == node_named(job, RankId{0}, "ncclDevKernel_SendRecv"));
  CHECK(waits_for(job, "a", "ncclDevKernel_SendRecv"));
  match(job);
}
