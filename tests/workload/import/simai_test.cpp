// SPDX-License-Identifier: MIT
#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "core/error.h"
#include "tests/workload/import/graph_text.h"
#include "workload/import/format.h"
#include "workload/import/layers/layers.h"

using namespace orrery;
using namespace orrery::workload;
using Catch::Matchers::Contains;
using orrery::testing::graph_text;
using orrery::testing::members;

namespace {

using Lines = std::vector<std::string>;

Job import(const std::string& text, const LayersOptions& options = {}) {
  Diagnostics diagnostics;
  return import_layers("w.txt", text, TextDialect::kSimai, options, diagnostics);
}

std::string failure(const std::string& text, const LayersOptions& options = {}) {
  Diagnostics diagnostics;
  try {
    import_layers("w.txt", text, TextDialect::kSimai, options, diagnostics);
  } catch (const InputError& error) {
    return error.what();
  }
  return {};
}

const std::string kForm = "HYBRID_TRANSFORMER_FWD_IN_BCKWD ";
const std::string kNoCheckpoints = "checkpoints: 0 checkpoint_initiates: 0 ";

}  // namespace

TEST_CASE("SimAI's suffixes name the groups, sizes are of whole buffers") {
  const Job job = import(kForm + "model_parallel_NPU_group: 2 ep: 2 pp: 1 vpp: 1 ga: 1 all_gpus: 16 " + kNoCheckpoints +
                         "pp_comm: 0\n2\n"
                         "experts -1 1 ALLTOALL_EP 1000 1 ALLGATHER 1001 1 ALLGATHER_DP_EP 1002 0\n"
                         "dense -1 1 REDUCESCATTER 1003 1 BROADCAST 1004 1 REDUCESCATTER 1005 0\n");
  // 16 = 2 tensor x 8 data; of the 8, 2 neighbours share the experts and 4 have the same ones. An all-gather of 1001
  // bytes puts in ceil(1001 / 2), one of 1002 among four ceil(1002 / 4).
  CHECK(graph_text(job, 0) ==
        Lines{"0: experts forward, compute 1 ns",
              "1: experts forward all-to-all, all_to_all 1000 B on expert0, after 0",
              "2: dense forward, compute 1 ns, after 1",
              "3: dense forward reduce-scatter, reduce_scatter 1003 B on tensor0, after 2",
              "4: dense input gradient, compute 1 ns, after 3",
              "5: dense input gradient broadcast, broadcast 1004 B on tensor0, after 4",
              "6: dense weight gradient, compute 1 ns, after 5",
              "7: dense weight gradient reduce-scatter, reduce_scatter 1005 B on data0, after 6",
              "8: experts input gradient, compute 1 ns, after 6",
              "9: experts input gradient all-gather, all_gather 501 B on tensor0, after 8",
              "10: experts weight gradient, compute 1 ns, after 9",
              "11: experts weight gradient all-gather, all_gather 251 B on expert_data0, after 10"});
  CHECK(members(job, "tensor1") == std::vector<std::uint32_t>{2, 3});
  CHECK(members(job, "data1") == std::vector<std::uint32_t>{1, 3, 5, 7, 9, 11, 13, 15});
  CHECK(members(job, "expert1") == std::vector<std::uint32_t>{1, 3});
  CHECK(members(job, "expert2") == std::vector<std::uint32_t>{4, 6});
  CHECK(members(job, "expert_data1") == std::vector<std::uint32_t>{1, 5, 9, 13});
  CHECK(job.warnings.empty());
}

TEST_CASE("ZeRO 3 gathers parameters among the data-parallel ranks in every pass") {
  const std::string text = kForm + "model_parallel_NPU_group: 1 " + kNoCheckpoints +
                           "\n1\nlayer -1 10 ALLGATHER 400 20 ALLGATHER 400 1 REDUCESCATTER 800 0\n";
  CHECK(workload_format_of(text) == WorkloadFormat::kSimai);
  Diagnostics diagnostics;
  const Job job = import_layers("a.txt", text, TextDialect::kSimai, {4, {}, 1, true}, diagnostics);
  // Four ranks gather 400 bytes, 100 of each.
  CHECK(graph_text(job, 0)[1] == "1: layer forward all-gather, all_gather 100 B on data0, after 0");
  REQUIRE(diagnostics.problems().size() == 1);
  CHECK_THAT(to_string(diagnostics.problems()[0]),
             Contains("forward communication of layer layer taken among the data-parallel ranks, and 1 more"));
}

namespace {

// Two micro-batches of two layers between a prologue and an epilogue.
std::string two_micro_batches(const std::string& header) {
  return kForm + header +
         "\n6\n"
         "grad_gather -1 1 NONE 0 2 NONE 0 3 ALLGATHER 64 0\n"
         "embedding_layer -1 10 NONE 0 20 NONE 0 0 NONE 0 0\n"
         "mlp -1 11 NONE 0 21 NONE 0 0 NONE 0 0\n"
         "embedding_layer -1 10 NONE 0 20 NONE 0 0 NONE 0 0\n"
         "mlp -1 11 NONE 0 21 NONE 0 0 NONE 0 0\n"
         "cross_entropy -1 4 NONE 0 5 NONE 0 0 NONE 0 0\n";
}

}  // namespace

TEST_CASE("pipeline stages exchange messages for each micro-batch") {
  const Job job =
      import(two_micro_batches("model_parallel_NPU_group: 1 pp: 3 vpp: 1 ga: 2 all_gpus: 6 pp_comm: 4096.0"));
  // The middle stage: activations from rank 0, gradients from rank 4.
  CHECK(graph_text(job, 2) == Lines{"0: grad_gather forward, compute 1 ns",
                                    "1: micro-batch 0 receive activations, receive 4096 B from 0, after 0",
                                    "2: embedding_layer forward, compute 10 ns, after 1",
                                    "3: mlp forward, compute 11 ns, after 2",
                                    "4: micro-batch 0 send activations, send 4096 B to 4, after 3",
                                    "5: micro-batch 1 receive activations, receive 4096 B from 0, after 3",
                                    "6: embedding_layer forward, compute 10 ns, after 5",
                                    "7: mlp forward, compute 11 ns, after 6",
                                    "8: micro-batch 1 send activations, send 4096 B to 4, after 7",
                                    "9: cross_entropy forward, compute 4 ns, after 7",
                                    "10: cross_entropy input gradient, compute 5 ns, after 9",
                                    "11: micro-batch 1 receive gradients, receive 4096 B from 4, after 10",
                                    "12: mlp input gradient, compute 21 ns, after 11",
                                    "13: embedding_layer input gradient, compute 20 ns, after 12",
                                    "14: micro-batch 1 send gradients, send 4096 B to 0, after 13",
                                    "15: micro-batch 0 receive gradients, receive 4096 B from 4, after 13",
                                    "16: mlp input gradient, compute 21 ns, after 15",
                                    "17: embedding_layer input gradient, compute 20 ns, after 16",
                                    "18: micro-batch 0 send gradients, send 4096 B to 0, after 17",
                                    "19: grad_gather input gradient, compute 2 ns, after 17",
                                    "20: grad_gather weight gradient, compute 3 ns, after 19",
                                    "21: grad_gather weight gradient all-gather, all_gather 32 B on data1, after 20"});
  CHECK(job.graphs.size() == 3);
  CHECK(members(job, "data1") == std::vector<std::uint32_t>{2, 3});
  CHECK(job.ranks[0].peers == std::vector<RankId>{RankId(2)});
  CHECK(job.ranks[3].peers == std::vector<RankId>{RankId(5), RankId(1)});
  CHECK(job.ranks[5].peers == std::vector<RankId>{RankId(3)});
  CHECK(graph_text(job, 5)[1] == "1: micro-batch 0 receive activations, receive 4096 B from 3, after 0");
  CHECK(job.warnings.empty());
}

TEST_CASE("where micro-batches cannot be told apart the stages run alone, with a warning") {
  const auto warning = [](const std::string& header, const LayersOptions& options = {}) {
    const Job job = import(two_micro_batches("model_parallel_NPU_group: 1 " + header), options);
    CHECK(job.graphs.size() == 1);
    CHECK(job.graphs[0].transfers().empty());
    return job.warnings.size() == 1 ? to_string(job.warnings[0]) : std::string();
  };
  CHECK_THAT(warning("pp: 2 ga: 3 all_gpus: 4 pp_comm: 8"), Contains("2 layers are named embedding_layer, expected"));
  CHECK_THAT(warning("pp: 2 ga: 2 all_gpus: 4"), Contains("the first line has no pp_comm"));
  LayersOptions alone;
  alone.pipeline = false;
  CHECK_THAT(warning("pp: 2 ga: 2 all_gpus: 4 pp_comm: 8", alone), Contains("stages do not wait for one another"));
  const Job interleaved =
      import(two_micro_batches("model_parallel_NPU_group: 1 pp: 2 vpp: 4 ga: 2 all_gpus: 4 pp_comm 8"));
  REQUIRE(interleaved.warnings.size() == 1);
  CHECK_THAT(to_string(interleaved.warnings[0]), Contains("the interleaved schedule is not rebuilt"));
}

TEST_CASE("files without all_gpus need the number of ranks") {
  const std::string text =
      kForm + "model_parallel_NPU_group: 8 " + kNoCheckpoints + "\n1\nx -1 1 ALLREDUCE 8 1 NONE 0 1 NONE 0 1\n";
  CHECK_THAT(failure(text), Contains("w.txt:1:1: error: the first line has no all_gpus"));
  LayersOptions options;
  options.ranks = 16;
  CHECK(import(text, options).ranks.size() == 16);
  CHECK(import(text, options).communicators.size() == 3);
}

TEST_CASE("numbers of SimAI's header that do not go together are refused") {
  const auto of = [](const std::string& header) {
    return failure(header + "\n1\nx -1 1 ALLREDUCE_XP 8 1 NONE 0 1 NONE 0 1\n");
  };
  const auto layers = [](const std::string& header) {
    return failure(header + "\n1\nx -1 1 ALLREDUCE 8 1 NONE 0 1 NONE 0 1\n");
  };
  CHECK_THAT(of(kForm), Contains("communication 'ALLREDUCE_XP' is not known"));
  CHECK_THAT(layers("MICRO"), Contains("unknown SimAI parallelism MICRO"));
  CHECK_THAT(layers(kForm + "all_gpus: 4"), Contains("has no model_parallel_NPU_group"));
  CHECK_THAT(layers(kForm + "model_parallel_NPU_group: 3 all_gpus: 4"), Contains("4 ranks do not divide by 3"));
  CHECK_THAT(layers(kForm + "model_parallel_NPU_group: 2 ep: 3 all_gpus: 8"),
             Contains("4 data-parallel ranks do not divide into expert-parallel groups of 3"));
  CHECK_THAT(layers(kForm + "model_parallel_NPU_group: 2 pp: 2147483647 all_gpus: 2000000000"),
             Contains("2000000000 ranks, expected 1 .. 1048576"));
  CHECK_THAT(layers(kForm + "model_parallel_NPU_group: 2 all_gpus: 4 pp_comm: many"),
             Contains("'many' is not a size in bytes"));
  CHECK_THAT(layers(kForm + "model_parallel_NPU_group: 2 all_gpus: 4 gaa: 2"),
             Contains("is not a key of the first line"));
}

TEST_CASE("sizes that no message may have are refused with their line and column") {
  const std::string header = kForm + "model_parallel_NPU_group: 2 ep: 1 pp: 1 vpp: 1 ga: 1 all_gpus: 4 ";
  const auto gather = [&](const std::string& size) {
    return failure(header + "pp_comm: 0\n1\nx -1 1 ALLGATHER " + size + " 1 NONE 0 1 NONE 0 1\n");
  };
  CHECK(gather("1152921504606846976").empty());
  CHECK_THAT(gather("1152921504606846977"),
             Contains("w.txt:3:18: error: a message of 1152921504606846977 bytes, more than 1152921504606846976"));
  CHECK_THAT(gather("9223372036854775807"), Contains("w.txt:3:18: error: a message of 9223372036854775807 bytes"));
  CHECK_THAT(failure(header + "pp_comm: 9223372036854775807\n1\nx -1 1 ALLREDUCE 8 1 NONE 0 1 NONE 0 1\n"),
             Contains("w.txt:1:") && Contains("a message of 9223372036854775807 bytes"));
}
