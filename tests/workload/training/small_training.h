// SPDX-License-Identifier: MIT
// Training jobs small enough to count by hand, for tests of the generator.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "workload/graph/job.h"
#include "workload/training/program/generate_job.h"
#include "workload/training/spec/training_spec.h"

namespace orrery::testing {

// Time by work and by traffic, so that no two operators of different sizes take the same.
class FakeTimes final : public workload::OperatorTimes {
 public:
  Duration time(const workload::Operator& op) const override {
    const std::int64_t work = workload::flops_of(op).count(), traffic = workload::bytes_of(op).count();
    return Duration(work + traffic == 0 ? 0 : 1 + work / 16 + traffic);
  }
};

// 8 layers of GPT: hidden 64, 8 heads, 512 tokens of vocabulary, sequences of 32.
workload::TransformerSpec small_gpt();
// 8 layers of Llama: no biases, rotary, gated, 4 heads of keys and values, a head of its own.
workload::TransformerSpec small_llama();
// The same with 8 experts a layer, 2 per token and one shared, but for the first layer.
workload::TransformerSpec small_experts();

// Llama with low-rank queries, keys and values, as wide in the mean as its heads are.
workload::TransformerSpec small_latent();

// On one rank; no overlap, gradients in fp32.
workload::TrainingSpec small_training(const workload::TransformerSpec& model);

std::int64_t& degree(workload::TrainingSpec& training, workload::ParallelDimension dimension);

// Bytes that a rank passes to each kind of communication, by "data all_reduce", "pipeline send", ...: for a collective
// its input buffer.
std::map<std::string, std::int64_t> volumes(const workload::Job& job, RankId rank);

}  // namespace orrery::testing
