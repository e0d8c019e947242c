// SPDX-License-Identifier: MIT
#include "workload/training/layers/model_layers.h"

#include <algorithm>
#include <catch2/catch.hpp>

#include "tests/workload/training/layer_sums.h"

using namespace orrery;
using namespace orrery::workload;
using namespace orrery::testing;

namespace {

// Criteo's model of MLPerf, with two rows looked up per table.
const DlrmSpec kCriteo{26, 1000, 128, 2, 13, {512, 256, 128}, {1024, 1024, 512, 256, 1}};

// Multiplications per sample of the perceptrons: products of the widths on both sides.
constexpr std::int64_t kBottom = 13 * 512 + 512 * 256 + 256 * 128;
// The top takes 128 values and 27 * 26 / 2 = 351 dot products.
constexpr std::int64_t kTop = 479 * 1024 + 1024 * 1024 + 1024 * 512 + 512 * 256 + 256;

}  // namespace

// A rank has 26 * 128 / 8 = 416 columns, and a pooled vector of them for each of 8 * 1024 samples, two bytes a value.
TEST_CASE("pooled vectors are exchanged forward, and their gradients backward") {
  const std::vector<LayerProgram> layers = dlrm_layers(kCriteo, 1024, 8, Precision::kFp16);
  REQUIRE(layers.size() == 3);
  const Bytes expected(8 * 1024 * 416 * 2);
  for (const auto& actions : {layers[0].forward, layers[0].backward}) {
    const std::vector<Collective> exchanges = collectives(actions);
    REQUIRE(exchanges.size() == 1);
    CHECK(exchanges.front().kind == CollectiveKind::kAllToAll);
    CHECK(exchanges.front().family == GroupFamily::kWorld);
    CHECK(exchanges.front().bytes == expected);
  }
  for (std::size_t i = 1; i < layers.size(); ++i) {
    CHECK(collectives(layers[i].forward).empty());
    CHECK(collectives(layers[i].backward).empty());
  }
}

TEST_CASE("one rank has all the tables to itself") {
  const LayerProgram embedding = dlrm_layers(kCriteo, 1024, 1, Precision::kFp16).front();
  CHECK(collectives(embedding.forward).empty());
  CHECK(collectives(embedding.backward).empty());
}

// Two rows and one sum for each of 416 columns and 8192 samples; backward the sum's gradient, rows read and written.
TEST_CASE("a rank looks up its tables for the samples of all ranks") {
  const LayerProgram embedding = dlrm_layers(kCriteo, 1024, 8, Precision::kFp32).front();
  const std::int64_t values = 8192 * 416;
  CHECK(bytes_of(computes(embedding.forward).front().operators.front()) == Bytes(4 * 3 * values));
  CHECK(bytes_of(computes(embedding.backward).front().operators.front()) == Bytes(4 * 5 * values));
}

// Tables stay in fp32 where all else is in fp16: 2 rows of 4 bytes a value, sums and their gradients of 2.
TEST_CASE("tables have a precision of their own") {
  const LayerProgram embedding = dlrm_layers(kCriteo, 1024, 8, Precision::kFp16).front();
  const std::int64_t values = 8192 * 416;
  CHECK(bytes_of(computes(embedding.forward).front().operators.front()) == Bytes((2 * 4 + 2) * values));
  CHECK(bytes_of(computes(embedding.backward).front().operators.front()) == Bytes((4 * 4 + 2) * values));
  DlrmSpec half = kCriteo;
  half.table_precision = Precision::kFp16;
  CHECK(dlrm_table_bytes(half, 8) == Bytes(2 * 1000 * 416));
}

TEST_CASE("multiplications are those of the perceptrons and of the dot products") {
  const std::vector<LayerProgram> layers = dlrm_layers(kCriteo, 64, 8, Precision::kFp16);
  CHECK(flops(layers[0].forward) == Flops(0));
  CHECK(flops(layers[1].forward) == Flops(2 * 64 * kBottom));
  // 27 vectors of 128 values with one another.
  CHECK(flops(layers[2].forward) == Flops(2 * 64 * (27 * 27 * 128 + kTop)));
  // Backward twice that, but for the gradient of the dense features.
  CHECK(flops(layers[1].backward) == Flops(2 * 64 * (2 * kBottom - 13 * 512)));
  CHECK(flops(layers[2].backward) == Flops(2 * 2 * 64 * (27 * 27 * 128 + kTop)));
}

TEST_CASE("only dense parameters are exchanged, all of them") {
  const std::vector<LayerProgram> layers = dlrm_layers(kCriteo, 64, 8, Precision::kFp16);
  constexpr std::int64_t kBottomBiases = 512 + 256 + 128;
  constexpr std::int64_t kTopBiases = 1024 + 1024 + 512 + 256 + 1;
  CHECK(layers[0].parameters == ParameterCount{0, 0});
  CHECK(layers[1].parameters == ParameterCount{kBottom + kBottomBiases, 0});
  CHECK(layers[2].parameters == ParameterCount{kTop + kTopBiases, 0});
  for (const LayerProgram& layer : layers) CHECK(finished(layer.backward) == layer.parameters);
  const std::int64_t dense = layers[1].parameters.dense + layers[2].parameters.dense;
  CHECK(parameter_count(ModelSpec{"", kCriteo}) == dense + 26 * 1000 * 128);
}

// So the all-to-all of the tables' gradients, behind it, may run beside it.
TEST_CASE("nothing waits for the backward pass of the bottom but the exchange of gradients") {
  const std::vector<LayerProgram> layers = dlrm_layers(kCriteo, 64, 8, Precision::kFp16);
  CHECK(layers[1].name == "bottom");
  CHECK(std::ranges::all_of(computes(layers[1].backward), &Compute::weight_gradient));
  CHECK_FALSE(std::ranges::all_of(computes(layers[2].backward), &Compute::weight_gradient));
}

TEST_CASE("every rank has an equal share of the tables, split by columns where need be") {
  CHECK(dlrm_table_bytes(kCriteo, 1) == Bytes(4 * 26 * 1000 * 128));
  CHECK(dlrm_table_bytes(kCriteo, 8) == Bytes(4 * 1000 * 416));
  CHECK(dlrm_table_bytes(kCriteo, 4096) == Bytes(4 * 1000));
}

// Of a sample: 27 vectors of 128 values are copied together; of 27 * 27 products and 128 values of the bottom, 351 and
// the 128 go on. Backward the same way round.
TEST_CASE("the interaction copies its vectors together and picks half of the products") {
  const LayerProgram top = dlrm_layers(kCriteo, 64, 8, Precision::kFp16)[2];
  const ElementWise gather{ElementWiseKind::kCopy, Bytes(2 * 64 * (2 * 27 * 128))};
  const ElementWise select{ElementWiseKind::kCopy, Bytes(2 * 64 * (27 * 27 + 128 + 351 + 128))};
  const Compute forward = computes(top.forward).front();
  CHECK(forward.operators == std::vector<Operator>{gather, Gemm{27, 27, 128, 64, Precision::kFp16}, select});
  const Gemm gradient{27, 128, 27, 64, Precision::kFp16};
  CHECK(computes(top.backward).back().operators == std::vector<Operator>{select, gradient, gradient, gather});
}

// Of a sample: the dense features and every width below, the pooled vectors, and above the vectors once more, the top's
// 479 inputs and every width.
TEST_CASE("activations are kept from the forward to the backward pass") {
  const std::vector<LayerProgram> layers = dlrm_layers(kCriteo, 64, 8, Precision::kFp16);
  CHECK(layers[0].saved == Bytes(2 * 64 * 26 * 128));
  CHECK(layers[1].saved == Bytes(2 * 64 * (13 + 512 + 256 + 128)));
  CHECK(layers[2].saved == Bytes(2 * 64 * (27 * 128 + 479 + 1024 + 1024 + 512 + 256 + 1)));
}
