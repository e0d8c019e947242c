// SPDX-License-Identifier: MIT
#include "workload/training/spec/model.h"

#include <algorithm>
#include <catch2/catch.hpp>

#include "tests/workload/training/training_files.h"

using namespace orrery;
using namespace orrery::workload;
using namespace orrery::testing;
using Catch::Matchers::Contains;

namespace {

ModelSpec read(std::string_view text) {
  ModelSpec model;
  const std::string problems = problems_of(text, [&](Section& s) { model = read_model(s); });
  INFO(problems);
  CHECK(problems.empty());
  return model;
}

std::string problems(std::string_view text) {
  return problems_of(text, [](Section& s) { read_model(s); });
}

// A model of one layer with `more` keys.
std::string small(std::string_view more) {
  return "hidden: 8\nlayers: 2\nheads: 4\nvocab: 10\nsequence: 6\n" + std::string(more);
}

std::int64_t count(std::string_view more) { return parameter_count(read(small(more))); }

}  // namespace

TEST_CASE("a transformer's sizes have the defaults of GPT") {
  const ModelSpec read_one = read(small("name: tiny\n"));
  CHECK(read_one.name == "tiny");
  const auto& model = std::get<TransformerSpec>(read_one.sizes);
  CHECK(model.kv_heads == 4);
  CHECK(model.head_size == 2);
  CHECK(model.ffn_hidden == 32);
  CHECK(model.position == PositionKind::kLearned);
  CHECK(model.tied_embeddings);
  CHECK(model.biases);
  CHECK(model.causal);
  CHECK_FALSE(model.gated_mlp);
  CHECK_FALSE(model.attention.has_value());
  CHECK_FALSE(model.has_experts(0));
  CHECK(std::get<TransformerSpec>(read(small("attention: plain")).sizes).attention == AttentionKind::kPlain);
}

// Embedding 10*8, positions 6*8, final norm 2*8; a layer: attention 8*24+24 + 8*8+8, MLP 8*32+32 + 32*8+8, norms 32.
TEST_CASE("parameters are counted matrix by matrix") {
  constexpr std::int64_t kEnds = 80 + 48 + 16;
  constexpr std::int64_t kAttention = 216 + 72;
  constexpr std::int64_t kMlp = 288 + 264;
  CHECK(count("") == kEnds + 2 * (kAttention + kMlp + 32));
  CHECK(count("tied_embeddings: false") == count("") + 80);
  CHECK(count("position: rotary") == count("") - 48);
  CHECK(count("embedding_norm: true") == count("") + 16);
  // Keys and values of two heads less, with their biases.
  CHECK(count("kv_heads: 2") == count("") - 2 * 2 * (8 * 4 + 4));
  CHECK(count("gated_mlp: true") == count("") + 2 * 288);
  // 24+8 of attention, 32+8 of the MLP, 16 of norms in each layer and 8 of the last norm.
  CHECK(count("biases: false") == count("") - 2 * (32 + 40 + 16) - 8);
  // The second layer alone has a router of 8*3 and 3+1 experts of 8*5+5 + 5*8+8.
  CHECK(count("experts: 3\nexperts_per_token: 1\nexpert_hidden: 5\nshared_experts: 1\ndense_layers: 1") ==
        count("") - kMlp + 24 + 4 * 93);
}

// Queries 8*3+3 + 3*4*(2+1), keys and values 8*(5+1)+5 + 5*4*(2+4), output 4*4*8.
TEST_CASE("latent attention has small matrices with norms between them") {
  constexpr std::string_view kLatent =
      "position: rotary\nlatent_attention: {query_rank: 3, key_value_rank: 5, head: 2, rotary_head: 1, value_head: 4}";
  constexpr std::int64_t kLatentAttention = 27 + 36 + 53 + 120 + 128;
  CHECK(count(kLatent) == count("position: rotary") + 2 * (kLatentAttention - 288));
}

TEST_CASE("a recommendation model is its tables and its layers") {
  // 3*100*4; 5*6+6 + 6*4+4; the top takes 4 + 4*3/2 values: 10*7+7 + 7*1+1.
  CHECK(parameter_count(read("kind: dlrm\ntables: 3\nrows: 100\ndimension: 4\ndense_features: 5\nbottom: [6, 4]\n"
                             "top: [7, 1]\n")) == 1200 + 36 + 28 + 77 + 8);
}

TEST_CASE("a convolution has a kernel for each pair of channels, and its batch norm") {
  CHECK(parameter_count(read("kind: convolutional\nfeatures: 20\nclasses: 10\nconvolutions:\n"
                             "- {inputs: 3, outputs: 4, kernel: 5, size: 8}\n"
                             "- {inputs: 4, outputs: 4, size: 8, repeat: 2}\n")) ==
        3 * 4 * 25 + 8 + 2 * (16 + 8) + 210);
}

TEST_CASE("impossible combinations of sizes are reported together, with what would work") {
  const std::string text = problems(
      "hidden: 100\nlayers: 4\nheads: 12\nkv_heads: 5\nvocab: 10\nsequence: 6\nexperts: 4\nexperts_per_token: 6\n"
      "dense_layers: 4\n");
  CHECK_THAT(text, Contains("x.yaml:3:8: error: hidden 100 is not a multiple of 12 heads\n"
                            "  hint: 10 or 20 heads, or give head_size"));
  CHECK_THAT(text, Contains("x.yaml:4:11: error: 12 heads cannot share 5 kv_heads evenly\n"
                            "  hint: kv_heads divides heads: 4 or 6"));
  CHECK_THAT(text, Contains("x.yaml:8:20: error: 6 experts per token, but a layer has 4"));
  CHECK_THAT(text, Contains("x.yaml:9:15: error: all 4 layers are dense"));
}

TEST_CASE("keys that contradict one another are refused") {
  CHECK_THAT(problems(small("shared_experts: 1")), Contains("'shared_experts' has no meaning without experts"));
  CHECK_THAT(problems(small("experts: 4")), Contains("no expert is used"));
  const std::string latent = "latent_attention: {key_value_rank: 4, head: 2, rotary_head: 1, value_head: 2}\n";
  CHECK_THAT(problems(small(latent)), Contains("rotary_head has no meaning without a rotary position"));
  CHECK_THAT(problems(small("position: rotary\nkv_heads: 2\n" + latent)), Contains("a key and a value for every head"));
  CHECK_THAT(problems(small("position: rotary\nhead_size: 2\n" + latent)), Contains("has sizes of its own"));
  CHECK_THAT(problems(small("position: rotary\n"
                            "latent_attention: {key_value_rank: 4, head: 2, value_head: 2}\n")),
             Contains("no rotary values in the keys"));
  CHECK_THAT(problems("kind: dlrm\ntables: 3\nrows: 9\ndimension: 4\ndense_features: 5\nbottom: [6, 5]\ntop: [1]\n"),
             Contains("x.yaml:6:9: error: the last layer has 5 values, a row of the tables 4"));
  CHECK_THAT(problems("kind: convolutional\nfeatures: 2\nclasses: 1\nconvolutions:\n"
                      "- {inputs: 3, outputs: 4, size: 8, repeat: 2}\n"),
             Contains("a convolution of 3 to 4 channels cannot follow itself"));
  CHECK_THAT(problems("kind: convolutional\nfeatures: 2\nclasses: 1\nconvolutions:\n"
                      "- {inputs: 3, outputs: 4, size: 8, pool: 9}\n"),
             Contains("x.yaml:5:42: error: 9 by 9 pixels of an output of 8 by 8"));
  CHECK_THAT(problems(small("predictions: 9")), Contains("9 predictions in a sequence of 6 tokens"));
}

TEST_CASE("what is missing or misspelt is named") {
  CHECK_THAT(problems("layers: 2\nheads: 4\nvocab: 10\nsequence: 6\n"), Contains("'hidden' is missing"));
  CHECK_THAT(problems(small("positon: rotary")), Contains("unknown key 'positon'") && Contains("position"));
  CHECK_THAT(problems(small("kind: transformers")),
             Contains("unknown value 'transformers'") && Contains("transformer"));
  CHECK_THAT(problems(small("attention: flahs")), Contains("did you mean 'flash'?"));
  // A list of eleven makes more layers than a network may have.
  std::string deep = "kind: convolutional\nfeatures: 2\nclasses: 1\nconvolutions:\n";
  for (int i = 0; i < 11; ++i) deep += "- {inputs: 4, outputs: 4, size: 8, repeat: 10000}\n";
  CHECK_THAT(problems(deep), Contains("110000 convolutions, repeated ones included; at most 100000"));
  CHECK_THAT(problems("kind: convolutional\nfeatures: 2\nclasses: 1\n"), Contains("'convolutions' must be a list"));
  CHECK_THAT(problems("kind: dlrm\ntables: 3\nrows: 9\ndimension: 4\ndense_features: 5\nbottom: [6, x]\ntop: []\n"),
             Contains("x.yaml:6:13: error: an element of 'bottom' is 'x'") && Contains("'top' must be a list"));
}

TEST_CASE("sizes whose products would not fit are refused") {
  CHECK_THAT(problems(small("ffn_hidden: 4194305")), Contains("out of range"));
  CHECK_THAT(problems("hidden: 1048576\nlayers: 100000\nheads: 64\nvocab: 16777216\nsequence: 1\n"),
             Contains("parameters\n  hint: at most 10^15"));
  CHECK_THAT(problems("hidden: 16384\nlayers: 1\nheads: 64\nvocab: 10\nsequence: 67108864\n"),
             Contains("x.yaml:5:11: error: one sequence takes 1.0e+21 FLOPs"));
  CHECK_THAT(problems("kind: dlrm\ntables: 4000\nrows: 1000000000000\ndimension: 4\ndense_features: 5\nbottom: [4]\n"
                      "top: [1]\n"),
             Contains("1.6e+16 parameters"));
  CHECK_THAT(problems("kind: dlrm\ntables: 4000\nrows: 10\nlookups: 65536\ndimension: 128\ndense_features: 5\n"
                      "bottom: [128]\ntop: [1]\n"),
             Contains("more than 2^32 values"));
  CHECK_THAT(problems("kind: convolutional\nfeatures: 2\nclasses: 1\nconvolutions:\n"
                      "- {inputs: 1000, outputs: 1000, size: 60000}\n"),
             Contains("one image takes 2.2e+16 FLOPs"));
  // At the bounds themselves nothing is wrong: a million tokens of the largest Llama.
  CHECK(problems("hidden: 16384\nlayers: 126\nheads: 128\nkv_heads: 8\nvocab: 128256\nsequence: 1048576\n").empty());
}

TEST_CASE("the keys of all kinds of models are described") {
  const std::vector<KeyDescription> keys = list_keys(ConfigFiles("no-such-folder"), [](Section& s) { read_model(s); });
  const auto described = [&](std::string_view path) {
    return std::ranges::any_of(keys, [&](const KeyDescription& key) { return key.path == path; });
  };
  for (const char* path : {"hidden", "latent_attention.value_head", "tables", "top", "convolutions[].kernel"})
    CHECK(described(path));
}
