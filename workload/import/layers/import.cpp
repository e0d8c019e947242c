// SPDX-License-Identifier: MIT
// From the layers of a text workload to a job: what is performed of them, which ranks a communication is among, and how
// many bytes a rank puts in.
#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/assert.h"
#include "core/ids.h"
#include "workload/import/layers/layers.h"
#include "workload/import/layers/schedule.h"

namespace orrery::workload {
namespace {

using enum TextParallelism;

// The most ranks, and nodes of one rank, that an import makes.
constexpr std::uint32_t kMostRanks = 1u << 20;
constexpr std::uint64_t kMostNodes = 16'000'000;
constexpr const char* kGiveRanks =
    "give their number: 'workload.layers: {file: FILE, ranks: N}', or --ranks of 'orrery workload import'";

// AICB writes one of these for each micro-batch, in front of its layers.
constexpr std::string_view kFirstLayer = "embedding_layer";

// Groups of `size` ranks that are `stride` apart; stride * size divides the number of ranks. Every rank is in one.
struct FamilyShape {
  std::uint32_t size = 1;
  std::uint32_t stride = 1;

  bool operator==(const FamilyShape&) const = default;
  std::uint32_t group_of(std::uint32_t rank) const { return rank / (size * stride) * stride + rank % stride; }
};

// The groups of a family are called "<name>0", "<name>1", ...
struct GroupFamily {
  std::string_view name;
  FamilyShape shape;

  bool operator==(const GroupFamily&) const = default;
};

// rank = tensor position + tensor * (data position + data * stage), but in HYBRID_MODEL_DATA, where data comes first.
struct RankGrid {
  std::uint32_t tensor = 1;
  std::uint32_t data = 1;
  std::uint32_t stages = 1;
  std::uint32_t expert = 1;  // divides data

  std::uint32_t ranks() const { return tensor * data * stages; }
};

// The ranks that a communication of a layer, of that parallelism, is among; nothing when it is not performed.
std::optional<GroupFamily> family_of(LayerPass pass, const TextCall& call, const ParallelismRules& rules,
                                     const RankGrid& grid) {
  const bool weights = pass == LayerPass::kWeightGradient;
  if (!(weights ? rules.weights : rules.activations)) return std::nullopt;
  const bool consecutive_data = rules.groups == GroupsOfLayers::kDataConsecutive;
  const GroupFamily tensor{"tensor", {grid.tensor, consecutive_data ? grid.data : 1}};
  const GroupFamily data{"data", {grid.data, consecutive_data ? 1 : grid.tensor}};
  if (rules.groups == GroupsOfLayers::kWorld) return GroupFamily{(weights ? data : tensor).name, {grid.ranks(), 1}};
  switch (call.group) {
    case TextGroup::kUsual:
      return weights ? data : tensor;
    case TextGroup::kTensor:
      return tensor;
    case TextGroup::kData:
      return data;
    case TextGroup::kExpert:
      return GroupFamily{"expert", {grid.expert, grid.tensor}};
    case TextGroup::kExpertData:
      return GroupFamily{"expert_data", {grid.data / grid.expert, grid.tensor * grid.expert}};
  }
  ORRERY_ASSERT(false);
}

// True if the parallelism's order of execution performs the call, whoever the ranks are: MICRO only the weight
// gradients of layer 0, and so on.
bool is_performed(const ParallelismRules& rules, std::size_t layer, LayerPass pass, const TextCall& call) {
  const bool weights = pass == LayerPass::kWeightGradient;
  if (!(weights ? rules.weights : rules.activations)) return false;
  switch (rules.order) {
    case LayerOrder::kMicro:
      return layer == 0;
    case LayerOrder::kData:
    case LayerOrder::kTransformer:
      return true;
    case LayerOrder::kHybrid:
      return layer > 0 || pass != LayerPass::kInputGradient;
    case LayerOrder::kDlrm:
      return weights || (layer == 0 && (pass == LayerPass::kInputGradient || call.kind == CollectiveKind::kAllToAll));
    case LayerOrder::kForward:
      return pass == LayerPass::kForward;
  }
  ORRERY_ASSERT(false);
}

// The families that a rank's communications are among: the communicator slots of the graphs.
class GroupFamilies {
 public:
  std::uint32_t slot_of(const GroupFamily& family) {
    const auto found = std::ranges::find(families_, family);
    const auto slot = static_cast<std::uint32_t>(found - families_.begin());
    if (found == families_.end()) families_.push_back(family);
    return slot;
  }

  // The world and the groups of all families into `job.communicators`, and into the binding of each of its ranks. A
  // second shape of the same name gets its size and stride into its name: "tensor_16x2_0".
  void bind(Job& job) const {
    const auto ranks = static_cast<std::uint32_t>(job.ranks.size());
    job.communicators = {{"world", {}}};
    for (std::uint32_t rank = 0; rank < ranks; ++rank) job.communicators[0].members.push_back(RankId(rank));
    std::set<std::string_view> names;
    for (const auto& [name, shape] : families_) {
      ORRERY_ASSERT(ranks % (shape.size * shape.stride) == 0);
      const std::string prefix =
          names.insert(name).second ? std::string(name) : fmt::format("{}_{}x{}_", name, shape.size, shape.stride);
      const auto first = static_cast<std::uint32_t>(job.communicators.size());
      for (std::uint32_t group = 0; group < ranks / shape.size; ++group)
        job.communicators.push_back({fmt::format("{}{}", prefix, group), {}});
      for (std::uint32_t rank = 0; rank < ranks; ++rank) {
        const std::uint32_t group = first + shape.group_of(rank);
        job.communicators[group].members.push_back(RankId(rank));
        job.ranks[rank].communicators.push_back(GroupId(group));
      }
    }
  }

 private:
  std::vector<GroupFamily> families_;  // in the order of their first use
};

// Communications of the file that are left out for one reason: how many, and the first of them.
class LeftOut {
 public:
  void add(const TextLayer& layer, LayerPass pass) {
    if (count_++ > 0) return;
    line_ = layer.line;
    first_ = fmt::format("{} communication of layer {}", name_of(pass), layer.name);
  }

  void warn(const std::string& file, std::string_view why, const std::string& hint, Diagnostics& diagnostics) const {
    say(file, "left out", why, hint, diagnostics);
  }

  void say(const std::string& file, std::string_view what, std::string_view why, const std::string& hint,
           Diagnostics& diagnostics) const {
    if (count_ == 0) return;
    const std::string more = count_ == 1 ? "" : fmt::format(", and {} more", count_ - 1);
    diagnostics.warning({file, line_, 1}, fmt::format("{} {}{}: {}", first_, what, more, why), hint);
  }

 private:
  std::size_t count_ = 0;
  int line_ = 0;
  std::string first_;
};

std::uint32_t value(const std::optional<TextNumber>& number) { return number ? number->value : 1; }

class TextImporter {
 public:
  // Reads the text. Throws InputError with all that is wrong.
  TextImporter(const std::string& file, std::string_view text, TextDialect dialect, const LayersOptions& options,
               Diagnostics& diagnostics)
      : file_(file),
        is_simai_(dialect == TextDialect::kSimai),
        options_(options),
        diagnostics_(diagnostics),
        first_(diagnostics.problems().size()),
        workload_(read_text_workload(file, text, dialect, diagnostics)) {
    diagnostics.throw_if_errors();
  }

  // Throws InputError with all that is wrong.
  Job import() {
    // 1. What can be said before anything is planned.
    if (is_simai_ && rules_.order != LayerOrder::kTransformer)
      diagnostics_.error(header_.where, fmt::format("unknown SimAI parallelism {}", rules_.name),
                         "import the file as a text workload of ASTRA-sim 1.0");
    if (is_simai_) diagnostics_.throw_if_errors();
    check_header();
    if (is_simai_)
      read_simai_grid();
    else
      read_astra_grid();
    if (options_.iterations < 1) diagnostics_.error({file_}, "0 iterations, expected at least 1");
    diagnostics_.throw_if_errors();
    // 2. One rank's layers.
    for (const TextNumber& start : header_.recomputation_starts)
      workload_.layers[start.value].recomputes_from = checkpoint_before(start.value);
    plan_calls();
    LayerSchedule schedule{header_.parallelism, workload_.layers, options_.iterations};
    if (header_.last_bottom_layer) schedule.last_bottom_layer = header_.last_bottom_layer->value;
    schedule.pipeline = pipeline();
    if (const std::uint64_t nodes = most_nodes(schedule); nodes > kMostNodes)
      diagnostics_.error(header_.where,
                         fmt::format("up to {} nodes on each rank, at most {} are supported", nodes, kMostNodes),
                         "fewer iterations");
    diagnostics_.throw_if_errors();
    // 3. All ranks.
    Job job = job_of(schedule);
    if (std::ranges::all_of(job.graphs, [](const ExecutionGraph& graph) { return graph.size() == 0; }))
      diagnostics_.error(header_.where, "no layer takes time or communicates");
    diagnostics_.throw_if_errors();
    for (const Problem& problem : diagnostics_.problems().subspan(first_))
      if (problem.severity == Severity::kWarning) job.warnings.push_back(problem);
    return job;
  }

 private:
  Location where(const std::optional<TextNumber>& number) const { return number ? number->where : header_.where; }

  void refuse_key(const Location& where, std::string_view key) {
    diagnostics_.error(where, fmt::format("'{}' means nothing with parallelism {}", key, rules_.name));
  }

  void check_layer(const TextNumber& layer, std::size_t end) {
    if (layer.value >= end)
      diagnostics_.error(layer.where, fmt::format("layer {} expected to be below {}", layer.value, end),
                         "layers count from 0");
  }

  // Keys of the header against the parallelism and the layers: layers that do not exist, recomputation without a
  // checkpoint before it, keys that mean nothing for this parallelism.
  void check_header() {
    if (header_.model_parallel && !rules_.has_model_groups())
      refuse_key(header_.model_parallel->where, "model_parallel_NPU_group");
    for (const auto* list : {&header_.checkpoints, &header_.recomputation_starts}) {
      if (!list->empty() && header_.parallelism != kHybridTransformerRecompute)
        refuse_key(list->front().where, list == &header_.checkpoints ? "checkpoints" : "checkpoint_initiates");
      for (const TextNumber& layer : *list) check_layer(layer, workload_.layers.size());
    }
    for (const TextNumber& checkpoint : header_.checkpoints) checkpoints_.push_back(checkpoint.value);
    std::ranges::sort(checkpoints_);
    for (const TextNumber& start : header_.recomputation_starts)
      if (!checkpoint_before(start.value))
        diagnostics_.error(start.where, fmt::format("layer {} recomputes, but no checkpoint is before it", start.value),
                           "layers count from 0; the layers from the checkpoint up to this one run forward again");
    const bool is_dlrm = rules_.order == LayerOrder::kDlrm;
    if (header_.last_bottom_layer && !is_dlrm)
      refuse_key(header_.last_bottom_layer->where, "DLRM_LAST_BOTTOM_LAYER");
    else if (header_.last_bottom_layer)
      check_layer(*header_.last_bottom_layer, std::max<std::size_t>(workload_.layers.size(), 1) - 1);
    else if (is_dlrm)
      diagnostics_.error(header_.where, fmt::format("{} has no last bottom layer after it", rules_.name),
                         "write its number, counted from 0: HYBRID_DLRM 4");
  }

  // The last one.
  std::optional<std::uint32_t> checkpoint_before(std::uint32_t layer) const {
    const auto behind = std::ranges::lower_bound(checkpoints_, layer);
    return behind == checkpoints_.begin() ? std::nullopt : std::optional(*(behind - 1));
  }

  // Value of a key that the file and the user may each leave out. Reports an error if both do, or if the two differ:
  // "{} ranks in the file, {} asked for".
  std::optional<std::uint32_t> number(const std::optional<TextNumber>& of_file, std::optional<std::uint32_t> asked,
                                      const char* missing, const char* hint, std::string_view differ) {
    if (!of_file && !asked) {
      diagnostics_.error(header_.where, missing, hint);
      return std::nullopt;
    }
    if (of_file && asked && of_file->value != *asked)
      diagnostics_.error(of_file->where, fmt::format(fmt::runtime(differ), of_file->value, *asked));
    return of_file ? of_file->value : *asked;
  }

  std::optional<std::uint32_t> rank_count(const char* missing, const char* hint) {
    const auto ranks = number(header_.ranks, options_.ranks, missing, hint, "{} ranks in the file, {} asked for");
    if (!ranks || (*ranks >= 1 && *ranks <= kMostRanks)) return ranks;
    diagnostics_.error(where(header_.ranks), fmt::format("{} ranks, expected 1 .. {}", *ranks, kMostRanks));
    return std::nullopt;
  }

  void read_astra_grid() {
    grid_.data = rank_count("the file does not say how many ranks there are", kGiveRanks).value_or(1);
    // In HYBRID_CUSTOMIZED the layers decide.
    const auto has_model_groups = [](const TextLayer& layer) {
      return layer.parallelism && rules_of(*layer.parallelism).has_model_groups();
    };
    if (header_.parallelism == kHybridCustomized ? std::ranges::none_of(workload_.layers, has_model_groups)
                                                 : !rules_.has_model_groups())
      return;
    const auto size =
        number(header_.model_parallel, options_.model_parallel,
               "the file does not say how many ranks make a model-parallel group",
               "give their number (--model-parallel), or write 'model_parallel_NPU_group: 8' on the first line",
               "model-parallel groups of {} ranks in the file, of {} asked for");
    if (!size) return;
    if (*size >= 1 && grid_.data % *size == 0) {
      grid_.tensor = *size;
      grid_.data /= *size;
    } else if (options_.ranks) {  // else that is said already
      diagnostics_.error(where(header_.model_parallel),
                         fmt::format("{} ranks do not divide into model-parallel groups of {}", grid_.data, *size));
    }
  }

  void read_simai_grid() {
    const auto ranks = rank_count("the first line has no all_gpus, the number of ranks", kGiveRanks);
    if (!header_.model_parallel)
      diagnostics_.error(header_.where, "the first line has no model_parallel_NPU_group",
                         "the number of tensor-parallel ranks");
    if (!ranks || !header_.model_parallel) return;
    grid_.tensor = value(header_.model_parallel);
    grid_.stages = value(header_.pipeline_parallel);
    const std::uint64_t replica = std::uint64_t{grid_.tensor} * grid_.stages;
    if (*ranks % replica != 0)
      return diagnostics_.error(header_.where,
                                fmt::format("{} ranks do not divide by {} tensor-parallel ranks times {} stages",
                                            *ranks, grid_.tensor, grid_.stages),
                                "all_gpus is a multiple of model_parallel_NPU_group times pp");
    grid_.data = static_cast<std::uint32_t>(*ranks / replica);
    grid_.expert = value(header_.expert_parallel);
    if (grid_.data % grid_.expert != 0)
      diagnostics_.error(header_.expert_parallel->where,
                         fmt::format("{} data-parallel ranks do not divide into expert-parallel groups of {}",
                                     grid_.data, grid_.expert));
  }

  // Takes out communications that are not performed, those of no bytes, and those among one rank. One warning tells of
  // all that the parallelism does not perform (but for the input gradients of layer 0, which nobody needs), one of
  // forward and input-gradient communications among one rank. All errors of the file were reported before.
  void plan_calls() {
    LeftOut not_performed, alone, sharded;
    for (std::size_t index = 0; index < workload_.layers.size(); ++index) {
      TextLayer& layer = workload_.layers[index];
      const ParallelismRules& of_layer = layer.parallelism ? rules_of(*layer.parallelism) : rules_;
      for (const LayerPass pass : {LayerPass::kForward, LayerPass::kInputGradient, LayerPass::kWeightGradient}) {
        std::optional<TextCall>& planned = layer.passes[static_cast<std::size_t>(pass)].call;
        const std::optional<TextCall> call = std::exchange(planned, std::nullopt);
        if (!call || call->bytes == Bytes(0)) continue;
        auto family = is_performed(rules_, index, pass, *call) ? family_of(pass, *call, of_layer, grid_) : std::nullopt;
        if (family && is_of_shards(pass, *call)) {
          family = family_of(LayerPass::kWeightGradient, *call, of_layer, grid_);
          sharded.add(layer, pass);
        }
        if (family && family->shape.size > 1)
          planned = with_members(*call, *family);
        else if (!family && (index > 0 || pass != LayerPass::kInputGradient))
          not_performed.add(layer, pass);
        else if (family && pass != LayerPass::kWeightGradient)  // one replica of the model is nothing to wonder at
          alone.add(layer, pass);
      }
    }
    not_performed.warn(file_, fmt::format("{} does not perform it", rules_.name),
                       "the layers run in the order of ASTRA-sim 1.0, which ignores it too", diagnostics_);
    sharded.say(file_, "taken among the data-parallel ranks", "there is one tensor-parallel rank only",
                "ZeRO 3 gathers parameters in every pass; _TP or _DP behind the name of a collective says it",
                diagnostics_);
    alone.warn(file_, "it is among one rank", "the first line or the options say how many ranks make a group",
               diagnostics_);
  }

  // AICB's files of ZeRO 3 gather parameters in the passes in which others communicate activations.
  bool is_of_shards(LayerPass pass, const TextCall& call) const {
    return is_simai_ && grid_.tensor == 1 && pass != LayerPass::kWeightGradient && call.group == TextGroup::kUsual &&
           (call.kind == CollectiveKind::kAllGather || call.kind == CollectiveKind::kReduceScatter);
  }

  TextCall with_members(TextCall call, const GroupFamily& family) {
    if (is_simai_ && call.kind == CollectiveKind::kAllGather) call.bytes = ceil_div(call.bytes, family.shape.size);
    call.slot = families_.slot_of(family);
    return call;
  }

  // Nothing, with a warning, where the file does not show what a micro-batch is.
  std::optional<PlannedPipeline> pipeline() {
    if (grid_.stages == 1) return std::nullopt;
    const auto without = [&](std::string why) {
      diagnostics_.warning(header_.where,
                           fmt::format("the {} pipeline stages do not wait for one another: {}", grid_.stages, why));
      return std::nullopt;
    };
    if (!options_.pipeline) return without("as asked for");
    if (header_.pipeline_message == Bytes(0)) return without("the first line has no pp_comm");
    const auto end = static_cast<std::uint32_t>(workload_.layers.size());
    std::vector<std::uint32_t> starts;
    for (std::uint32_t i = 0; i < end; ++i)
      if (workload_.layers[i].name == kFirstLayer) starts.push_back(i);
    if (starts.empty() || starts.size() != value(header_.micro_batches))
      return without(fmt::format("{} layers are named {}, expected one for each of ga {} micro-batches", starts.size(),
                                 kFirstLayer, value(header_.micro_batches)));
    const std::uint32_t length = starts.size() > 1 ? starts[1] - starts[0] : end - starts[0];
    for (std::size_t i = 0; i < starts.size(); ++i)
      if (starts[i] != starts[0] + i * length || starts[i] + length > end)
        return without("the micro-batches differ in their number of layers");
    if (value(header_.virtual_pipeline) != 1)
      diagnostics_.warning(header_.virtual_pipeline->where,
                           fmt::format("vpp {}: the interleaved schedule is not rebuilt, so stages wait longer for one "
                                       "another than with it",
                                       value(header_.virtual_pipeline)));
    return PlannedPipeline{false,     false,  header_.pipeline_message,
                           starts[0], length, static_cast<std::uint32_t>(starts.size())};
  }

  // A graph for the first stage, one for those in the middle, one for the last; or one for all.
  Job job_of(LayerSchedule schedule) const {
    Job job;
    const bool linked = schedule.pipeline.has_value();
    const std::uint32_t stages = linked ? grid_.stages : 1;
    const std::uint32_t ranks_per_stage = grid_.ranks() / stages;
    job.ranks.resize(grid_.ranks());
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
        binding.own_details().source = file_;
        if (has_next) binding.peers.push_back(RankId(rank + ranks_per_stage));
        if (has_previous) binding.peers.push_back(RankId(rank - ranks_per_stage));
      }
    }
    families_.bind(job);
    return job;
  }

  const std::string& file_;
  bool is_simai_;
  const LayersOptions& options_;
  Diagnostics& diagnostics_;
  std::size_t first_;  // problem that is of this import
  TextWorkload workload_;
  const TextHeader& header_ = workload_.header;
  const ParallelismRules& rules_ = rules_of(header_.parallelism);
  std::vector<std::uint32_t> checkpoints_;  // ascending
  RankGrid grid_;
  GroupFamilies families_;
};

}  // namespace

Job import_layers(const std::string& file, std::string_view text, TextDialect dialect, const LayersOptions& options,
                  Diagnostics& diagnostics) {
  return TextImporter(file, text, dialect, options, diagnostics).import();
}

}  // namespace orrery::workload
