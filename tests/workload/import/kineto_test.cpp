// SPDX-License-Identifier: MIT
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
#include "workload/import/decimal.h"
#include "workload/import/kineto/events.h"
#include "workload/import/kineto/kineto.h"
#include "workload/import/kineto/messages.h"
#include "workload/import/kineto/timeline.h"
#include "workload/matching/matching.h"
#include "workload/tools/writer.h"

using namespace orrery;
using namespace orrery::workload;
using namespace orrery::testing;
using Catch::Matchers::Contains;
using orrery::test::gzip;

TEST_CASE("microseconds become nanoseconds exactly") {
  const std::vector<std::pair<std::string_view, std::optional<std::int64_t>>> cases = {
      {"1775078550123456.789", 1'775'078'550'123'456'789},  // more digits than a double has
      {"0", 0},
      {"12", 12'000},
      {"0.0004", 0},
      {"0.0005", 1},
      {"-1.5", -1500},
      {"1.5e3", 1'500'000},
      {"15E-4", 2},
      {".5", 500},
      {"5.", 5000},
      {"9223372036854775.807", INT64_MAX},
      {"9223372036854775.808", std::nullopt},
      {"1e999", std::nullopt},
      {"0e999", 0},
      {"1e-999", 0},
      {"", std::nullopt},
      {".", std::nullopt},
      {"-", std::nullopt},
      {"1e", std::nullopt},
      {"1x", std::nullopt},
      {"1.2.3", std::nullopt},
      {"nan", std::nullopt},
      {"123456789012345678901234567890123456789012345678901234567890", std::nullopt},
      {"0.123456789012345678901234567890123456789012345678901234567890", 123}};
  for (const auto& [text, expected] : cases) {
    INFO(text);
    CHECK(thousandths(text) == expected);
  }
}

TEST_CASE("kernels run in the order of their stream, with the host in between where it was late") {
  // a runs 100 to 110, b 110 to 125, c 130 to 131: 5 us after b.
  const Job job = import({KinetoText().kernel("a", 100, 10).kernel("b", 110, 15).kernel("c", 130, 1).str()});
  const ExecutionGraph& graph = job.graphs[0];
  REQUIRE(graph.size() == 4);
  CHECK(graph.kind(node_named(job, RankId{0}, "a")) == NodeKind::kCompute);
  CHECK(graph.stream(node_named(job, RankId{0}, "a")) == 1);
  CHECK(waits_for(job, "b", "a"));
  CHECK(waits_for(job, "host", "b"));
  CHECK(waits_for(job, "c", "host"));
  const NodeId host = node_named(job, RankId{0}, "host");
  CHECK(graph.kind(host) == NodeKind::kHostCompute);
  CHECK(graph.duration(host) == us(5));
  CHECK(begins(graph)[index_of(node_named(job, RankId{0}, "c"))] == us(30));
}

TEST_CASE("copies and memsets are operations of the device, everything else is left out") {
  const Job job =
      import({KinetoText()
                  .device("gpu_memcpy", "Memcpy HtoD", 1, 1, 7)
                  .device("gpu_memset", "Memset", 1, 1, 8)
                  .device("gpu_user_annotation", "ProfilerStep#1", 0, 9, 7)
                  .device("cpu_op", "aten::mm", 0, 9, 7)
                  .event(R"("ph": "i", "cat": "kernel", "name": "x")")
                  .event(R"("ph": "M", "name": "process_name", "pid": "Spans", "args": {"name": {"a": [1]}})")
                  .str()});
  CHECK(job.graphs[0].size() == 2);
}

TEST_CASE("a replay with the measured durations begins every operation when the profile did") {
  std::mt19937_64 random(1);
  const auto below = [&](std::uint64_t n) { return static_cast<std::int64_t>(random() % n); };
  for (int round = 0; round < 200; ++round) {
    KinetoTrace trace;
    trace.has_host_calls = below(2) == 0;
    const std::int64_t streams = 1 + below(4);
    std::vector<KinetoTime> ends(static_cast<std::size_t>(streams), 1'700'000'000'000'000'000);
    const std::int64_t operations = 1 + below(60);
    for (std::int64_t i = 0; i < operations; ++i) {
      const std::int64_t stream = below(static_cast<std::uint64_t>(streams));
      KinetoTime& end = ends[static_cast<std::size_t>(stream)];
      const KinetoTime begin = end + (below(3) == 0 ? below(1000) : 0);
      end = begin + below(500);
      trace.operations.push_back({.event = static_cast<std::uint64_t>(i),
                                  .name = "k",
                                  .begin = begin,
                                  .end = end,
                                  .stream = stream,
                                  .correlation = 2 * i,
                                  .is_communication = stream == 3});
      if (below(4) == 0)
        trace.calls.push_back(
            {below(2) == 0 ? KinetoCallKind::kStreamWait : KinetoCallKind::kSynchronize, begin, begin, "1", 2 * i + 1});
      if (below(10) == 0) trace.waits.push_back({0, below(4), below(4), below(100), 2 * i + 1});
    }
    const KinetoTimeline timeline = make_timeline(trace);
    REQUIRE(timeline.overlaps == 0);
    // The host is free when the last stretch of it has ended.
    const KinetoTime origin = timeline.steps[0].begin;
    std::vector<KinetoTime> begin, end;
    KinetoTime host = origin;
    for (const KinetoStep& step : timeline.steps) {
      KinetoTime ready = origin;
      for (const std::uint32_t before : step.after) {
        REQUIRE(before < begin.size());
        ready = std::max(ready, end[before]);
      }
      if (step.host > 0) host = (step.host_after ? std::max(ready, host) : host) + step.host;
      if (step.waits_for_host) ready = std::max(ready, host);
      begin.push_back(ready);
      end.push_back(ready + step.end - step.begin);
      REQUIRE(begin.back() == step.begin);
      REQUIRE(step.begin == trace.operations[step.operation].begin);
    }
  }
}

TEST_CASE("operations that overlap on a stream follow one another and are reported") {
  const std::string text = KinetoText().kernel("a", 100, 10).kernel("b", 105, 10).kernel("c", 106, 2).str();
  const Job job = import({text});
  // a to 110, then b to 115; nothing of c is left.
  CHECK(job.graphs[0].duration(node_named(job, RankId{0}, "b")) == us(5));
  CHECK(job.graphs[0].kind(node_named(job, RankId{0}, "c")) == NodeKind::kNoOp);
  CHECK_THAT(problems({text}),
             Contains("warning: operations began more than a microsecond before") && Contains("2 of 3"));
}

TEST_CASE("a collective waits for what was launched before it, and what follows a wait for the collective") {
  // As c10d does it: forward, all-reduce of one bucket beside more computation, wait, optimizer.
  const auto rank = [](int number) {
    return KinetoText(number, 2)
        .kernel("forward", 100, 10)
        .nccl("allreduce", 115, 30, notes(256, 256, "[0, 1]", 2))
        .kernel("backward", 112, 20)
        .call("cudaStreamWaitEvent", 116)
        .kernel("optimizer", 146, 5)
        .str();
  };
  const Job job = import({rank(0), rank(1)});
  CHECK(waits_for(job, "ncclDevKernel_X", "forward"));
  CHECK_FALSE(waits_for(job, "backward", "ncclDevKernel_X"));
  CHECK(waits_for(job, "optimizer", "backward"));
  CHECK(waits_for(job, "optimizer", "ncclDevKernel_X"));
  const NodeId call = node_named(job, RankId{0}, "ncclDevKernel_X");
  const ExecutionGraph& graph = job.graph(RankId{0});
  CHECK(graph.collective_kind(call) == CollectiveKind::kAllReduce);
  CHECK(graph.bytes(call) == Bytes(1024));  // 256 floats
  CHECK(graph.duration(call) == us(30));
  CHECK(graph.stream(call) == 2);
  CHECK(job.communicator(RankId{0}, call) == GroupId{0});
  match(job);
  CHECK(job.graphs.size() == 1);
}

TEST_CASE("a wait of c10d itself holds up its collective only") {
  // The second collective's own wait is no reason for the kernel behind it to wait for the first.
  const Job job = import({KinetoText(0, 1)
                              .kernel("a", 100, 50)
                              .nccl("allreduce", 160, 10, notes(8, 8, "[0]", 1))
                              .kernel("b", 150, 30)
                              .nccl("_allgather_base", 190, 10, notes(8, 8, "[0]", 1))
                              .kernel("c", 180, 30)
                              .str()});
  const auto successors = job.graphs[0].successors(node_named(job, RankId{0}, "ncclDevKernel_X"));
  CHECK(std::ranges::find(successors, node_named(job, RankId{0}, "c")) == successors.end());
}

TEST_CASE("the host waits for the device where it synchronises") {
  const Job job = import({KinetoText()
                              .kernel("a", 100, 10, 7)
                              .kernel("copy", 110, 10, 9)
                              .call("cudaDeviceSynchronize", 112, 10)
                              .kernel("b", 130, 10, 7)
                              .str()});
  CHECK(waits_for(job, "b", "copy"));
  CHECK(job.graphs[0].duration(node_named(job, RankId{0}, "host")) == us(10));  // from 120
}

TEST_CASE("with cuda_sync events an operation waits for exactly what its stream waits for") {
  KinetoText text;
  text.kernel("a", 100, 10, 7).kernel("b", 100, 5, 9);
  text.call("cudaEventRecord", 96);  // behind b
  const int record = text.last_correlation();
  text.kernel("b2", 105, 1, 9).call("cudaStreamWaitEvent", 98);
  text.event(
      fmt::format(R"("ph": "X", "cat": "cuda_sync", "name": "Stream Wait Event", "ts": 99, "dur": 1, "args": )"
                  R"({{"stream": 7, "wait_on_stream": 9, "wait_on_cuda_event_record_corr_id": {}, "correlation": {}}})",
                  record, text.last_correlation()));
  text.kernel("c", 110, 10, 7);
  const Job job = import({text.str()});
  CHECK(waits_for(job, "c", "b"));
  CHECK_FALSE(waits_for(job, "c", "b2"));
}

TEST_CASE("without calls of the host, idling until a collective has ended counts as waiting for it") {
  const auto device_only = [](double begin_of_b) {
    const std::string args = "\"Collective name\": \"allreduce\", " + notes(8, 8, "[0]", 1);
    return KinetoText(0, 1)
        .device("kernel", "a", 100, 10, 7)
        .device("kernel", "ncclDevKernel_X", 110, 10, 20, args)
        .device("kernel", "b", begin_of_b, 10, 7)
        .str();
  };
  CHECK(waits_for(import({device_only(120)}), "b", "ncclDevKernel_X"));
  CHECK(waits_for(import({device_only(120)}), "ncclDevKernel_X", "a"));
  CHECK_FALSE(waits_for(import({device_only(115)}), "b", "ncclDevKernel_X"));
}

TEST_CASE("one profile stands for all ranks on demand") {
  const std::string text =
      KinetoText(3, 8).kernel("a", 1, 1).nccl("allreduce", 100, 10, notes(8, 8, "[0, 1, ..., 7]", 8)).str();
  CHECK_THAT(problems({text}),
             Contains("the world is 8 ranks, but there is a profile of rank 3 only; not of ranks 0-2 and 4-7") &&
                 Contains("stand for all"));
  const Job job = import({text}, {.symmetric = true});
  CHECK(job.ranks.size() == 8);
  CHECK(job.graphs.size() == 1);
  match(job);
  CHECK_THAT(problems({KinetoText(0, 2'000'000'000).kernel("a", 1, 1).str()}, {.symmetric = true}),
             Contains("in a world of 2000000000"));
}

TEST_CASE("kernels that communicate without NCCL are taken as computing, with a warning") {
  const std::vector<std::pair<std::string_view, std::string_view>> kernels = {
      {"void deep_ep::intranode::dispatch<8>(int4*)", "DeepEP"},
      {"void dpsk::ep::internode::combine<false, 8>(int4*)", "DeepEP"},
      {"nvshmemi_proxy_quiet_kernel", "NVSHMEM"},
      {"void vllm::cross_device_reduce_2stage<__half, 8>", "vLLM"},
      {"two_shot_AllReduce_kernel", "another library"},
      {"gemm_reduce_scatter_kernel", "another library"},
      {"ncclDevKernel_AllReduce_Sum_f32_RING_LL", ""},
      {"at::native::sbtopk::gatherTopK<float>", ""},
      {"at::native::reduce_kernel<512>", ""}};
  for (const auto& [kernel, library] : kernels) {
    INFO(kernel);
    CHECK(other_communication(kernel) == library);
  }
  // Two of one library are one warning; the replay takes 10 + 20 us on any network.
  const std::string text = KinetoText(0, 2)
                               .kernel("void deep_ep::internode::dispatch<8>()", 100, 10)
                               .kernel("void deep_ep::internode::combine<8>()", 110, 20)
                               .str();
  const std::string said = problems({text}, {.symmetric = true});
  CHECK_THAT(said, Contains("kernels of DeepEP seem to move data between GPUs, and are taken as computing"));
  CHECK_THAT(said, Contains("(2 in all)") || Contains("combine<8>()\""));
  CHECK_THAT(said, Contains("a world of 2 ranks without a collective or message of NCCL"));
  const Job job = import({text}, {.symmetric = true});
  CHECK(job.graphs[0].kind(node_named(job, RankId{0}, "void deep_ep::internode::combine<8>()")) == NodeKind::kCompute);
  const std::string sound =
      KinetoText(0, 2).kernel("gemm", 100, 10).nccl("allreduce", 120, 5, notes(8, 8, "[0, 1]", 2)).str();
  const std::string assumed = problems({sound}, {.symmetric = true});
  CHECK_THAT(assumed, Contains("the profile of rank 0 stands for all 2 ranks"));
  CHECK(std::ranges::count(assumed, '\n') == 2);                          // that, and its hint
  CHECK(problems({KinetoText().kernel("gemm", 100, 10).str()}).empty());  // one rank has nobody to wait for
}

TEST_CASE("an imported profile is the same after writing and reading, and gzip makes no difference") {
  const auto rank = [](int number) {
    return KinetoText(number, 2)
        .kernel("a", 1.001, 1.5)
        .nccl("broadcast", 9, 10, notes(8, 8, "[0, 1]", 2, "4", "dp"))
        .str();
  };
  const Job job = import({rank(0), gzip(rank(1))});
  const ScratchDirectory directory;
  Diagnostics diagnostics;
  CHECK(difference(job, load_chakra_job(write_job(job, directory.path("out"), "k"), diagnostics)) == "");
}

TEST_CASE("what is wrong with profiles is said with the file and the event") {
  const std::string good = KinetoText(0, 2).kernel("a", 1, 1).str();
  const auto with = [](std::string_view collective, const std::string& args) {
    return problems({KinetoText(0, 1).nccl(collective, 100, 10, args).str()});
  };
  CHECK_THAT(problems({}), Contains("no profile is given"));
  CHECK_THAT(problems({""}), Contains("p0.json:1: error: not JSON"));
  CHECK_THAT(problems({good.substr(0, good.size() / 2)}), Contains("not JSON") && Contains("while it wrote"));
  CHECK_THAT(problems({"{}"}), Contains("no traceEvents"));
  CHECK_THAT(problems({R"({"schema": "1.1.1", "nodes": []})"}), Contains("this is a PyTorch execution trace"));
  CHECK_THAT(problems({"[]"}), Contains("no operation of a device"));
  CHECK_THAT(problems({"7"}), Contains("no traceEvents"));
  CHECK_THAT(problems({std::string(1'000'000, '[')}), Contains("not JSON"));
  CHECK_THAT(problems({good, good}), Contains("p1.json: error: is of rank 0, and so is"));
  CHECK_THAT(problems({good}), Contains("not of rank 1"));
  CHECK_THAT(problems({good, KinetoText(1, 3).kernel("a", 1, 1).str()}),
             Contains("a world of 2 ranks, another file of 3"));
  CHECK_THAT(problems({good, KinetoText().kernel("a", 1, 1).str()}), Contains("does not say which rank"));
  CHECK_THAT(problems({KinetoText(5, 2).kernel("a", 1, 1).str()}), Contains("is of rank 5 in a world of 2"));
  CHECK_THAT(problems({R"({"traceEvents": [{"ph": "X", "cat": "kernel", "name": "k", "ts": 1}]})"}),
             Contains("event 0 \"k\" has no ts and dur"));
  CHECK_THAT(problems({R"([{"ph": "X", "cat": "kernel", "name": "k", "ts": 1e17, "dur": 1}])"}), Contains("event 0"));
  CHECK_THAT(problems({KinetoText().kernel("a", 0, 1).kernel("b", 9.3e12, 1).str()}), Contains("106 days"));
  CHECK_THAT(
      problems({KinetoText(0, 1).kernel("ncclKernel_AllReduce", 1, 1).str()}),
      Contains("kernels of NCCL without notes of c10d: event 1 \"ncclKernel_AllReduce\"") && Contains("PyTorch 2.2"));
  CHECK_THAT(with("coalesced", notes(1, 1, "[0]", 1)), Contains("unknown collective \"coalesced\""));
  CHECK_THAT(with("allreduce", R"("Group size": 1, "dtype": "Float")"),
             Contains("no \"In msg nelems\" on a allreduce"));
  CHECK_THAT(with("allreduce", notes(1, 1, "[0]", 1, "0", "", "Quux")), Contains("unknown type, \"Quux\""));
  CHECK_THAT(with("allreduce", notes(INT64_MAX, 1, "[0]", 1)), Contains("a message beyond"));
  CHECK_THAT(with("allreduce", notes(1, 1, "[0, 1]", 2)), Contains("of 2 ranks in a world of 1"));
  CHECK_THAT(with("allreduce", notes(1, 1, "[0, 1]", -1)), Contains("has ranks 0-1, but the world is 1 ranks"));
  CHECK_THAT(with("allreduce", notes(1, 1, "[0, 1, ..., 4294967294]", 2147483647)), Contains("in a world of 1"));
  CHECK_THAT(with("send", notes(1, 1, "[0]", 1)), Contains("a send without \"Dst Rank\""));
  CHECK_THAT(with("send", notes(1, 1, "[0]", 1) + R"(, "Dst Rank": 0)"), Contains("a send to itself"));
  CHECK_THAT(with("recv", notes(1, 1, "[0]", 1) + R"(, "Src Rank": 7)"), Contains("peer 7 is not in the world"));
  CHECK_THAT(problems({KinetoText(0, 2).nccl("allreduce", 9, 1, notes(1, 1, "[1]", 1, "8", "x")).str(),
                       KinetoText(1, 2).kernel("a", 1, 1).str()}),
             Contains("process group \"8\" is rank 1, and rank 0 calls on it"));
}
