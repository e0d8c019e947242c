// SPDX-License-Identifier: MIT
// Measured times of operators as tables: CSV of layers, what its columns are, and the shipped files.
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "study/validate/compute/layers.h"
#include "study/validate/compute/table.h"
#include "system/devices/kernel_table.h"
#include "tests/shipped_files.h"

using namespace orrery;
using namespace orrery::study;
using namespace orrery::workload;
using namespace std::chrono_literals;

namespace {

const std::string kHeading =
    "gpu,model,n_head,n_kv_head,hidden,ffn_hidden,vocab,gated_mlp,num_tokens,tp,mlp_up_proj_us\n";

struct Reading {
  std::vector<LayerSample> samples;
  std::vector<std::string> problems;
};

Reading read(const std::string& text) {
  Diagnostics diagnostics;
  Reading reading{read_layer_csv(text, "ops.csv", diagnostics), {}};
  for (const Problem& problem : diagnostics.problems()) reading.problems.push_back(to_string(problem));
  return reading;
}

bool begins(const Reading& reading, std::string_view what) {
  INFO((reading.problems.empty() ? "no problem" : reading.problems[0]));
  CHECK(reading.samples.empty());
  return !reading.problems.empty() && reading.problems[0].starts_with(what);
}

std::string text_of(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

// 8 heads of 128 with 2 heads of keys and values, on 4 ranks.
LayerSample sample() {
  LayerSample sample;
  sample.heads = 8;
  sample.key_value_heads = 2;
  sample.hidden = 1024;
  sample.feed_forward = 3000;
  sample.tokens = 10;
  sample.tensor_parallel = 4;
  return sample;
}

Gemm product(LayerColumn column, const LayerSample& of) {
  return std::get<Gemm>(layer_operator(of, column, Precision::kFp16));
}

std::string table_file(const std::string& text) {
  const std::string path = ORRERY_BINARY_DIR "/compute_table_test.yaml";
  std::ofstream(path) << text;
  return path;
}

std::vector<std::string> problems_of_table(const std::string& text) {
  Diagnostics diagnostics;
  load_table<ComputeTable>(table_file(text), {}, kFiles, diagnostics);
  std::vector<std::string> messages;
  for (const Problem& problem : diagnostics.problems())
    messages.push_back(std::to_string(problem.where.line) + ": " + problem.message);
  return messages;
}

ComputeQuestion question_of(const std::string& text) {
  const std::string path = ORRERY_BINARY_DIR "/compute_table_test.csv";
  std::ofstream(path) << text;
  return {path, {}, {}};
}

std::string problem_of(const ComputeQuestion& question) {
  try {
    compute_tables_of(question, list_tables<ComputeTable>(kFiles), kFiles);
  } catch (const InputError& error) {
    return error.problems()[0].message;
  }
  return "none";
}

}  // namespace

TEST_CASE("a row of a CSV file is a model, tokens, ranks and times") {
  const Reading reading = read("# a comment\n" + kHeading + "a40, x/y ,8,2,1024,3000,50000,True,16,4,12.5\n\n" +
                               "a40,x/y,8,2,1024,3000,50000,False,32,4,\r\n");
  CHECK(reading.problems.empty());
  REQUIRE(reading.samples.size() == 2);
  const LayerSample& first = reading.samples[0];
  CHECK((first.line == 3 && first.gpu == "a40" && first.model == "x/y"));
  CHECK((first.heads == 8 && first.key_value_heads == 2 && first.hidden == 1024 && first.feed_forward == 3000));
  CHECK((first.gated && first.tokens == 16 && first.tensor_parallel == 4));
  CHECK(first.times[static_cast<std::size_t>(LayerColumn::kMlpUp)] == Duration(12'500'000));
  CHECK_FALSE(first.times[static_cast<std::size_t>(LayerColumn::kMlpDown)]);
  CHECK(reading.samples[1].line == 5);
  CHECK_FALSE(reading.samples[1].gated);
  CHECK_FALSE(reading.samples[1].times[static_cast<std::size_t>(LayerColumn::kMlpUp)]);
}

TEST_CASE("what is wrong in a CSV file of layers is said with line and column") {
  const auto row = [](const std::string& text) { return read(kHeading + text + "\n"); };
  CHECK(begins(read(""), "ops.csv: error: no table in it"));
  CHECK(begins(read(kHeading), "ops.csv:1: error: no rows under the names of the columns"));
  CHECK(begins(read("n_head,speed\n"), "ops.csv:1:8: error: column 'speed' is not known"));
  CHECK(begins(read("tp,tp\n"), "ops.csv:1:4: error: column 'tp' stands twice"));
  CHECK(begins(read("n_head,n_kv_head,hidden,ffn_hidden,gated_mlp,tp,add_us\n"),
               "ops.csv:1:1: error: column 'num_tokens' is missing"));
  CHECK(begins(read("n_head,n_kv_head,hidden,ffn_hidden,gated_mlp,num_tokens,tp\n"),
               "ops.csv:1:1: error: no column of times"));
  CHECK(begins(row("a40,m,8,2,1024,3000,1,True,16,4"), "ops.csv:2:31: error: 10 cells; expected 11"));
  CHECK(begins(row("a40,m,8,2,1024,3000,1,True,sixteen,4,1"),
               "ops.csv:2:28: error: num_tokens 'sixteen' is not a whole number from 1 to 67108864"));
  CHECK(begins(row("a40,m,8,2,1024,3000,1,True,0,4,1"), "ops.csv:2:28: error: num_tokens '0'"));
  CHECK(begins(row("a40,m,8,2,1024,3000,1,yes,16,4,1"), "ops.csv:2:23: error: gated_mlp 'yes' is neither"));
  CHECK(
      begins(row("a40,m,8,2,1024,3000,1,True,16,4,fast"), "ops.csv:2:33: error: mlp_up_proj_us 'fast' is not a time"));
  CHECK(begins(row("a40,m,8,2,1024,3000,1,True,16,4,-1"), "ops.csv:2:33: error: mlp_up_proj_us '-1' is not a time"));
  CHECK(begins(row("a40,m,8,2,1024,3000,1,True,16,4,0"), "ops.csv:2:33: error: mlp_up_proj_us '0' is not a time"));
  CHECK(begins(row("a40,m,8,2,1023,3000,1,True,16,4,1"),
               "ops.csv:2:11: error: hidden 1023 is not a multiple of 8 heads"));
  CHECK(begins(row("a40,m,8,2,1024,3000,1,True,16,3,1"), "ops.csv:2:31: error: 8 heads cannot be shared by 3 ranks"));
  CHECK(begins(row("a40,m,8,9,1024,3000,1,True,16,4,1"), "ops.csv:2:9: error: 9 heads of keys and values, but 8"));
}

TEST_CASE("the columns of products are the matrices of one rank") {
  LayerSample layer = sample();
  // Two heads of queries, and one of keys and values each although there are half as many as ranks.
  CHECK(product(LayerColumn::kAttentionPreProjection, layer) == Gemm{10, (2 + 2) * 128, 1024, 1, Precision::kFp16});
  CHECK(product(LayerColumn::kAttentionPostProjection, layer) == Gemm{10, 1024, 256, 1, Precision::kFp16});
  CHECK(product(LayerColumn::kMlpUp, layer) == Gemm{10, 750, 1024, 1, Precision::kFp16});
  CHECK(product(LayerColumn::kMlpDown, layer) == Gemm{10, 1024, 750, 1, Precision::kFp16});
  layer.gated = true;
  CHECK(product(LayerColumn::kMlpUp, layer) == Gemm{10, 1500, 1024, 1, Precision::kFp16});
  CHECK(product(LayerColumn::kMlpDown, layer) == Gemm{10, 1024, 750, 1, Precision::kFp16});
}

TEST_CASE("the other columns move their operands once") {
  LayerSample layer = sample();
  const auto numbers = [&](LayerColumn column) {
    const ElementWise op = std::get<ElementWise>(layer_operator(layer, column, Precision::kFp16));
    return op.bytes.count() / (2 * layer.tokens);
  };
  CHECK(numbers(LayerColumn::kEmbedding) == 2 * 1024);
  CHECK(numbers(LayerColumn::kInputNorm) == 2 * 1024);
  CHECK(numbers(LayerColumn::kPostAttentionNorm) == 2 * 1024);
  CHECK(numbers(LayerColumn::kRotary) == 2 * (2 + 1) * 128);
  CHECK(numbers(LayerColumn::kActivation) == 750 + 750);
  CHECK(numbers(LayerColumn::kAdd) == 3 * 1024);
  layer.gated = true;
  CHECK(numbers(LayerColumn::kActivation) == 2 * 750 + 750);
}

TEST_CASE("a table that contradicts itself is an error") {
  const std::string sound =
      "table: t\nsource: s\nmeasured: m\ndevice: a100-sxm-80gb\nprecision: fp16\nproducts:\n  - [8, 8, 8, 100]\n";
  CHECK(problems_of_table(sound).empty());
  const auto with = [&](const std::string& line) { return problems_of_table(sound + line + "\n"); };
  CHECK(with("fitted: [gem]") == std::vector<std::string>{"8: a device has no constant 'gem'"});
  CHECK(with("rows: 3") == std::vector<std::string>{"8: unknown key 'rows'"});
  const auto instead = [&](const std::string& from, const std::string& to) {
    std::string text = sound;
    return problems_of_table(text.replace(text.find(from), from.size(), to));
  };
  CHECK(instead("fp16", "fp8") == std::vector<std::string>{"5: device 'a100-sxm-80gb' has no peak for fp8"});
  CHECK(instead("[8, 8, 8, 100]", "[8, 8, 8]") ==
        std::vector<std::string>{"7: a product is four numbers: [m, n, k, TFLOP/s]"});
  CHECK(instead("[8, 8,", "[8, 0,") == std::vector<std::string>{"7: invalid side of a matrix '0'"});
  CHECK(instead("100]", "fast]") == std::vector<std::string>{"7: invalid rate 'fast'; expected TFLOP/s"});
  CHECK(instead("products:\n  - [8, 8, 8, 100]", "gpu: a100") ==
        std::vector<std::string>{"1: a table has neither layers nor products nor kernels"});
  CHECK(instead("products:\n  - [8, 8, 8, 100]", "layers: nowhere.csv").size() == 1);
}

TEST_CASE("a CSV file of one's own takes devices from its column gpu, or one that is named") {
  const std::vector<ComputeTable> shipped = list_tables<ComputeTable>(kFiles);
  const std::string rows = "h100,m,8,2,1024,3000,1,True,16,4,12\na40,m,8,2,1024,3000,1,True,16,4,13\n";
  ComputeQuestion question = question_of(kHeading + rows);
  const std::vector<ComputeTable> tables = compute_tables_of(question, shipped, kFiles);
  REQUIRE(tables.size() == 2);
  CHECK(
      (tables[0].device.name == "a40" && tables[0].layers.size() == 1 && tables[0].software->name == "vllm-2023-a40"));
  CHECK((tables[1].device.name == "h100-sxm" && tables[1].layers[0].line == 2));
  question.device = "h200-sxm";
  const std::vector<ComputeTable> all = compute_tables_of(question, shipped, kFiles);
  REQUIRE(all.size() == 1);
  CHECK((all[0].device.name == "h200-sxm" && all[0].layers.size() == 2 && !all[0].software));
  question.software = "vllm-2023";
  CHECK(compute_tables_of(question, shipped, kFiles)[0].rates().traffic[0] > 2);
  question.software = "vllm";
  CHECK(problem_of(question) == "no 'vllm' among the shipped software");
  CHECK(problem_of(question_of(kHeading + "a10,m,8,2,1024,3000,1,True,16,4,12\n")) == "gpu 'a10' is not known");
  CHECK(problem_of(question_of("n_head,n_kv_head,hidden,ffn_hidden,gated_mlp,num_tokens,tp,add_us\n8,2,1024,3000,"
                               "True,16,4,12\n")) == "no column 'gpu' says what was measured");
}

TEST_CASE("the shipped layers are those that were published") {
  const std::filesystem::path published = ORRERY_SOURCE_DIR "/../shared/data/compute/layer_ops_us.csv";
  if (!std::filesystem::exists(published)) {
    WARN("SKIPPED: no measurements beside the sources");
    return;
  }
  std::string text = text_of(published);
  std::erase(text, '\r');
  const std::string heading = text.substr(0, text.find('\n') + 1);
  for (const char* gpu : {"a100", "a40", "h100"}) {
    INFO(gpu);
    std::string expected = heading;
    std::istringstream again(text);
    for (std::string line; std::getline(again, line);)
      if (line.starts_with(std::string(gpu) + ",")) expected += line + "\n";
    std::string shipped = text_of(kFiles.shipped() / "validation/compute" / (std::string("layers-") + gpu + ".csv"));
    while (shipped.starts_with("#")) shipped.erase(0, shipped.find('\n') + 1);
    CHECK((shipped == expected));
  }
}

TEST_CASE("rows of kernels are products or attention, by their columns") {
  Diagnostics diagnostics;
  const auto products = system::read_kernel_csv(
      "# comment\ndtype,m,n,k,latency_us,tflops\nfp8_block,512,64,128,12.5,0\n", "k.csv", diagnostics);
  REQUIRE(products.size() == 1);
  Gemm expected{512, 64, 128, 1, Precision::kFp8};
  expected.scaling = Scaling::kBlock;
  CHECK(std::get<Gemm>(std::get<Operator>(products[0].what)) == expected);
  CHECK(products[0].kind == "gemm fp8-block");
  CHECK(products[0].measured == 12500ns);
  CHECK(products[0].where.line == 3);
  const auto attention = system::read_kernel_csv(
      "dtype,batch,isl,heads,kv_heads,head_dim,latency_us\nbfloat16,2,1024,8,2,64,10\nbfloat16,2,1024,8,0,64,10\n",
      "k.csv", diagnostics);
  REQUIRE(attention.size() == 2);
  FlashAttention four{16, 1024, 1024, 64, true, false, Precision::kBf16, 4};
  CHECK(std::get<FlashAttention>(std::get<Operator>(attention[0].what)) == four);
  four.group = 1;
  CHECK(std::get<FlashAttention>(std::get<Operator>(attention[1].what)) == four);
  CHECK_FALSE(diagnostics.has_errors());
}

TEST_CASE("rows of kernels of training say their stage") {
  Diagnostics diagnostics;
  const auto read = [&](const std::string& text) { return system::read_kernel_csv(text, "k.csv", diagnostics); };
  const auto products = read(
      "dtype,m,n,k,layout,accumulate,out_dtype,latency_us\n"
      "bf16,512,64,128,NN,False,bf16,1\nbf16,512,64,128,NT,True,fp32,1\n");
  REQUIRE(products.size() == 2);
  CHECK(products[0].kind == "gemm bf16 input gradient");
  Gemm weight{512, 64, 128};
  weight.stage = ProductStage::kWeightGradient;
  weight.result = Bytes(8);  // read and written
  CHECK(std::get<Gemm>(std::get<Operator>(products[1].what)) == weight);
  const auto grouped = read(
      "dtype,groups,m_per_group,n,k,stage,accumulate,main_grad_dtype,latency_us\n"
      "bf16,4,512,64,128,bwd_grad_act,False,fp32,1\nbf16,4,512,64,128,bwd_grad_w,True,bf16,1\n");
  REQUIRE(grouped.size() == 2);
  CHECK(grouped[0].kind == "grouped bf16 input gradient");
  Gemm input{512, 128, 64, 4};
  input.stage = ProductStage::kInputGradient;
  input.grouped = true;
  CHECK(std::get<Gemm>(std::get<Operator>(grouped[0].what)) == input);
  Gemm weights{128, 64, 512, 4};
  weights.stage = ProductStage::kWeightGradient;
  weights.grouped = true;
  weights.result = Bytes(4);
  CHECK(std::get<Gemm>(std::get<Operator>(grouped[1].what)) == weights);
  CHECK(grouped[1].rows == 512);
  // Heads of values that are smaller are padded.
  const auto attention = read(
      "dtype,pass,batch,isl,heads,kv_heads,head_dim,v_head_dim,latency_us\n"
      "bf16,bwd,1,4096,16,16,192,128,1\n");
  REQUIRE(attention.size() == 1);
  CHECK(attention[0].kind == "attention bf16 backward");
  CHECK(std::get<FlashAttention>(std::get<Operator>(attention[0].what)) ==
        FlashAttention{16, 4096, 4096, 192, true, true, Precision::kBf16, 1});
  CHECK_FALSE(diagnostics.has_errors());
}

TEST_CASE("wrong rows of kernels are named") {
  const std::pair<const char*, const char*> cases[] = {
      {"m,n,k\n1,2,3\n", "k.csv:1:1: error: the columns are those of no kind of kernels"},
      {"dtype,m,n,k,latency_us\n", "k.csv:1: error: no rows"},
      {"dtype,m,n,k,latency_us\nbf61,1,2,3,4\n", "k.csv:2:1: error: dtype 'bf61' is not known"},
      {"dtype,m,n,k,latency_us\nbf16,0,2,3,4\n", "k.csv:2:6: error: m '0' is not a whole number"},
      {"dtype,m,n,k,latency_us\nbf16,1,2,3,soon\n", "k.csv:2:12: error: latency_us 'soon' is not a time"},
      {"dtype,m,n,k,layout,latency_us\nbf16,1,2,3,TT,4\n", "k.csv:2:12: error: layout 'TT' is not known"},
      {"dtype,m,n,k,latency_us\nbf16,1,2,3\n", "k.csv:2:1: error: 4 cells; expected 5"},
      {"dtype,batch,isl,heads,kv_heads,head_dim,latency_us\nbf16,1,8,6,4,64,1\n",
       "k.csv:2:12: error: 6 heads of queries are not a multiple of 4"},
      {"dtype,kernel,tokens,hidden,inter,topk,experts,tp,ep,distribution,latency_us\nbf16,x,1,8,8,1,6,1,4,balanced,1\n",
       "k.csv:2:20: error: 4 ranks cannot share 6 experts"},
      {"dtype,kernel,tokens,hidden,inter,topk,experts,tp,ep,distribution,latency_us\nbf16,x,1,8,8,1,6,1,2,zipf,1\n",
       "k.csv:2:22: error: distribution 'zipf' is not known"},
  };
  for (const auto& [text, problem] : cases) {
    INFO(text);
    Diagnostics diagnostics;
    CHECK(system::read_kernel_csv(text, "k.csv", diagnostics).empty());
    REQUIRE_FALSE(diagnostics.problems().empty());
    INFO(to_string(diagnostics.problems()[0]));
    CHECK(to_string(diagnostics.problems()[0]).starts_with(problem));
  }
}

TEST_CASE("experts that are alike have the same rows; of a power law the busiest rank counts") {
  // 1024 tokens to 8 of 128 experts: 64 each, 16 experts a rank.
  CHECK(system::expert_rows(1024, 8, 128, 8, 0) == std::vector<double>(16, 64.0));
  // 2 tokens to 8 of 128: 16 choices, 2 a rank of 8.
  CHECK(system::expert_rows(2, 8, 128, 8, 0) == std::vector<double>(2, 1.0));
  const std::vector<double> all = system::expert_rows(1024, 2, 128, 1, 1.2);
  double sum = 0;
  for (const double row : all) sum += row;
  CHECK(sum == Approx(2048).epsilon(0.05));  // but for experts of less than half a row
  CHECK(all.front() > 10 * all.back());
  sum = 0;
  for (const double row : system::expert_rows(1024, 2, 128, 8, 1.2)) sum += row;
  CHECK(sum > 2048 / 8.0);
  // One of two experts has nearly all tokens, but none twice.
  for (const double row : system::expert_rows(1000, 2, 2, 2, 3)) CHECK(row <= 1000);
}
