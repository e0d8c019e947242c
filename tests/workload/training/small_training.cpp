// SPDX-License-Identifier: MIT
#include "tests/workload/training/small_training.h"

#include <fmt/format.h>

namespace orrery::testing {

workload::TransformerSpec small_gpt() {
  workload::TransformerSpec model;
  model.hidden = 64;
  model.layers = 8;
  model.heads = 8;
  model.kv_heads = 8;
  model.head_size = 8;
  model.ffn_hidden = 256;
  model.vocab = 512;
  model.sequence = 32;
  return model;
}

workload::TransformerSpec small_llama() {
  workload::TransformerSpec model = small_gpt();
  model.kv_heads = 4;
  model.ffn_hidden = 192;
  model.gated_mlp = true;
  model.biases = false;
  model.tied_embeddings = false;
  model.position = workload::PositionKind::kRotary;
  return model;
}

workload::TransformerSpec small_experts() {
  workload::TransformerSpec model = small_llama();
  model.experts = 8;
  model.experts_per_token = 2;
  model.expert_hidden = 128;
  model.shared_experts = 1;
  model.dense_layers = 1;
  return model;
}

workload::TransformerSpec small_latent() {
  workload::TransformerSpec model = small_llama();
  model.kv_heads = model.heads;
  model.latent = workload::LatentAttention{24, 16, 4, 4, 8};
  return model;
}

workload::TrainingSpec small_training(const workload::TransformerSpec& model) {
  workload::TrainingSpec training;
  training.model.sizes = model;
  training.software.overlap_gradients = false;
  return training;
}

std::int64_t& degree(workload::TrainingSpec& training, workload::ParallelDimension dimension) {
  return training.parallel.degrees[static_cast<std::size_t>(dimension)];
}

std::map<std::string, std::int64_t> volumes(const workload::Job& job, RankId rank) {
  std::map<std::string, std::int64_t> sums;
  const workload::ExecutionGraph& graph = job.graph(rank);
  for (const NodeId node : graph.collectives()) {
    std::string family = job.communicators[index_of(job.communicator(rank, node))].name;
    while (!family.empty() && family.back() >= '0' && family.back() <= '9') family.pop_back();
    sums[fmt::format("{} {}", family, name_of(graph.collective_kind(node)))] += graph.bytes(node).count();
  }
  for (const NodeId node : graph.transfers())
    sums[fmt::format("{} {}", job.peer_family(rank, node), workload::name_of(graph.kind(node)))] +=
        graph.bytes(node).count();
  return sums;
}

}  // namespace orrery::testing
