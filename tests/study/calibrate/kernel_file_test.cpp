// SPDX-License-Identifier: MIT
// Timed kernels are read from whatever table or measurement has them; what is wrong with a file is said, with its place
// and what would be right.
#include "study/calibrate/kernel_file.h"

#include <string>

#include <fmt/format.h>
#include <catch2/catch.hpp>

#include "study/calibrate/kernels.h"

using namespace orrery;
using namespace orrery::study;

namespace {

// 1,000 TFLOP/s in bf16, and nothing else.
std::optional<FlopRate> peak_in_bf16(Precision precision) {
  if (precision != Precision::kBf16) return std::nullopt;
  return FlopRate(1'000'000'000'000'000);
}

KernelFile read_kernels(const std::string& text) {
  Diagnostics diagnostics;
  return read_kernel_text(text, "kernels", peak_in_bf16, diagnostics);
}

std::string problem_of(const std::string& text) {
  try {
    read_kernels(text);
  } catch (const InputError& error) {
    return error.what();
  }
  return "none";
}

void expect(const std::string& text, const std::vector<std::string>& parts) {
  const std::string problem = problem_of(text);
  for (const std::string& part : parts) {
    INFO(problem);
    CHECK(problem.find(part) != std::string::npos);
  }
}

// A measurement with these kernels.
std::string measurement(const std::string& kernels, const std::string& rest = "") {
  return "{\n\"schema\": \"orrery.measurement/1\",\n\"kernels\": [\n" + kernels + "]" + rest + "\n}\n";
}

}  // namespace

TEST_CASE("a table of products says its layouts, formats and sums") {
  const KernelFile file = read_kernels(
      "dtype,batch,m,n,k,layout,accumulate,out_dtype,latency_us,share_of_peak\n"
      "bf16,1,4096,1536,5120,TN,False,bf16,262.152,0.7877\n"
      "torch.float16,2,4096,24576,1536,NN,False,bf16,1421.757,0.6971\n"
      "fp8_e4m3,1,1536,5120,4096,NT,True,fp32,330.5,0.6245\n");
  REQUIRE(file.timings.size() == 3);
  const KernelTiming& forward = file.timings[0];
  CHECK(forward.kind == TimedKind::kProduct);
  CHECK(forward.stage == TimedStage::kForward);
  CHECK(forward.m == 4096);
  CHECK(forward.n == 1536);
  CHECK(forward.k == 5120);
  CHECK(forward.seconds == Approx(262.152e-6));
  CHECK(forward.where.line == 2);
  CHECK(file.timings[1].stage == TimedStage::kInputGradient);
  CHECK(file.timings[1].precision == Precision::kFp16);
  CHECK(file.timings[1].batch == 2);
  const KernelTiming& gradient = file.timings[2];
  CHECK(gradient.stage == TimedStage::kWeightGradient);
  CHECK(gradient.precision == Precision::kFp8);
  CHECK(gradient.accumulates);
  CHECK(gradient.result == Bytes(8));  // fp32, read and written
  CHECK(group_of(gradient) == "fp8 product, weight gradient");
  CHECK(label_of(file.timings[1]) == "2 of 4096 x 24576 x 1536");
}

TEST_CASE("a table of experts has the sizes of the forward product") {
  const KernelFile file = read_kernels(
      "groups,m_per_group,n,k,dtype,main_grad_dtype,stage,accumulate,latency_us\n"
      "40,616,3072,5120,bf16,fp32,fwd,False,3934.969\n"
      "40,616,3072,5120,bf16,fp32,bwd_grad_act,False,3658.263\n"
      "40,616,3072,5120,bf16,fp32,bwd_grad_w,True,4780.428\n");
  REQUIRE(file.timings.size() == 3);
  const auto sizes = [&](std::size_t i) {
    const KernelTiming& timing = file.timings[i];
    return fmt::format("{} of {} x {} x {}, {} B", timing.groups, timing.m, timing.n, timing.k, timing.result.count());
  };
  CHECK(sizes(0) == "40 of 616 x 3072 x 5120, 0 B");
  CHECK(sizes(1) == "40 of 616 x 5120 x 3072, 0 B");  // dX = dY * W^T: k sums over n
  CHECK(sizes(2) == "40 of 5120 x 3072 x 616, 8 B");  // dW = X^T * dY: k sums over rows
}

TEST_CASE("shares of a peak are times where the peak is known") {
  const std::string text =
      "pass,batch,seq,heads,kv_heads,qk_head_dim,v_head_dim,qkv_contiguous,share_of_peak\n"
      "fwd,1,4096,32,8,128,128,True,0.5\n"
      "bwd,1,4096,32,8,128,128,True,0.5\n";
  Diagnostics diagnostics;
  const KernelFile file = read_kernel_text(text, "attention.csv", peak_in_bf16, diagnostics);
  REQUIRE(file.timings.size() == 2);
  // 32 heads x 4096^2 pairs x 4 x 128 FLOPs = 274,877,906,944, of 500 TFLOP/s; 2.5 times as many backward.
  CHECK(file.timings[0].seconds == Approx(549.755813888e-6));
  CHECK(file.timings[1].seconds == Approx(2.5 * 549.755813888e-6));
  CHECK(file.timings[1].stage == TimedStage::kBackward);
  CHECK(file.timings[0].kv_heads == 8);
  REQUIRE(diagnostics.problems().size() == 1);
  CHECK(diagnostics.problems()[0].message == "it has shares of the peak in place of times; taken of 1 PFLOPS");
  expect("m,n,k,dtype,share_of_peak\n1,1,1,fp8,0.5\n",
         {"kernels:2:11: error: a share of the peak is no time", "add a column latency_us"});
}

TEST_CASE("names of columns and units are those that programs write") {
  const KernelFile file = read_kernels(
      "M,N,K,data type,Time (ms),iterations\n"
      "1024,2048,4096,float32,1.5,20\n");
  REQUIRE(file.timings.size() == 1);
  CHECK(file.timings[0].seconds == Approx(1.5e-3));
  CHECK(file.timings[0].precision == Precision::kFp32);
  CHECK(file.timings[0].count == 20);
  // 2 x 1024^3 FLOPs at 1 TFLOP/s.
  CHECK(read_kernels("m,n,k,tflops\n1024,1024,1024,1\n").timings[0].seconds == Approx(2.147483648e-3));
  // 1 GB at 500 GB/s.
  CHECK(read_kernels("bytes,gb_s\n1000000000,500\n").timings[0].seconds == Approx(2e-3));
}

TEST_CASE("a measurement has kernels, launches, collectives and what was skipped") {
  const std::string text = measurement(
      "{\"kind\": \"product\", \"stage\": \"weight_gradient\", \"precision\": \"bf16\", \"m\": 64, \"n\": 32, \"k\": "
      "16,\n"
      " \"accumulates\": true, \"result\": \"fp32\", \"seconds\": 1e-05, \"count\": 20},\n"
      "{\"kind\": \"grouped\", \"groups\": 8, \"m\": 512, \"n\": 1024, \"k\": 2048, \"seconds\": 0.0001},\n"
      "{\"kind\": \"memory\", \"bytes\": 1048576, \"seconds\": 2.5e-06, \"beside_copy\": true}\n",
      ",\n\"device\": {\"name\": \"NVIDIA H100 80GB HBM3\", \"memory_bytes\": 85000000000},"
      "\n\"software\": {\"torch\": \"2.6.0\"},"
      "\n\"host\": [{\"kind\": \"launch\", \"graph\": true, \"seconds\": 1e-06}],"
      "\n\"collectives\": [{\"op\": \"all_reduce\", \"bytes\": 1024, \"ranks\": 8, \"nodes\": 1, \"seconds\": 2e-05}],"
      "\n\"skipped\": [{\"what\": \"product fp8\", \"reason\": \"not supported\"}]");
  Diagnostics diagnostics;
  const KernelFile file = read_kernel_text(text, "m.json", {}, diagnostics);
  REQUIRE(file.timings.size() == 4);
  CHECK(file.device == "NVIDIA H100 80GB HBM3");
  CHECK(file.memory == Bytes(85'000'000'000));
  CHECK(file.timings[0].result == Bytes(8));
  CHECK(file.timings[0].count == 20);
  CHECK(file.timings[0].where.line == 4);
  CHECK(file.timings[1].kind == TimedKind::kGrouped);
  CHECK(file.timings[1].m == 512);
  CHECK(file.timings[2].beside_copy);
  CHECK(file.timings[2].bytes == 1048576);
  CHECK(file.timings[3].graph);
  REQUIRE(file.collectives.size() == 1);
  CHECK(file.collectives[0].operation == "all_reduce");
  CHECK(file.collectives[0].ranks == 8);
  CHECK(file.skipped == std::vector<std::string>{"product fp8: not supported"});
  CHECK(diagnostics.problems().empty());
  CHECK(is_kernel_file(text));
  CHECK(read_kernels("[{\"m\": 64, \"n\": 32, \"k\": 16, \"latency_us\": 7}]").timings[0].seconds == Approx(7e-6));
}

TEST_CASE("files of other programs are none of kernels") {
  CHECK(is_kernel_file("# measured at night\ndtype,m,n,k,latency_us\n"));
  CHECK_FALSE(is_kernel_file("{\"schemaVersion\": 1, \"traceEvents\": []}"));
  CHECK_FALSE(is_kernel_file("#       size         count      type   redop    root     time   algbw   busbw #wrong\n"));
  CHECK_FALSE(is_kernel_file("operation,ranks,bytes,algbw\n"));
  CHECK_FALSE(is_kernel_file(""));
}

TEST_CASE("what is wrong with a table of kernels is said where it is") {
  expect("", {"kernels: error: the file has no lines"});
  expect("a,b\n1,2\n", {"kernels:1:1: error: the columns a,b are those of no kernels", "m, n, k of product"});
  expect("m,n,k\n1,2,3\n", {"kernels:1:1: error: no column is a time", "latency_us"});
  expect("m,n,k,latency_us\n", {"kernels:1: error: no rows", "cut off"});
  expect("m,n,k,latency_us\n1,2,3", {"kernels:2:1: error: 3 cells; expected 4", "ends within this line"});
  expect("m,n,k,latency_us\n0,2,3,4\n", {"kernels:2:1: error: m '0' is not a whole number from 1 to"});
  expect("m,n,k,latency_us\n1,2,3,-4\n", {"kernels:2:7: error: latency_us '-4' is not a number above 0"});
  expect("m,n,k,latency_us\n1,2,3,5 us\n", {"latency_us '5 us' is not a number above 0", "no unit behind them"});
  expect("m,n,k,seconds\n1,2,3,5000\n", {"seconds '5000' is not the time of a kernel", "at most an hour"});
  expect("m,n,k,latency_us\n67108864,67108864,67108864,4\n", {"error: a kernel of 6.04e+23 FLOPs"});
  expect("m,n,k,dtype,latency_us\n1,2,3,bf17,4\n", {"kernels:2:7: error: dtype 'bf17' is no format", "did you mean"});
  expect("m,n,k,layout,latency_us\n1,2,3,TT,4\n", {"layout 'TT' is no layout of operands", "tn, nn, nt"});
  expect("m,n,k,stage,latency_us\n1,2,3,bwd,4\n", {"stage 'bwd' is no stage of a product", "dgrad"});
  expect("m,n,k,acumulates,latency_us\n1,2,3,True,4\n", {"unknown column 'acumulates'", "did you mean 'accumulate"});
  expect("seq,heads,kv_heads,head_dim,latency_us\n4096,32,5,128,9\n",
         {"kv_heads '5' is not a divisor of the 32 heads"});
  expect("m,n,k,accumulate,latency_us\n1,2,3,maybe,4\n", {"accumulate 'maybe' is neither true nor false"});
}

TEST_CASE("what is wrong with a measurement is said where it is") {
  expect("{\"schema\": \"orrery.measurement/2\"}",
         {"schema 'orrery.measurement/2'; expected 'orrery.measurement/1'", "another version of scripts/measure"});
  expect("{\"kernels\": []}", {"no member \"schema\""});
  expect(measurement(""), {"neither kernels nor collectives were timed"});
  expect(measurement("{\"kind\": \"convolution\", \"seconds\": 1}"), {"kind 'convolution' is no kind of kernels"});
  expect(measurement("7"), {"a kernel is a plain value; expected an object"});
  expect(measurement("{\"kind\": \"product\", \"m\": 5, \"n\": 5, \"seconds\": 1}"),
         {"kernels:4:1: error: a kernel without 'k'"});
  expect(measurement("{\"m\": 5, \"n\": 5, \"k\": 5}"), {"kernels:4:1: error: the kernel has no time"});
  expect("{\n\"schema\": \"orrery.measurement/1\",\n\"kernels\": [{\"m\": 5, \"n\"",
         {"kernels:3: error: ", "the file ends within"});
  expect(measurement("", ",\"collectives\": [{\"op\": \"all_reduce\", \"bytes\": 8, \"seconds\": 1}]"),
         {"a collective without 'ranks'"});
}

TEST_CASE("two columns of one quantity are told, and the first counts") {
  Diagnostics diagnostics;
  const KernelFile file =
      read_kernel_text("m,n,k,latency_us,time_ms\n4096,4096,4096,600,1.2\n", "kernels", peak_in_bf16, diagnostics);
  REQUIRE(diagnostics.problems().size() == 1);
  CHECK(diagnostics.problems().front().message ==
        "the columns 'latency_us' and 'time_ms' say the same of a kernel: the first counts");
  CHECK(file.timings.front().seconds == Approx(600e-6));
}

TEST_CASE("a measurement with the mark of UTF-8 is read") {
  const std::string text =
      "\xEF\xBB\xBF" + measurement(R"({"kind": "product", "m": 64, "n": 64, "k": 64, "seconds": 1e-5})");
  CHECK(is_kernel_file(text));
  CHECK(read_kernels(text).timings.size() == 1);
}
