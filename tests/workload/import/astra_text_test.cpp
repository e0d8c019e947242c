// SPDX-License-Identifier: MIT
#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "core/error.h"
#include "tests/workload/import/graph_text.h"
#include "workload/import/layers/layers.h"

using namespace orrery;
using namespace orrery::workload;
using Catch::Matchers::Contains;
using orrery::testing::graph_text;
using orrery::testing::members;

namespace {

using Lines = std::vector<std::string>;

LayersOptions options(std::uint32_t ranks, std::uint32_t iterations = 1) {
  LayersOptions result;
  result.ranks = ranks;
  result.iterations = iterations;
  return result;
}

Job import(const std::string& text, const LayersOptions& options) {
  Diagnostics diagnostics;
  return import_layers("w.txt", text, TextDialect::kAstra, options, diagnostics);
}

std::string failure(const std::string& text, const LayersOptions& options) {
  Diagnostics diagnostics;
  try {
    import_layers("w.txt", text, TextDialect::kAstra, options, diagnostics);
  } catch (const InputError& error) {
    return error.what();
  }
  return {};
}

// Two layers: forward 10 and 11, input gradients 20 and 21, weight gradients 30 and 31, updates 5 and 6 ns. All three
// passes communicate 100.., 200.., 300.. bytes.
std::string two_layers(const std::string& header) {
  return header +
         "\n2\n"
         "l0 -1 10 ALLREDUCE 100 20 ALLREDUCE 200 30 ALLREDUCE 300 5\n"
         "l1 -1 11 ALLGATHER 101 21 REDUCESCATTER 201 31 ALLREDUCE 301 6\n";
}

}  // namespace

TEST_CASE("DATA communicates weight gradients beside the backward pass") {
  Diagnostics diagnostics;
  const Job job = import_layers("w.txt", two_layers("DATA"), TextDialect::kAstra, options(4, 2), diagnostics);
  // The second iteration's forward pass waits for the update of each layer before it computes.
  CHECK(graph_text(job, 0) ==
        Lines{"0: l0 forward, compute 10 ns", "1: l1 forward, compute 11 ns, after 0",
              "2: l1 weight gradient, compute 31 ns, after 1",
              "3: l1 weight gradient all-reduce, all_reduce 301 B on data0, after 2",
              "4: l1 weight gradient update, compute 6 ns on stream 1, after 3",
              "5: l1 input gradient, compute 21 ns, after 2", "6: l0 weight gradient, compute 30 ns, after 5",
              "7: l0 weight gradient all-reduce, all_reduce 300 B on data0, after 6",
              "8: l0 weight gradient update, compute 5 ns on stream 1, after 7",
              "9: l0 forward, compute 10 ns, after 6 8", "10: l1 forward, compute 11 ns, after 4 9",
              "11: l1 weight gradient, compute 31 ns, after 10",
              "12: l1 weight gradient all-reduce, all_reduce 301 B on data0, after 11",
              "13: l1 weight gradient update, compute 6 ns on stream 1, after 12",
              "14: l1 input gradient, compute 21 ns, after 11", "15: l0 weight gradient, compute 30 ns, after 14",
              "16: l0 weight gradient all-reduce, all_reduce 300 B on data0, after 15",
              "17: l0 weight gradient update, compute 5 ns on stream 1, after 16"});
  CHECK(job.graphs.size() == 1);
  CHECK(job.communicators.size() == 2);
  CHECK(members(job, "data0") == std::vector<std::uint32_t>{0, 1, 2, 3});
  REQUIRE(job.warnings.size() == 1);
  CHECK_THAT(to_string(job.warnings[0]),
             Contains("w.txt:3:1: warning: forward communication of layer l0 left out, and 2 more: DATA does not"));
}

TEST_CASE("the example of the documentation becomes the graph that it shows") {
  CHECK(graph_text(import("DATA\n2\n"
                          "conv1  -1  13003 NONE 0  12864 NONE 0  32291 ALLREDUCE 37632  3229\n"
                          "fc     -1  16416 NONE 0  27708 NONE 0   9220 ALLREDUCE 8192000  922\n",
                          options(4)),
                   3) == Lines{"0: conv1 forward, compute 13003 ns", "1: fc forward, compute 16416 ns, after 0",
                               "2: fc weight gradient, compute 9.22 us, after 1",
                               "3: fc weight gradient all-reduce, all_reduce 8192000 B on data0, after 2",
                               "4: fc weight gradient update, compute 922 ns on stream 1, after 3",
                               "5: fc input gradient, compute 27708 ns, after 2",
                               "6: conv1 weight gradient, compute 32291 ns, after 5",
                               "7: conv1 weight gradient all-reduce, all_reduce 37632 B on data0, after 6",
                               "8: conv1 weight gradient update, compute 3229 ns on stream 1, after 7"});
}

TEST_CASE("MODEL waits for forward communication, overlaps that of input gradients, and has none of weights") {
  // Layer 0 needs no input gradients of others, so they are not communicated.
  CHECK(graph_text(import(two_layers("MODEL"), options(4)), 0) ==
        Lines{"0: l0 forward, compute 10 ns", "1: l0 forward all-reduce, all_reduce 100 B on tensor0, after 0",
              "2: l0 forward update, compute 5 ns on stream 3, after 1", "3: l1 forward, compute 11 ns, after 2",
              "4: l1 forward all-gather, all_gather 101 B on tensor0, after 3",
              "5: l1 forward update, compute 6 ns on stream 3, after 4", "6: l1 input gradient, compute 21 ns, after 5",
              "7: l1 input gradient reduce-scatter, reduce_scatter 201 B on tensor0, after 6",
              "8: l1 input gradient update, compute 6 ns on stream 2, after 7",
              "9: l1 weight gradient, compute 31 ns, after 6", "10: l0 input gradient, compute 20 ns, after 8 9",
              "11: l0 weight gradient, compute 30 ns, after 10"});
}

TEST_CASE("the groups that a hybrid names last are consecutive") {
  LayersOptions of_eight = options(8);
  of_eight.model_parallel = 2;
  const Job data_model = import(two_layers("HYBRID_DATA_MODEL"), of_eight);
  CHECK(members(data_model, "tensor1") == std::vector<std::uint32_t>{2, 3});
  CHECK(members(data_model, "data1") == std::vector<std::uint32_t>{1, 3, 5, 7});
  CHECK(graph_text(data_model, 6)[9] == "9: l1 weight gradient, compute 31 ns, after 6");
  CHECK(graph_text(data_model, 6)[10] == "10: l1 weight gradient all-reduce, all_reduce 301 B on data0, after 9");
  CHECK(graph_text(data_model, 6)[4] == "4: l1 forward all-gather, all_gather 101 B on tensor3, after 3");

  const Job model_data = import(two_layers("HYBRID_MODEL_DATA"), of_eight);
  CHECK(members(model_data, "tensor1") == std::vector<std::uint32_t>{1, 5});
  CHECK(members(model_data, "data1") == std::vector<std::uint32_t>{4, 5, 6, 7});
}

TEST_CASE("HYBRID_TRANSFORMER waits for the communication of input gradients") {
  const Job job = import(two_layers("HYBRID_TRANSFORMER model_parallel_NPU_group: 2"), options(4));
  const Lines lines = graph_text(job, 3);
  REQUIRE(lines.size() == 18);
  CHECK(Lines(lines.begin() + 6, lines.begin() + 13) ==
        Lines{"6: l1 input gradient, compute 21 ns, after 5",
              "7: l1 input gradient reduce-scatter, reduce_scatter 201 B on tensor1, after 6",
              "8: l1 input gradient update, compute 6 ns on stream 2, after 7",
              "9: l1 weight gradient, compute 31 ns, after 8",
              "10: l1 weight gradient all-reduce, all_reduce 301 B on data1, after 9",
              "11: l1 weight gradient update, compute 6 ns on stream 1, after 10",
              "12: l0 input gradient, compute 20 ns, after 9"});
  CHECK(job.warnings.empty());
}

TEST_CASE("a recomputation runs forward from the checkpoint up to the layer that starts it") {
  const std::string text =
      "HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 1 checkpoints: 2 0 1 checkpoint_initiates: 1 3\n4\n"
      "a -1 1 NONE 0 10 NONE 0 100 NONE 0 9\n"
      "b -1 2 NONE 0 20 NONE 0 200 NONE 0 9\n"
      "c -1 3 NONE 0 30 NONE 0 300 NONE 0 9\n"
      "d -1 4 NONE 0 40 NONE 0 400 NONE 0 9\n";
  CHECK(graph_text(import(text, options(2)), 1) ==
        Lines{"0: a forward, compute 1 ns", "1: b forward, compute 2 ns, after 0",
              "2: c forward, compute 3 ns, after 1", "3: d forward, compute 4 ns, after 2",
              "4: b recomputed forward, compute 2 ns, after 3", "5: c recomputed forward, compute 3 ns, after 4",
              "6: d input gradient, compute 40 ns, after 5", "7: d weight gradient, compute 400 ns, after 6",
              "8: c input gradient, compute 30 ns, after 7", "9: c weight gradient, compute 300 ns, after 8",
              "10: b input gradient, compute 20 ns, after 9", "11: b weight gradient, compute 200 ns, after 10",
              "12: a input gradient, compute 10 ns, after 11", "13: a weight gradient, compute 100 ns, after 12"});
}

TEST_CASE("HYBRID_DLRM exchanges embeddings beside the bottom layers") {
  const auto text = [](const std::string& header) {
    return header +
           "\n4\n"
           "table -1 1 ALLTOALL 64 10 ALLTOALL 65 100 NONE 0 0\n"
           "bottom -1 2 NONE 0 20 NONE 0 200 ALLREDUCE 66 0\n"
           "top -1 3 NONE 0 30 NONE 0 300 NONE 0 0\n"
           "last -1 4 NONE 0 40 NONE 0 400 NONE 0 0\n";
  };
  // The top layers wait for the embeddings; their gradients leave when the bottom layers get theirs. A second
  // iteration waits for them, but not in the enhanced form.
  const Lines expected = {"0: table forward, compute 1 ns",
                          "1: table forward all-to-all, all_to_all 64 B on tensor0, after 0",
                          "2: bottom forward, compute 2 ns, after 0",
                          "3: top forward, compute 3 ns, after 1 2",
                          "4: last forward, compute 4 ns, after 3",
                          "5: last weight gradient, compute 400 ns, after 4",
                          "6: last input gradient, compute 40 ns, after 5",
                          "7: top weight gradient, compute 300 ns, after 6",
                          "8: top input gradient, compute 30 ns, after 7",
                          "9: table input gradient all-to-all, all_to_all 65 B on tensor0, after 8",
                          "10: bottom weight gradient, compute 200 ns, after 8",
                          "11: bottom weight gradient all-reduce, all_reduce 66 B on data0, after 10",
                          "12: bottom input gradient, compute 20 ns, after 10",
                          "13: table weight gradient, compute 100 ns, after 12"};
  CHECK(graph_text(import(text("HYBRID_DLRM 1"), options(2)), 0) == expected);
  CHECK(graph_text(import(text("HYBRID_DLRM_ENHANCED DLRM_LAST_BOTTOM_LAYER: 1"), options(2)), 0) == expected);
  CHECK(graph_text(import(text("HYBRID_DLRM 1"), options(2, 2)), 0)[14] ==
        "14: table forward, compute 1 ns, after 9 13");
  CHECK(graph_text(import(text("HYBRID_DLRM_ENHANCED 1"), options(2, 2)), 0)[14] ==
        "14: table forward, compute 1 ns, after 13");
}

TEST_CASE("the layers of HYBRID_CUSTOMIZED have parallelisms of their own") {
  LayersOptions of_eight = options(8);
  of_eight.model_parallel = 2;
  const Job job = import(
      "HYBRID_CUSTOMIZED\n3\n"
      "a -1 1 ALLREDUCE 8 1 NONE 0 1 ALLREDUCE 8 0 HYBRID_DATA_MODEL\n"
      "b -1 1 ALLREDUCE 8 1 NONE 0 1 ALLREDUCE 8 0 HYBRID_MODEL_DATA\n"
      "c -1 1 NONE 0 1 NONE 0 1 ALLREDUCE 8 0 DATA\n",
      of_eight);
  // A second shape of a family says size and stride.
  CHECK(members(job, "tensor0") == std::vector<std::uint32_t>{0, 1});
  CHECK(members(job, "tensor_2x4_1") == std::vector<std::uint32_t>{1, 5});
  CHECK(members(job, "data0") == std::vector<std::uint32_t>{0, 2, 4, 6});
  CHECK(members(job, "data_4x1_1") == std::vector<std::uint32_t>{4, 5, 6, 7});
  CHECK(members(job, "data_8x1_0").size() == 8);
}

TEST_CASE("MICRO is the weight gradients of the first layer, all iterations at once") {
  CHECK(graph_text(import("MICRO\n1\nx -1 7 NONE 0 7 NONE 0 7 ALLTOALL 4096 3\n", options(4, 2)), 0) ==
        Lines{"0: x weight gradient all-to-all, all_to_all 4096 B on data0",
              "1: x weight gradient update, compute 3 ns on stream 1, after 0",
              "2: x weight gradient all-to-all, all_to_all 4096 B on data0",
              "3: x weight gradient update, compute 3 ns on stream 1, after 2"});
}

TEST_CASE("DISTRIBUTED_INFERENCE is the forward pass") {
  CHECK(graph_text(import("DISTRIBUTED_INFERENCE\n1\nx -1 7 ALLREDUCE 64 7 NONE 0 7 NONE 0 3\n", options(4, 2)), 0) ==
        Lines{"0: x forward, compute 7 ns", "1: x forward all-reduce, all_reduce 64 B on tensor0, after 0",
              "2: x forward update, compute 3 ns on stream 3, after 1", "3: x forward, compute 7 ns, after 2",
              "4: x forward all-reduce, all_reduce 64 B on tensor0, after 3",
              "5: x forward update, compute 3 ns on stream 3, after 4"});
}

TEST_CASE("what takes no time or has no bytes or one rank makes no node") {
  const std::string text = "DATA\n1\nx -1 0 NONE 0 0 NONE 0 5 ALLREDUCE 64 2\n";
  CHECK(graph_text(import(text, options(1)), 0) == Lines{"0: x weight gradient, compute 5 ns"});
  CHECK(graph_text(import("DATA\n1\nx -1 0 NONE 0 0 NONE 0 5 ALLREDUCE 0 2\n", options(4)), 0) ==
        Lines{"0: x weight gradient, compute 5 ns"});
}

TEST_CASE("communications among one rank that should be among several are left out with a warning") {
  const Job job = import(two_layers("HYBRID_TRANSFORMER model_parallel_NPU_group: 1"), options(4));
  REQUIRE(job.warnings.size() == 1);
  CHECK_THAT(
      to_string(job.warnings[0]),
      Contains("w.txt:3:1: warning: forward communication of layer l0 left out, and 3 more: it is among one rank"));
}

TEST_CASE("a workload that does nothing is refused") {
  CHECK_THAT(failure("DATA\n1\nx -1 0 NONE 0 0 NONE 0 0 ALLREDUCE 64 2\n", options(1)),
             Contains("w.txt:1:1: error: no layer takes time or communicates"));
}

TEST_CASE("calls that begin together share one join, so that edges stay few") {
  // Without computation, the second iteration waits for every layer's weights at once.
  std::string text = "DATA\n3000\n";
  for (int i = 0; i < 3000; ++i) text += "x -1 0 NONE 0 0 NONE 0 0 ALLREDUCE 64 0\n";
  const Job job = import(text, options(2, 3));
  // 3 x 3000 calls, and a join for each of the iterations 2 and 3: 3000 edges into it and 3000 out of it.
  CHECK(job.graphs[0].size() == 9002);
  CHECK(job.graphs[0].edge_count() == 12001);
}

TEST_CASE("Windows line ends, tabs, comments, blank lines and a byte-order mark are read over") {
  const Job plain = import("DATA\n1\nx -1 1 NONE 0 2 NONE 0 5 ALLREDUCE 64 2\n", options(2));
  const Job untidy = import(
      "\xEF\xBB\xBF# of our model\r\n\r\nDATA\t\t # kind\r\n  1\t\t\r\n\r\n"
      "x\t-1\t1\tNONE\t0\t2\tNONE\t0\t5\tALLREDUCE\t64\t2 \t\r\n \r\n# end",
      options(2));
  CHECK(graph_text(plain, 0) == graph_text(untidy, 0));
  CHECK(untidy.warnings.empty());
}

TEST_CASE("times may have fractions of a nanosecond") {
  CHECK(graph_text(import("DATA\n1\nx -1 1.5 NONE 0 2 NONE 0.0 5e3 NONE 0 2\n", options(2)), 0) ==
        Lines{"0: x forward, compute 1.5 ns", "1: x weight gradient, compute 5 us, after 0"});
}

TEST_CASE("lines behind the announced layers are left out with a warning") {
  const Job job = import("DATA\n1\nx -1 1 NONE 0 2 NONE 0 5 NONE 0 2\n\nsome notes\n", options(2));
  REQUIRE(job.warnings.size() == 1);
  CHECK_THAT(to_string(job.warnings[0]), Contains("w.txt:5:1: warning: left out") && Contains("line 2 announces 1"));
}

TEST_CASE("all problems of the layers are reported together") {
  const std::string report = failure(
      "DATA\n4\n"
      "a -1 -1 NONE 0 2 ALLREDUCEALLTOALL 0 5 NONE x 2\n"
      "b -1 1 NONE 0 2 NONE 0 5 NONE 0\n"
      "c - 1 NONE 0 99999999999999999999 NONE 0 5 ALREDUCE 1 2\n",
      options(2));
  CHECK_THAT(report, Contains("w.txt:3:6: error: '-1' is not a time in nanoseconds"));
  CHECK_THAT(report, Contains("w.txt:3:18: error: communication 'ALLREDUCEALLTOALL' is not known"));
  CHECK_THAT(report, Contains("w.txt:3:45: error: 'x' is not a size in bytes"));
  CHECK_THAT(report, Contains("w.txt:4:31: error: 11 fields, expected 12"));
  CHECK_THAT(report, Contains("w.txt:5:3: error: '-' is not a whole number"));
  CHECK_THAT(report, Contains("w.txt:5:14: error: '99999999999999999999' is not a time in nanoseconds"));
  CHECK_THAT(report, Contains("communication 'ALREDUCE' is not known") && Contains("did you mean 'ALLREDUCE'?"));
  CHECK_THAT(report, Contains("w.txt:2:1: error: 4 layers announced, 3 lines follow"));
}

TEST_CASE("what the first lines lack or have too much is said with its place") {
  const std::string layer = "x -1 1 NONE 0 2 NONE 0 5 ALLREDUCE 64 2\n";
  const auto of = [&](const std::string& header, std::optional<std::uint32_t> ranks = 8) {
    LayersOptions chosen;
    chosen.ranks = ranks;
    return failure(header + "\n1\n" + layer, chosen);
  };
  CHECK_THAT(of("DATA", std::nullopt), Contains("w.txt:1:1: error: the file does not say how many ranks there are"));
  CHECK_THAT(of("DATA", 0), Contains("0 ranks, expected 1 .. 1048576"));
  CHECK_THAT(of("DATTA"), Contains("w.txt:1:1: error: parallelism 'DATTA' is not known") && Contains("'DATA'?"));
  CHECK_THAT(of("HYBRID_DATA_MODEL"), Contains("does not say how many ranks make a model-parallel group"));
  CHECK_THAT(of("HYBRID_TRANSFORMER model_parallel_NPU_group: 3"),
             Contains("w.txt:1:46: error: 8 ranks do not divide into model-parallel groups of 3"));
  CHECK_THAT(of("HYBRID_TRANSFORMER model_parallel_NPU_group:"), Contains("has no number after it"));
  CHECK_THAT(of("HYBRID_TRANSFORMER model_parallel_NPU_group: 0"), Contains("'0' is not a whole number of at least 1"));
  CHECK_THAT(of("DATA model_parallel_NPU_group: 2"), Contains("means nothing with parallelism DATA"));
  CHECK_THAT(of("HYBRID_DLRM"), Contains("HYBRID_DLRM has no last bottom layer"));
  CHECK_THAT(of("HYBRID_DLRM 0"), Contains("layer 0 expected to be below 0"));
  CHECK_THAT(of("HYBRID_TRANSFORMER ga: 4"), Contains("w.txt:1:20: error: 'ga' is a key of SimAI"));
  CHECK_THAT(of("HYBRID_TRANSFORMER colour: 4"), Contains("'colour:' is not a key of the first line"));
  const std::string recompute = "HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 2 ";
  CHECK_THAT(of(recompute + "checkpoints: 1 0 checkpoint_initiates: 1 0"),
             Contains("layer 0 recomputes, but no checkpoint is before it"));
  CHECK_THAT(of(recompute + "checkpoints: 9 0"), Contains("'checkpoints:' announces 9 layers, 1 words follow"));
  CHECK_THAT(of(recompute + "checkpoints: 1 5"), Contains("layer 5 expected to be below 1"));
  CHECK_THAT(failure("", options(2)), Contains("the file is empty"));
  CHECK_THAT(failure("DATA\n", options(2)), Contains("the file ends after its first line"));
  CHECK_THAT(failure("DATA\nx\n", options(2)), Contains("w.txt:2:1: error: 'x' is not a number of layers"));
  LayersOptions other = options(8);
  other.model_parallel = 4;
  CHECK_THAT(failure("HYBRID_TRANSFORMER model_parallel_NPU_group: 2\n1\n" + layer, other),
             Contains("model-parallel groups of 2 ranks in the file, of 4 asked for"));
}

TEST_CASE("huge counts are refused before anything is allocated for them") {
  const std::string layer = "x -1 1 NONE 0 2 NONE 0 5 ALLREDUCE 64 2\n";
  CHECK_THAT(failure("DATA\n1000000000\n" + layer, options(2)),
             Contains("1000000000 layers announced, 1 lines follow"));
  CHECK_THAT(failure("DATA\n1\n" + layer, options(2, 4'000'000'000)), Contains("nodes on each rank"));
  CHECK_THAT(failure("DATA\n1\n" + layer, options(4'000'000'000)), Contains("4000000000 ranks, expected"));
}

TEST_CASE("after a hundred errors the rest is not read") {
  std::string text = "DATA\n100000\n";
  for (int i = 0; i < 100000; ++i) text += "x\n";
  Diagnostics diagnostics;
  CHECK_THROWS_AS(import_layers("w.txt", text, TextDialect::kAstra, options(2), diagnostics), InputError);
  CHECK(diagnostics.error_count() == 101);
}
