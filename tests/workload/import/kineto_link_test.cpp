// SPDX-License-Identifier: MIT
// Profiles that do not note what their kernels communicate, execution traces that say it, ranks that stand for others,
// and ranks that begin late.
#include <algorithm>
#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "tests/workload/import/kineto_jobs.h"
#include "tests/workload/import/kineto_text.h"
#include "workload/import/kineto/execution_trace.h"
#include "workload/import/kineto/kineto.h"
#include "workload/matching/matching.h"

using namespace orrery;
using namespace orrery::workload;
using namespace orrery::testing;
using Catch::Matchers::Contains;

namespace {

// A kernel of NCCL as PyTorch before 2.2 left it: its operators on the host around the launch, nothing on the kernel.
KinetoText& old_call(KinetoText& text, double begin, std::string_view c10d, std::string_view nccl,
                     std::string_view c10d_shapes, std::string_view nccl_shapes, std::string_view type = "float") {
  const auto host = [&](std::string_view name, double at, double duration, std::string_view shapes) {
    text.event(
        fmt::format(R"("ph": "X", "cat": "cpu_op", "name": "{}", "pid": 71, "tid": 1, "ts": {:.3f}, )"
                    R"("dur": {:.3f}, "args": {{"External id": 5, "Input Dims": {}, "Input type": ["{}", "{}"]}})",
                    name, at, duration, shapes, type, type));
  };
  host(c10d, begin - 10, 9, c10d_shapes);
  text.event(fmt::format(R"("ph": "X", "cat": "cpu_op", "name": "record_param_comms", "pid": 71, "tid": 1, )"
                         R"("ts": {:.3f}, "dur": 8, "args": {{"External id": 6}})",
                         begin - 9.5));
  host(nccl, begin - 9, 7, nccl_shapes);
  return text.kernel("ncclKernel_X", begin, 10, 20);
}

std::string reduce_profile(std::int64_t elements, int rank = 0, int world = 2) {
  KinetoText text(rank, world);
  return old_call(text, 100, "c10d::allreduce_", "nccl:all_reduce", "[[]]", fmt::format("[[{}]]", elements)).str();
}

// A call of c10d in schema 1.0.1, in a job of one process group of which nothing is said but an address.
std::string old_execution_call(std::int64_t elements, std::string_view name = "allreduce") {
  return fmt::format(R"({{"name": "record_param_comms", "id": 7, "rf_id": 5, )"
                     R"("inputs": [[[1, 2, 0, {}, 4, "cuda:0"]], 141, 94594108, 0, "{}", [4, 4], [4, 4]], )"
                     R"("input_types": ["GenericList[Tensor(float)]", "Int"], "outputs": []}})",
                     elements, name);
}

std::string old_execution_trace(const std::vector<std::string>& calls, int process = 71) {
  return fmt::format(R"({{"schema": "1.0.1", "pid": {}, "nodes": [{}]}})", process, fmt::join(calls, ", "));
}

std::string old_execution_trace(std::int64_t elements, std::string_view name = "allreduce", int process = 71) {
  return old_execution_trace(std::vector{old_execution_call(elements, name)}, process);
}

std::string new_execution_trace(std::string_view ranks, std::string_view group = "tp") {
  return fmt::format(
      R"x({{"schema": "1.1.1-chakra.0.0.4", "pid": 71, "nodes": [
{{"id": 2, "name": "## process_group:init ##", "inputs": {{"values": [
  "[{{\"pg_name\": \"3\", \"pg_desc\": \"{1}\", \"ranks\": {0}, \"group_size\": 2}}]"]}}, "attrs": []}},
{{"id": 7, "name": "record_param_comms", "inputs": {{"values": [[1, 2, 0, 1000, 4, "cuda:0"], 141,
  ["3", "{1}"], 1, "allreduce", [], [], 2, 1, 2], "types": ["Tensor(float)"]}},
  "attrs": [{{"name": "rf_id", "value": 9}}, {{"name": "pg_size", "value": 2}}]}}]}})x",
      ranks, group);
}

std::string group_of(const Job& job, RankId rank, std::string_view kernel) {
  std::string members;
  for (const RankId member : job.communicators[index_of(job.communicator(rank, node_named(job, rank, kernel)))].members)
    members += fmt::format("{}{}", members.empty() ? "" : " ", index_of(member));
  return members;
}

Bytes bytes_of(const Job& job, std::string_view kernel) {
  return job.graph(RankId{0}).bytes(node_named(job, RankId{0}, kernel));
}

}  // namespace

TEST_CASE("what a kernel without notes communicates is told by the operators of the host that launched it") {
  const Job job = import({reduce_profile(1000)}, {.symmetric = true});
  CHECK(job.ranks.size() == 2);
  CHECK(bytes_of(job, "ncclKernel_X") == Bytes(4000));
  CHECK(group_of(job, RankId{1}, "ncclKernel_X") == "0 1");
  CHECK_THAT(problems({reduce_profile(1000)}, {.symmetric = true}),
             Contains("nothing says in which process group kernels of NCCL communicate"));
  // Half a million bytes of each of 4 ranks are gathered: rank 5 of 8 is among 4 to 7.
  KinetoText gather(5, 8);
  old_call(gather, 100, "c10d::_allgather_base_", "nccl:_all_gather_base", "[[2000000], [500000], []]", "[[500000]]",
           "signed char");
  const Job gathered = import({gather.str()}, {.symmetric = true});
  CHECK(bytes_of(gathered, "ncclKernel_X") == Bytes(500'000));
  CHECK(group_of(gathered, RankId{5}, "ncclKernel_X") == "4 5 6 7");
  CHECK(group_of(gathered, RankId{0}, "ncclKernel_X") == "0 1 2 3");
  // A list of two tensors of 6 and 10 elements.
  KinetoText list(0, 1);
  old_call(list, 100, "c10d::allreduce_", "nccl:all_reduce", "[]", "[[[2, 3], [10]]]", "c10::Half");
  CHECK(bytes_of(import({list.str()}), "ncclKernel_X") == Bytes(32));
}

// Two calls of the library within one of c10d, for more elements the second time.
TEST_CASE("a call of the host says what the first call of the library within it communicates") {
  KinetoText text(0, 2);
  old_call(text, 100, "c10d::allreduce_", "nccl:all_reduce", "[[]]", "[[1000]]");
  text.event(R"("ph": "X", "cat": "cpu_op", "name": "nccl:all_reduce", "pid": 71, "tid": 1, "ts": 97.0, "dur": 1.0, )"
             R"("args": {"External id": 7, "Input Dims": [[2000]], "Input type": ["float"]})");
  CHECK_THAT(problems({text.str(), old_execution_trace(1000)}, {.symmetric = true}), !Contains("have a partner"));
  CHECK_THAT(problems({text.str(), old_execution_trace(2000)}, {.symmetric = true}), Contains("only 0 of its 1 calls"));
}

TEST_CASE("an execution trace says what the profile of its step does not") {
  CHECK(problems({reduce_profile(1000), old_execution_trace(1000)}, {.symmetric = true}).find("nothing says") ==
        std::string::npos);
  const Job job = import({new_execution_trace("[2, 3]"), reduce_profile(1000, 3, 8)}, {.symmetric = true});
  CHECK(group_of(job, RankId{3}, "ncclKernel_X") == "2 3");
  CHECK(group_of(job, RankId{6}, "ncclKernel_X") == "6 7");
  CHECK(job.communicators[1].name == "tp");
  CHECK_NOTHROW(match(job));
}

TEST_CASE("the operator of a kernel's launch is looked for among the last 64 that began") {
  const auto said = [](int others) {  // begun and ended between the operator and the launch
    KinetoText text(0, 1);
    old_call(text, 100, "c10d::allreduce_", "nccl:all_reduce", "[[]]", "[[1000]]");
    for (int i = 0; i < others; ++i)
      text.event(fmt::format(R"("ph": "X", "cat": "cpu_op", "name": "nccl:broadcast", "pid": 71, "tid": 1, )"
                             R"("ts": {:.3f}, "dur": 0.001, "args": {{"External id": 7}})",
                             92 + 0.01 * i));
    return problems({text.str()});
  };
  CHECK_THAT(said(63), !Contains("without notes of c10d"));
  CHECK_THAT(said(64), Contains("without notes of c10d"));
}

TEST_CASE("calls that do not name each other are paired in their order, as many as can be") {
  KinetoText text(0, 2);
  for (const auto& [begin, elements] : {std::pair(100, 1), {200, 2}, {300, 1}, {400, 3}})
    old_call(text, begin, "c10d::allreduce_", "nccl:all_reduce", "[[]]", fmt::format("[[{}]]", elements));
  const Profiles files(
      {text.str(), old_execution_trace({old_execution_call(3), old_execution_call(1), old_execution_call(1)})});
  Diagnostics diagnostics;
  KinetoFacts facts;
  import_kineto(files.files, diagnostics, {.symmetric = true}, &facts);
  CHECK(facts.linked == 2);
}

TEST_CASE("an execution trace says the rank and the world of a profile that does not") {
  CHECK_THAT(problems({reduce_profile(1000, 0, 0), new_execution_trace("[0, 1]", "default_pg")}, {.symmetric = true}),
             Contains("the profile of rank 1 stands for all 2 ranks"));
}

TEST_CASE("an execution trace of another step, or of no profile, is an error") {
  CHECK_THAT(problems({reduce_profile(1000), old_execution_trace(2000)}, {.symmetric = true}),
             Contains("p1.json: error: only 0 of its 1 calls of c10d have a partner among the 1 of the profile"));
  CHECK_THAT(problems({reduce_profile(1000), old_execution_trace(1000, "broadcast")}, {.symmetric = true}),
             Contains("only 0 of its 1 calls"));
  CHECK_THAT(problems({reduce_profile(1000), old_execution_trace(1000, "allreduce", 72)}, {.symmetric = true}),
             Contains("is an execution trace of process 72, of which there is no profile"));
  CHECK_THAT(problems({old_execution_trace(1), old_execution_trace(2)}), Contains("they have no times of the device"));
  CHECK_THAT(problems({reduce_profile(1000), "{\"schema\": \"1.0.1\", \"nodes\": [}"}), Contains("not JSON"));
  const std::string beyond = "{\"schema\": \"1.0.1\",\n\"nodes\": [" + std::string(400, '4') + "]}";
  CHECK_THAT(problems({reduce_profile(1000), beyond}), Contains(":2: error: not JSON: number overflow"));
  CHECK_FALSE(is_execution_trace("{\"schema\": \"orrery.result/1\", \"nodes\": 4}"));
  CHECK_FALSE(is_execution_trace(reduce_profile(1)));
}

TEST_CASE("a rank stands for others in groups of the same shape") {
  const auto profile = [](int rank, const std::string& ranks, int size) {
    return KinetoText(rank, 8).kernel("a", 1, 1).nccl("allreduce", 100, 10, notes(8, 8, ranks, size, "5", "dp")).str();
  };
  const Job job = import({profile(3, "[1, 3, 5, 7]", 4)}, {.symmetric = true});
  CHECK(job.ranks.size() == 8);
  CHECK(job.graphs.size() == 1);
  CHECK(job.communicators.size() == 3);
  CHECK(group_of(job, RankId{4}, "ncclDevKernel_X") == "0 2 4 6");
  CHECK(group_of(job, RankId{3}, "ncclDevKernel_X") == "1 3 5 7");
  CHECK_NOTHROW(match(job));
  CHECK_THAT(problems({profile(3, "[1, 3, 5, 7]", 4)}, {.symmetric = true}),
             Contains("the profile of rank 3 stands for all 8 ranks") && Contains("dp: 4 ranks, every 2th"));
  for (const auto& [ranks, size] : std::vector<std::pair<std::string, int>>{{"[0, 1, 3]", 3}, {"[3, 4]", 2}})
    CHECK_THAT(problems({profile(3, ranks, size)}, {.symmetric = true}),
               Contains("how the other ranks of 8 are grouped cannot be told"));
}

TEST_CASE("with messages a profile of each stage stands for the ranks of the stage") {
  // Four stages of two: ranks 0, 2, 4, 6 are a pipeline. A stage receives from the one before and sends to the next.
  const auto stage = [](int number) {
    KinetoText text(2 * number, 8);
    text.kernel("a", 1, 1 + number);
    const std::string pipeline = notes(8, 8, "[0, 2, 4, 6]", 4, "2", "pp");
    if (number > 0) text.nccl("recv", 100, 10, fmt::format("\"Src Rank\": {}, {}", number - 1, pipeline));
    if (number < 3) text.nccl("send", 200, 10, fmt::format("\"Dst Rank\": {}, {}", number + 1, pipeline));
    return text.str();
  };
  const Job job = import({stage(0), stage(1), stage(2), stage(3)}, {.symmetric = true});
  CHECK(job.ranks.size() == 8);
  CHECK_NOTHROW(match(job));
  // Rank 5 is on stage 2 and computes 3 us.
  CHECK(job.graph(RankId{5}).duration(node_named(job, RankId{5}, "a")) == Duration(3'000'000));
  CHECK(job.ranks[5].peers == std::vector<RankId>{RankId{3}, RankId{7}});
  CHECK_THAT(problems({stage(0), stage(1), stage(3)}, {.symmetric = true}),
             Contains("of 4 stages, none of 1 has a profile") && Contains("for example of rank 4"));
}

TEST_CASE("a rank that began late begins late, where the clocks of the ranks agree") {
  const auto rank = [](int number, double begin, double collective, double end) {
    return KinetoText(number, 2)
        .kernel("a", begin, 1)
        .nccl("allreduce", collective, end - collective, notes(8, 8, "[0, 1]", 2))
        .str();
  };
  const std::string first = rank(0, 1000, 1010, 1100);
  const Job job = import({first, rank(1, 1080, 1090, 1100)});
  const NodeId start = node_named(job, RankId{1}, "start");
  CHECK(job.graph(RankId{1}).kind(start) == NodeKind::kHostCompute);
  CHECK(job.graph(RankId{1}).duration(start) == Duration(80'000'000));  // 80 us
  CHECK(begins(job.graph(RankId{1}))[index_of(node_named(job, RankId{1}, "a"))] == Duration(80'000'000));
  // Rank 1 enters the collective 0.9 ms after rank 0 has left it: that is another clock.
  const std::string said = problems({first, rank(1, 1980, 2000, 2100)});
  CHECK_THAT(said, Contains("the clocks of the ranks do not agree"));
  KinetoFacts facts;
  Diagnostics diagnostics;
  const Profiles profiles({first, rank(1, 1080, 1090, 1100)});
  import_kineto(profiles.files, diagnostics, {}, &facts);
  CHECK(facts.has_common_clock);
  CHECK(facts.measured == Duration(100'000'000));  // 1000 to 1100 us
}
