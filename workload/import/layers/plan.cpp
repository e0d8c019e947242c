#include "workload/import/layers/plan.h"

#include <algorithm>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "core/assert.h"

namespace orrery {
namespace {

using enum TextParallelism;

bool is_transformer(TextParallelism parallelism) {
  return parallelism == kHybridTransformer || parallelism == kHybridTransformerRecompute;
}

bool is_dlrm(TextParallelism parallelism) { return parallelism == kHybridDlrm || parallelism == kHybridDlrmEnhanced; }

bool has_model_groups(TextParallelism parallelism) {
  return is_transformer(parallelism) || parallelism == kHybridDataModel || parallelism == kHybridModelData ||
         parallelism == kHybridCustomized;
}

// Communications of the file that are left out for one reason: how many, and the first of them.
class LeftOut {
 public:
  void add(const TextLayer& layer, LayerPass pass) {
    if (count_++ > 0) return;
    line_ = layer.line;
    first_ = fmt::format("{} communication of layer {}", name_of(pass), layer.name);
  }

  void warn(const std::string& file, std::string_view why, const std::string& hint, Diagnostics& diagnostics) const {
    if (count_ == 0) return;
    const std::string more = count_ == 1 ? "" : fmt::format(", and {} more", count_ - 1);
    diagnostics.warning({file, line_, 1}, fmt::format("{} left out{}: {}", first_, more, why), hint);
  }

 private:
  std::size_t count_ = 0;
  int line_ = 0;
  std::string first_;
};

// By layer: the checkpoint that its recomputation starts from.
std::vector<std::optional<std::uint32_t>> recomputations(const TextWorkload& workload) {
  std::vector<std::optional<std::uint32_t>> result(workload.layers.size());
  std::vector<std::uint32_t> checkpoints;
  for (const TextNumber& checkpoint : workload.header.checkpoints) checkpoints.push_back(checkpoint.value);
  std::ranges::sort(checkpoints);
  for (const TextNumber& start : workload.header.recomputation_starts) {
    const auto after = std::ranges::lower_bound(checkpoints, start.value);
    if (after != checkpoints.begin()) result[start.value] = *(after - 1);
  }
  return result;
}

void check_recomputation(const TextWorkload& workload, Diagnostics& diagnostics) {
  std::uint32_t first_checkpoint = std::numeric_limits<std::uint32_t>::max();
  for (const TextNumber& checkpoint : workload.header.checkpoints)
    first_checkpoint = std::min(first_checkpoint, checkpoint.value);
  for (const TextNumber& start : workload.header.recomputation_starts)
    if (start.value <= first_checkpoint)
      diagnostics.error(start.where, fmt::format("layer {} recomputes, but no checkpoint is before it", start.value),
                        "layers count from 0; the layers from the checkpoint up to this one run forward again");
}

void check_layer(const TextNumber& layer, std::size_t end, Diagnostics& diagnostics) {
  if (layer.value >= end)
    diagnostics.error(layer.where, fmt::format("layer {} expected to be below {}", layer.value, end),
                      "layers count from 0");
}

std::uint32_t group_of(std::uint32_t rank, FamilyShape shape) {
  return rank / (shape.size * shape.stride) * shape.stride + rank % shape.stride;
}

}  // namespace

std::uint32_t GroupFamilies::slot(std::string_view name, FamilyShape shape) {
  const auto found = std::ranges::find_if(
      families_, [&](const Family& family) { return family.name == name && family.shape == shape; });
  if (found != families_.end()) return static_cast<std::uint32_t>(found - families_.begin());
  const bool is_taken = std::ranges::find(families_, name, &Family::name) != families_.end();
  std::string prefix = is_taken ? fmt::format("{}_{}x{}_", name, shape.size, shape.stride) : std::string(name);
  families_.push_back({std::string(name), shape, std::move(prefix)});
  return static_cast<std::uint32_t>(families_.size() - 1);
}

void GroupFamilies::bind(Job& job) const {
  const auto ranks = static_cast<std::uint32_t>(job.ranks.size());
  job.communicators = {{"world", {}}};
  for (std::uint32_t rank = 0; rank < ranks; ++rank) job.communicators[0].members.push_back(RankId(rank));
  for (const Family& family : families_) {
    ORRERY_ASSERT(ranks % (family.shape.size * family.shape.stride) == 0);
    const auto first = static_cast<std::uint32_t>(job.communicators.size());
    for (std::uint32_t group = 0; group < ranks / family.shape.size; ++group)
      job.communicators.push_back({fmt::format("{}{}", family.prefix, group), {}});
    for (std::uint32_t rank = 0; rank < ranks; ++rank) {
      const std::uint32_t group = first + group_of(rank, family.shape);
      job.communicators[group].members.push_back(RankId(rank));
      job.ranks[rank].communicators.push_back(GroupId(group));
    }
  }
}

bool is_performed(TextParallelism parallelism, std::size_t layer, LayerPass pass, const TextPass& call) {
  const bool weights = pass == LayerPass::kWeightGradient;
  switch (parallelism) {
    case kMicro:
      return weights && layer == 0;
    case kData:
      return weights;
    case kModel:
      return !weights && (layer > 0 || pass == LayerPass::kForward);
    case kHybridDataModel:
    case kHybridModelData:
    case kHybridCustomized:
      return layer > 0 || pass != LayerPass::kInputGradient;
    case kHybridDlrm:
    case kHybridDlrmEnhanced:
      if (weights) return true;
      return layer == 0 && (pass == LayerPass::kInputGradient || call.collective == CollectiveKind::kAllToAll);
    case kHybridTransformer:
    case kHybridTransformerRecompute:
      return true;
    case kDistributedInference:
      return pass == LayerPass::kForward;
  }
  return false;
}

std::vector<PlannedLayer> plan_layers(const std::string& file, const TextWorkload& workload, const ScopeOf& scope_of,
                                      bool all_gather_of_whole, GroupFamilies& families, Diagnostics& diagnostics) {
  LeftOut not_performed;
  LeftOut alone;
  const TextParallelism order = workload.header.parallelism;
  const auto planned = [&](std::size_t index, LayerPass pass, const TextPass& from) -> PlannedPass {
    PlannedPass result{from.compute, std::nullopt};
    if (!from.collective || from.size == Bytes(0)) return result;
    const TextLayer& layer = workload.layers[index];
    const bool in_order = is_performed(order, index, pass, from);
    const auto among = in_order ? scope_of(pass, from, layer.parallelism.value_or(order)) : std::nullopt;
    if (!among) {
      if (index > 0 || pass != LayerPass::kInputGradient) not_performed.add(layer, pass);
    } else if (among->shape.size > 1) {
      const bool is_whole = all_gather_of_whole && *from.collective == CollectiveKind::kAllGather;
      const Bytes bytes = is_whole ? ceil_div(from.size, among->shape.size) : from.size;
      result.call = PlannedCall{*from.collective, bytes, families.slot(among->family, among->shape)};
    } else if (pass != LayerPass::kWeightGradient) {  // one replica of the model is nothing to wonder at
      alone.add(layer, pass);
    }
    return result;
  };
  const auto recomputed = recomputations(workload);
  std::vector<PlannedLayer> layers;
  layers.reserve(workload.layers.size());
  for (std::size_t i = 0; i < workload.layers.size(); ++i) {
    const TextLayer& layer = workload.layers[i];
    layers.push_back({layer.name, planned(i, LayerPass::kForward, layer.forward),
                      planned(i, LayerPass::kInputGradient, layer.input_gradient),
                      planned(i, LayerPass::kWeightGradient, layer.weight_gradient), layer.update, recomputed[i]});
  }
  not_performed.warn(file, fmt::format("{} does not perform it", name_of(order)),
                     "the layers run in the order of ASTRA-sim 1.0, which ignores it too", diagnostics);
  alone.warn(file, "it is among one rank", "the first line or the options say how many ranks make a group",
             diagnostics);
  return layers;
}

void check_header(const TextWorkload& workload, Diagnostics& diagnostics) {
  const TextHeader& header = workload.header;
  const auto refuse = [&](const Location& where, std::string_view key) {
    diagnostics.error(where, fmt::format("'{}' means nothing with parallelism {}", key, name_of(header.parallelism)));
  };
  if (header.model_parallel && !has_model_groups(header.parallelism))
    refuse(header.model_parallel->where, "model_parallel_NPU_group");
  for (const auto* list : {&header.checkpoints, &header.recomputation_starts}) {
    if (!list->empty() && header.parallelism != kHybridTransformerRecompute)
      refuse(list->front().where, list == &header.checkpoints ? "checkpoints" : "checkpoint_initiates");
    for (const TextNumber& layer : *list) check_layer(layer, workload.layers.size(), diagnostics);
  }
  check_recomputation(workload, diagnostics);
  if (header.last_bottom_layer && !is_dlrm(header.parallelism))
    refuse(header.last_bottom_layer->where, "DLRM_LAST_BOTTOM_LAYER");
  else if (header.last_bottom_layer)
    check_layer(*header.last_bottom_layer, std::max<std::size_t>(workload.layers.size(), 1) - 1, diagnostics);
  else if (is_dlrm(header.parallelism))
    diagnostics.error(header.where, fmt::format("{} has no last bottom layer after it", name_of(header.parallelism)),
                      "write its number, counted from 0: HYBRID_DLRM 4");
}

void check_size(const Location& where, const LayerSchedule& schedule, Diagnostics& diagnostics) {
  const std::uint64_t nodes = most_nodes(schedule);
  if (nodes > kMostImportedNodes)
    diagnostics.error(where,
                      fmt::format("up to {} nodes on each rank, at most {} are supported", nodes, kMostImportedNodes),
                      "fewer iterations");
}

void check_work(const Location& where, std::span<const ExecutionGraph> graphs, Diagnostics& diagnostics) {
  if (std::ranges::all_of(graphs, [](const ExecutionGraph& graph) { return graph.size() == 0; }))
    diagnostics.error(where, "no layer takes time or communicates");
}

std::vector<Problem> warnings_since(const Diagnostics& diagnostics, std::size_t first) {
  std::vector<Problem> warnings;
  for (const Problem& problem : diagnostics.problems().subspan(first))
    if (problem.severity == Severity::kWarning) warnings.push_back(problem);
  return warnings;
}

}  // namespace orrery
