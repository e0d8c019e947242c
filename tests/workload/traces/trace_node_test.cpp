// SPDX-License-Identifier: MIT
#include <catch2/catch.hpp>
#include <string>

#include "tests/workload/traces/trace_builder.h"

using namespace orrery;
using namespace orrery::workload;
using namespace orrery::testing;
using Catch::Matchers::Contains;

namespace {

// The only node of a trace without errors.
GraphNode only_node(const chakra::Node& node) {
  const RankTrace trace = read({node});
  INFO(problems_of(trace));
  REQUIRE(trace.graph);
  return trace.graph->node(NodeId{0});
}

constexpr std::int64_t kExa = std::int64_t{1} << 60;

}  // namespace

TEST_CASE("a measured duration is kept in picoseconds") {
  const GraphNode node = only_node(compute(1, 7));
  CHECK(node.kind == NodeKind::kCompute);
  CHECK(node.duration == Duration(7'000'000));  // 7 us
}

TEST_CASE("a duration beyond simulated time is an error") {
  // 2^63 ps / 10^6 = 9,223,372,036,854 us is the longest that fits.
  CHECK(problems_of({compute(1, 9'223'372'036'854)}).empty());
  CHECK_THAT(problems_of({compute(1, 9'223'372'036'855)}), Contains("106 days") && Contains("node 1 \"compute\""));
  CHECK_THAT(problems_of({compute(1, UINT64_MAX)}), Contains("error") && Contains("106 days"));
}

TEST_CASE("a compute node keeps its duration, FLOPs and bytes side by side") {
  const GraphNode node = only_node(compute(1, 7).with("num_ops", 100).with("tensor_size", 200));
  CHECK(node.duration == Duration(7'000'000));
  CHECK(node.flops == Flops(100));
  CHECK(node.bytes == Bytes(200));
}

TEST_CASE("FLOPs without bytes, and bytes without FLOPs, are work") {
  CHECK(only_node(compute(1, 0).with("num_ops", 5)).kind == NodeKind::kCompute);
  CHECK(only_node(compute(1, 0).with("num_ops", 0).with("tensor_size", 5)).kind == NodeKind::kCompute);
}

TEST_CASE("nodes with neither duration nor FLOPs nor bytes are free and counted in one warning") {
  const Trace trace = {compute(1, 0), compute(2, 0), compute(3, 1), compute(4, 0).with("num_ops", 0),
                       TraceNodeBuilder(5, "load", chakra::MEM_LOAD_NODE)};
  CHECK(read(trace).graph->kind(NodeId{0}) == NodeKind::kNoOp);
  CHECK(read(trace).graph->kind(NodeId{2}) == NodeKind::kCompute);
  CHECK(read(trace).graph->kind(NodeId{4}) == NodeKind::kNoOp);
  CHECK_THAT(problems_of(trace),
             Contains("warning: nodes with neither a duration nor FLOPs nor bytes") && Contains("(4 in all)"));
}

TEST_CASE("memory nodes carry the bytes they move") {
  const GraphNode load = only_node(TraceNodeBuilder(1, "load", chakra::MEM_LOAD_NODE).with("tensor_size", 1024));
  CHECK(load.kind == NodeKind::kMemoryLoad);
  CHECK(load.bytes == Bytes(1024));
  CHECK(only_node(TraceNodeBuilder(1, "store", chakra::MEM_STORE_NODE).with("tensor_size", 1)).kind ==
        NodeKind::kMemoryStore);
}

TEST_CASE("every collective type of the format is understood, reduce-scatter-block as reduce-scatter") {
  const CollectiveKind expected[] = {CollectiveKind::kAllReduce,     CollectiveKind::kReduce,
                                     CollectiveKind::kAllGather,     CollectiveKind::kGather,
                                     CollectiveKind::kScatter,       CollectiveKind::kBroadcast,
                                     CollectiveKind::kAllToAll,      CollectiveKind::kReduceScatter,
                                     CollectiveKind::kReduceScatter, CollectiveKind::kBarrier};
  for (int type = 0; type < 10; ++type) {
    const GraphNode node = only_node(collective(1, type, 64));
    CHECK(node.kind == NodeKind::kCollective);
    CHECK(node.collective == expected[type]);
    CHECK(node.bytes == Bytes(64));
  }
}

TEST_CASE("a collective without size or type, or with an impossible one, is an error naming the node") {
  const TraceNodeBuilder bare = TraceNodeBuilder(7, "ncclDevKernel", chakra::COMM_COLL_NODE).flag("is_cpu_op", false);
  CHECK_THAT(problems_of({TraceNodeBuilder(bare).with("comm_type", 0)}),
             Contains("error: collective without comm_size: node 7 \"ncclDevKernel\""));
  CHECK_THAT(problems_of({TraceNodeBuilder(bare).with("comm_size", 8)}),
             Contains("collective without comm_type: node 7"));
  CHECK_THAT(problems_of({bare}), Contains("without comm_type") && Contains("without comm_size"));
  CHECK_THAT(problems_of({collective(7, 10, 8)}),
             Contains("unknown comm_type") && Contains("(10)") && Contains("node 7"));
  CHECK_THAT(problems_of({collective(7, -1, 8)}), Contains("unknown comm_type") && Contains("(-1)"));
  CHECK_THAT(problems_of({collective(7, 0, -8)}),
             Contains("negative comm_size") && Contains("(-8)") && Contains("node 7"));
  CHECK_THAT(problems_of({collective(7, 0, kExa + 1)}),
             Contains("comm_size beyond 1152921504606846976") && Contains("node 7"));
  CHECK(problems_of({collective(7, 0, kExa)}).empty());
}

TEST_CASE("sizes above 4 GiB, odd sizes and sizes below the number of ranks are as good as any") {
  for (const std::int64_t bytes : {std::int64_t{1}, std::int64_t{67108865}, std::int64_t{5} << 32})
    CHECK(only_node(collective(1, 0, bytes)).bytes == Bytes(bytes));
}

TEST_CASE("a barrier needs no size; other collectives of zero bytes are counted in a warning") {
  const chakra::Node barrier =
      TraceNodeBuilder(1, "barrier", chakra::COMM_COLL_NODE).with("comm_type", chakra::BARRIER);
  CHECK(only_node(barrier).collective == CollectiveKind::kBarrier);
  CHECK(problems_of({barrier}).empty());
  CHECK_THAT(problems_of({collective(1, 0, 0), collective(2, 2, 0)}),
             Contains("warning: collectives of zero bytes: node 1") && Contains("node 2"));
}

TEST_CASE("the CPU call that launches a collective is host compute, and one warning says why") {
  const Trace trace = {
      TraceNodeBuilder(1, "nccl:all_reduce", chakra::COMM_COLL_NODE).with("is_cpu_op", 1).duration(61),
      TraceNodeBuilder(2, "c10d::allreduce_", chakra::COMM_COLL_NODE).flag("is_cpu_op", true).duration(38),
      TraceNodeBuilder(3, "record_param_comms", chakra::COMM_COLL_NODE).duration(5), collective(4, 0, 64)};
  const RankTrace read_trace = read(trace);
  for (std::uint32_t i = 0; i < 3; ++i) CHECK(read_trace.graph->kind(NodeId{i}) == NodeKind::kHostCompute);
  CHECK(read_trace.graph->duration(NodeId{0}) == Duration(61'000'000));
  CHECK(read_trace.graph->kind(NodeId{3}) == NodeKind::kCollective);
  const std::string problems = problems_of(trace);
  CHECK_THAT(problems, Contains("CPU call that launches the kernel") && Contains("\"nccl:all_reduce\"") &&
                           Contains("\"record_param_comms\""));
  CHECK(problems.find("warning") == problems.rfind("warning"));
}

TEST_CASE("a CPU communication node that has traffic is host compute, and the warning says the traffic is ignored") {
  const chakra::Node node = collective(1, 0, 64).flag("is_cpu_op", true).duration(3);
  CHECK(only_node(node).kind == NodeKind::kHostCompute);
  CHECK_THAT(problems_of({node}), Contains("comm_size is ignored"));
}

TEST_CASE("NCCL kernels typed as compute are compute with a warning") {
  for (const std::string name : {"ncclKernel_AllReduce_RING_LL", "ncclDevKernel_SendRecv(ncclDevComm*)"}) {
    const chakra::Node node = TraceNodeBuilder(1, name, chakra::COMP_NODE).duration(5);
    CHECK(only_node(node).kind == NodeKind::kCompute);
    CHECK_THAT(problems_of({node}), Contains("warning: NCCL kernels typed COMP") && Contains(name.substr(0, 10)));
  }
}

TEST_CASE("INVALID and METADATA nodes are free, with one warning for each type") {
  const Trace trace = {TraceNodeBuilder(1, "a", chakra::INVALID_NODE).duration(5),
                       TraceNodeBuilder(2, "b", chakra::METADATA_NODE),
                       TraceNodeBuilder(3, "c", chakra::METADATA_NODE)};
  const RankTrace result = read(trace);
  for (std::uint32_t i = 0; i < 3; ++i) CHECK(result.graph->node(NodeId{i}) == GraphNode{});
  CHECK_THAT(problems_of(trace), Contains("nodes of type INVALID take no time: node 1") &&
                                     Contains("nodes of type METADATA take no time: node 2 \"b\", node 3 \"c\""));
}

TEST_CASE("a chain through no-ops stays a chain") {
  const RankTrace trace =
      read({compute(1), TraceNodeBuilder(2, "", chakra::INVALID_NODE).data({1}), compute(3).data({2})});
  CHECK(trace.graph->successors(NodeId{0})[0] == NodeId{1});
  CHECK(trace.graph->successors(NodeId{1})[0] == NodeId{2});
}

TEST_CASE("node types beyond the format are an error") {
  for (const int type : {8, 9, 100, -1})
    CHECK_THAT(problems_of({TraceNodeBuilder(3, "storage", type)}),
               Contains("unknown node type") && Contains("node 3 \"storage\" (type " + std::to_string(type)));
}

TEST_CASE("sends and receives know peer, size and tag") {
  const RankTrace trace = read({send(1, 5, 10, 3), receive(2, 5, 20), send(3, 4, 30)});
  REQUIRE(trace.graph);
  CHECK(trace.graph->kind(NodeId{0}) == NodeKind::kSend);
  CHECK(trace.graph->kind(NodeId{1}) == NodeKind::kReceive);
  CHECK(trace.graph->bytes(NodeId{1}) == Bytes(20));
  CHECK(trace.graph->peer_slot(NodeId{0}) == 0);
  CHECK(trace.graph->peer_slot(NodeId{1}) == 0);
  CHECK(trace.graph->peer_slot(NodeId{2}) == 1);
  CHECK(trace.peers == std::vector<std::int64_t>{5, 4});
  CHECK(trace.tags == std::vector<std::int64_t>{3, 0, 0});
}

TEST_CASE("a send or receive without peer is an error that names the PyTorch converter") {
  const chakra::Node sends =
      TraceNodeBuilder(4, "ncclKernel_SendRecv", chakra::COMM_SEND_NODE).with("comm_size", 1).flag("is_cpu_op", false);
  const chakra::Node receives = TraceNodeBuilder(5, "recv", chakra::COMM_RECV_NODE).with("comm_size", 1);
  CHECK_THAT(problems_of({sends}), Contains("send without comm_dst: node 4 \"ncclKernel_SendRecv\"") &&
                                       Contains("hint: PyTorch's trace converter"));
  CHECK_THAT(problems_of({receives}), Contains("receive without comm_src: node 5"));
}

TEST_CASE("a send without size or with a negative one is an error") {
  CHECK_THAT(problems_of({TraceNodeBuilder(4, "s", chakra::COMM_SEND_NODE).with("comm_dst", 1)}),
             Contains("send without comm_size: node 4"));
  CHECK_THAT(problems_of({send(4, 1, -1)}), Contains("negative comm_size: node 4"));
}

TEST_CASE("comm_type on a send or receive is ignored") {
  CHECK(only_node(send(1, 1, 10).with("comm_type", 5)).kind == NodeKind::kSend);
  CHECK(only_node(receive(1, 1, 10).with("comm_type", 6)).kind == NodeKind::kReceive);
}

TEST_CASE("an integer attribute may have any integer kind, but no string") {
  chakra::Node node = TraceNodeBuilder(1, "n", chakra::COMM_COLL_NODE).with("comm_type", 0);
  chakra::AttributeProto& size = *node.add_attr();
  size.set_name("comm_size");
  size.set_int32_val(9);
  CHECK(only_node(node).bytes == Bytes(9));
  size.set_uint64_val(10);
  CHECK(only_node(node).bytes == Bytes(10));
  size.set_double_val(11.0);
  CHECK(only_node(node).bytes == Bytes(11));
  size.set_double_val(11.5);
  CHECK_THAT(problems_of({node}), Contains("error") && Contains("comm_size") && Contains("node 1"));
  size.set_string_val("12");
  CHECK_THAT(problems_of({node}), Contains("error") && Contains("comm_size") && Contains("node 1"));
}

TEST_CASE("all wrong nodes of a file are reported together, those of one kind as one problem") {
  Trace trace;
  for (std::uint64_t id = 0; id < 84; ++id)
    trace.push_back(TraceNodeBuilder(id, "all_reduce", chakra::COMM_COLL_NODE).with("comm_type", 0));
  trace.push_back(compute(100).with("num_ops", -1));
  const std::string problems = problems_of(trace);
  CHECK_THAT(problems, Contains("collective without comm_size: node 0 \"all_reduce\", node 1 \"all_reduce\", node 2 "
                                "\"all_reduce\" (84 in all)"));
  CHECK_THAT(problems, Contains("negative num_ops: node 100"));
  CHECK(std::count(problems.begin(), problems.end(), '\n') == 3);  // two problems, one with a hint
}

TEST_CASE("streams are numbered densely in ascending order, and a node without one is on stream 0") {
  const RankTrace trace =
      read({compute(1).with("stream", 20), compute(2), compute(3).with("stream", 7),
            compute(4).with("stream", 9).flag("is_cpu_op", true), collective(5, 0, 1).with("stream", 20)});
  const ExecutionGraph& graph = *trace.graph;
  CHECK(graph.stream(NodeId{0}) == 2);  // 0, 7, 20
  CHECK(graph.stream(NodeId{1}) == 0);
  CHECK(graph.stream(NodeId{2}) == 1);
  CHECK(graph.stream(NodeId{4}) == 2);
  CHECK(graph.stream_count() == 3);
}

TEST_CASE("priorities are kept, and impossible ones refused") {
  CHECK(only_node(collective(1, 0, 1).with("comm_priority", 4294967295)).priority == 4294967295U);
  CHECK_THAT(problems_of({collective(1, 0, 1).with("comm_priority", -1)}), Contains("negative comm_priority"));
  CHECK_THAT(problems_of({collective(1, 0, 1).with("comm_priority", 4294967296)}),
             Contains("comm_priority beyond 4294967295"));
}

TEST_CASE("a communicator is named by pg_name, or by comm_group in old traces") {
  const RankTrace trace = read({collective(1, 0, 1, "tp"), collective(2, 0, 1).with("comm_group", 12),
                                collective(3, 0, 1), collective(4, 0, 1, "tp"), collective(5, 0, 1, "0")});
  CHECK(trace.communicators == std::vector<std::string>{"tp", "12", "", "0"});
  CHECK(trace.graph->communicator_slot(NodeId{3}) == 0);
}

TEST_CASE("the root of a rooted collective is read under each of its names; others have none") {
  const RankTrace trace =
      read({collective(1, chakra::BROADCAST, 1).with("root", 3), collective(2, chakra::REDUCE, 1).with("root_rank", 2),
            collective(3, chakra::SCATTER, 1).with("src_rank", 1), collective(4, chakra::GATHER, 1),
            collective(5, chakra::ALL_REDUCE, 1).with("root", 3)});
  CHECK(trace.roots == std::vector<std::int64_t>{3, 2, 1, -1, -1});
  CHECK_THAT(problems_of({collective(1, chakra::BROADCAST, 1).with("root", -2)}), Contains("negative root"));
}
