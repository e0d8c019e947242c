// SPDX-License-Identifier: MIT
#include "workload/import/layers/plan.h"

#include <algorithm>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "core/assert.h"

namespace orrery::workload {
namespace {

using enum TextParallelism;

// The most ranks, and nodes of one rank, that an import makes.
constexpr std::uint32_t kMostRanks = 1u << 20;
constexpr std::uint64_t kMostNodes = 16'000'000;

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

// What a parallelism's order of execution performs, whoever the ranks are: MICRO only the weight gradients of layer 0,
// and so on.
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

TextImport::TextImport(const std::string& file, std::string_view text, TextDialect dialect, Diagnostics& diagnostics)
    : file_(file),
      diagnostics_(diagnostics),
      first_(diagnostics.problems().size()),
      workload_(read_text_workload(file, text, dialect, diagnostics)) {
  diagnostics.throw_if_errors();
}

std::optional<std::uint32_t> TextImport::number(const std::optional<TextNumber>& of_file,
                                                std::optional<std::uint32_t> asked, const Key& key) const {
  if (!of_file && !asked) {
    diagnostics_.error(header().where, std::string(key.missing), std::string(key.hint));
    return std::nullopt;
  }
  if (of_file && asked && of_file->value != *asked)
    diagnostics_.error(of_file->where, fmt::format(fmt::runtime(key.differ), of_file->value, *asked));
  return of_file ? of_file->value : *asked;
}

std::optional<std::uint32_t> TextImport::rank_count(const std::optional<TextNumber>& of_file,
                                                    std::optional<std::uint32_t> asked, const Key& key) const {
  const auto ranks = number(of_file, asked, key);
  if (!ranks || (*ranks >= 1 && *ranks <= kMostRanks)) return ranks;
  diagnostics_.error(where(of_file), fmt::format("{} ranks, expected 1 .. {}", *ranks, kMostRanks));
  return std::nullopt;
}

Job TextImport::job(const Request& request) {
  // 1. What can be said before anything is planned.
  if (request.iterations < 1) diagnostics_.error({file_}, "0 iterations, expected at least 1");
  diagnostics_.throw_if_errors();
  // 2. One rank's layers.
  const std::vector<PlannedLayer> layers = plan_layers(request);
  LayerSchedule schedule{header().parallelism, layers, request.iterations};
  if (header().last_bottom_layer) schedule.last_bottom_layer = header().last_bottom_layer->value;
  schedule.pipeline = request.pipeline();
  const std::uint64_t nodes = most_nodes(schedule);
  if (nodes > kMostNodes)
    diagnostics_.error(header().where,
                       fmt::format("up to {} nodes on each rank, at most {} are supported", nodes, kMostNodes),
                       "fewer iterations");
  diagnostics_.throw_if_errors();
  // 3. All ranks.
  Job job = job_of(schedule, request);
  if (std::ranges::all_of(job.graphs, [](const ExecutionGraph& graph) { return graph.size() == 0; }))
    diagnostics_.error(header().where, "no layer takes time or communicates");
  diagnostics_.throw_if_errors();
  for (const Problem& problem : diagnostics_.problems().subspan(first_))
    if (problem.severity == Severity::kWarning) job.warnings.push_back(problem);
  return job;
}

// A graph for the first stage, one for those in the middle, one for the last; or one for all.
Job TextImport::job_of(LayerSchedule schedule, const Request& request) const {
  Job job;
  const bool linked = schedule.pipeline.has_value();
  const std::uint32_t stages = linked ? request.stages : 1;
  const std::uint32_t ranks_per_stage = request.ranks / stages;
  job.ranks.resize(request.ranks);
  for (std::uint32_t stage = 0; stage < stages; ++stage) {
    const bool has_previous = stage > 0;
    const bool has_next = stage + 1 < stages;
    if (stage < 2 || !has_next) {
      if (linked) schedule.pipeline->has_previous = has_previous;
      if (linked) schedule.pipeline->has_next = has_next;
      LayerGraph graph = graph_of(schedule);
      job.graphs.push_back(std::move(graph.graph));
      job.labels.push_back(std::move(graph.labels));
    }
    for (std::uint32_t i = 0; i < ranks_per_stage; ++i) {
      const std::uint32_t rank = stage * ranks_per_stage + i;
      RankBinding& binding = job.ranks[rank];
      binding.graph = binding.labels = static_cast<std::uint32_t>(job.graphs.size() - 1);
      binding.source = file_;
      if (has_next) binding.peers.push_back(RankId(rank + ranks_per_stage));
      if (has_previous) binding.peers.push_back(RankId(rank - ranks_per_stage));
    }
  }
  families_.bind(job);
  return job;
}

// Without communications of no bytes, and those among one rank. One warning tells of all that the parallelism does not
// perform (but for the input gradients of layer 0, which nobody needs), one of forward and input-gradient
// communications among one rank. All errors of the file were reported before.
std::vector<PlannedLayer> TextImport::plan_layers(const Request& request) {
  LeftOut not_performed;
  LeftOut alone;
  const TextParallelism order = workload_.header.parallelism;
  const auto planned = [&](std::size_t index, LayerPass pass, const TextPass& from) -> PlannedPass {
    PlannedPass result{from.compute, std::nullopt};
    if (!from.collective || from.size == Bytes(0)) return result;
    const TextLayer& layer = workload_.layers[index];
    const bool in_order = is_performed(order, index, pass, from);
    const auto among = in_order ? request.scope_of(pass, from, layer.parallelism.value_or(order)) : std::nullopt;
    if (!among) {
      if (index > 0 || pass != LayerPass::kInputGradient) not_performed.add(layer, pass);
    } else if (among->shape.size > 1) {
      const bool is_whole = request.all_gather_of_whole && *from.collective == CollectiveKind::kAllGather;
      const Bytes bytes = is_whole ? ceil_div(from.size, among->shape.size) : from.size;
      result.call = PlannedCall{*from.collective, bytes, families_.slot(among->family, among->shape)};
    } else if (pass != LayerPass::kWeightGradient) {  // one replica of the model is nothing to wonder at
      alone.add(layer, pass);
    }
    return result;
  };
  const auto recomputed = recomputations(workload_);
  std::vector<PlannedLayer> layers;
  layers.reserve(workload_.layers.size());
  for (std::size_t i = 0; i < workload_.layers.size(); ++i) {
    const TextLayer& layer = workload_.layers[i];
    layers.push_back({layer.name, planned(i, LayerPass::kForward, layer.forward),
                      planned(i, LayerPass::kInputGradient, layer.input_gradient),
                      planned(i, LayerPass::kWeightGradient, layer.weight_gradient), layer.update, recomputed[i]});
  }
  not_performed.warn(file_, fmt::format("{} does not perform it", name_of(order)),
                     "the layers run in the order of ASTRA-sim 1.0, which ignores it too", diagnostics_);
  alone.warn(file_, "it is among one rank", "the first line or the options say how many ranks make a group",
             diagnostics_);
  return layers;
}

void TextImport::check_header() const {
  const TextHeader& header = workload_.header;
  const auto refuse = [&](const Location& where, std::string_view key) {
    diagnostics_.error(where, fmt::format("'{}' means nothing with parallelism {}", key, name_of(header.parallelism)));
  };
  if (header.model_parallel && !has_model_groups(header.parallelism))
    refuse(header.model_parallel->where, "model_parallel_NPU_group");
  for (const auto* list : {&header.checkpoints, &header.recomputation_starts}) {
    if (!list->empty() && header.parallelism != kHybridTransformerRecompute)
      refuse(list->front().where, list == &header.checkpoints ? "checkpoints" : "checkpoint_initiates");
    for (const TextNumber& layer : *list) check_layer(layer, workload_.layers.size(), diagnostics_);
  }
  check_recomputation(workload_, diagnostics_);
  if (header.last_bottom_layer && !is_dlrm(header.parallelism))
    refuse(header.last_bottom_layer->where, "DLRM_LAST_BOTTOM_LAYER");
  else if (header.last_bottom_layer)
    check_layer(*header.last_bottom_layer, std::max<std::size_t>(workload_.layers.size(), 1) - 1, diagnostics_);
  else if (is_dlrm(header.parallelism))
    diagnostics_.error(header.where, fmt::format("{} has no last bottom layer after it", name_of(header.parallelism)),
                       "write its number, counted from 0: HYBRID_DLRM 4");
}

}  // namespace orrery::workload
