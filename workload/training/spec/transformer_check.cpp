// SPDX-License-Identifier: MIT
// Checks of how a transformer can be split.
#include <algorithm>
#include <array>
#include <numeric>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "workload/training/spec/check.h"
#include "workload/training/spec/mixer_sizes.h"

namespace orrery::workload {
namespace {

class TransformerCheck {
 public:
  TransformerCheck(const TrainingSpec& training, Diagnostics& diagnostics)
      : training_(training), parallel_(training.parallel), diagnostics_(diagnostics) {}

  void run(const TransformerSpec& model) {
    check_heads(model);
    check_sequence(model);
    check_context(training_, diagnostics_);
    check_layers(model);
    check_experts(model);
    check_schedule();
    if (training_.lora && model.experts > 0)
      error("lora", "adapters of experts are not modelled", "a model without experts, or no workload.lora");
    if (training_.lora && splits_all(training_.schedule))
      error("schedule.kind", "frozen weights have no gradients to put off", "workload.schedule.kind: 1f1b");
    if (training_.lora && model.patches)
      error("lora", "adapters of a model of images are not modelled", "a model with a vocabulary, or no workload.lora");
    if (training_.lora && model.mtp_layers > 0)
      error("lora", "adapters of modules of multi-token prediction are not modelled",
            "workload.model.mtp_layers: 0, or no workload.lora");
    check_recompute(model);
  }

 private:
  void error(std::string_view key, std::string message, std::string hint) {
    diagnostics_.error(training_.where_of(key), std::move(message), std::move(hint));
  }

  void check_divides(std::int64_t count, const char* what, const char* key) {
    if (count % parallel_.tensor() == 0) return;
    error("parallel.tensor",
          fmt::format("{} {} do not divide among {} tensor-parallel ranks", count, what, parallel_.tensor()),
          fmt::format("{} ({})", divisors_of("parallel.tensor", count, 1024, parallel_.tensor()), key));
  }

  void check_heads(const TransformerSpec& model) {
    for (std::size_t i = 0; i < std::max<std::size_t>(1, model.kinds.size()); ++i) {
      const LayerKind kind = model.kind(i);
      if (kind.mixer == MixerKind::kAttention) check_attention_heads(kind.attention);
      if (kind.mixer != MixerKind::kAttention && kind.mixer != MixerKind::kNone) check_linear(kind);
    }
    check_divides(model.ffn_hidden, "columns of the perceptron", "the divisors of ffn_hidden");
  }

  void check_attention_heads(const AttentionSpec& attention) {
    check_divides(attention.heads, "attention heads", "the divisors of heads");
    if (attention.kv_heads % parallel_.tensor() != 0 && parallel_.tensor() % attention.kv_heads != 0)
      error("parallel.tensor",
            fmt::format("{} heads of keys and values neither divide among {} tensor-parallel ranks nor repeat evenly",
                        attention.kv_heads, parallel_.tensor()),
            fmt::format("{}, or a multiple of {}", divisors_of("parallel.tensor", attention.kv_heads, 1024),
                        attention.kv_heads));
  }

  void check_linear(const LayerKind& kind) {
    check_divides(kind.linear.key_heads, "heads of keys of linear attention", "the divisors of key_heads");
    if (parallel_.context() > 1)
      error("parallel.context",
            fmt::format("layers of kind '{}' pass a state along the sequence, and context-parallel ranks that hand it "
                        "on are not modelled",
                        kind.name),
            "workload.parallel.context: 1, and tensor parallelism with sequence: true in its place");
  }

  void check_sequence(const TransformerSpec& model) {
    if (model.sequence % parallel_.context() != 0)
      return error("parallel.context",
                   fmt::format("a sequence of {} tokens does not divide among {} context-parallel ranks",
                               model.sequence, parallel_.context()),
                   divisors_of("parallel.context", model.sequence, 1024, parallel_.context()));
    const std::int64_t tokens = training_.micro_batch * model.sequence / parallel_.context();
    if (parallel_.sequence && tokens % parallel_.tensor() != 0)
      error("parallel.sequence",
            fmt::format("sequence parallelism: {} tokens of a micro-batch do not divide among {} tensor-parallel ranks",
                        tokens, parallel_.tensor()),
            fmt::format("workload.parallel.sequence: false, or {}",
                        divisors_of("parallel.tensor", tokens, 1024, parallel_.tensor())));
  }

  std::string stages_text() const {
    if (training_.virtual_stages == 1) return fmt::format("{} stages", training_.model_stages());
    return fmt::format("{} stages of {} chunks", parallel_.pipeline(), training_.virtual_stages);
  }

  void check_layers(const TransformerSpec& model) {
    const std::int64_t stages = training_.model_stages();
    const std::vector<std::int64_t>& list = training_.pipeline_layers;
    if (list.empty()) {
      if (!training_.layers_by_rule().empty()) return;
      if (!training_.layer_rule.is_even()) return refuse_rule(model);
      return error("parallel.pipeline", fmt::format("{} layers do not divide among {}", model.layers, stages_text()),
                   fmt::format("{}, or workload.pipeline_layers: {}",
                               divisors_of(training_.virtual_stages == 1 ? "parallel.pipeline"
                                                                         : "parallel.pipeline times virtual_stages",
                                           model.layers, 1024, stages),
                               split_text(model.layers, stages)));
    }
    if (training_.layout_predictions) check_layout(model);
    std::int64_t sum = 0;
    for (const std::int64_t layers : list) sum += layers;
    if (static_cast<std::int64_t>(list.size()) == stages && sum == model.layers) return;
    error("pipeline_layers",
          fmt::format("pipeline_layers lists {} stage{} with {} layers in all; the job has {} with {}", list.size(),
                      list.size() == 1 ? "" : "s", sum, stages_text(), model.layers),
          fmt::format("for example workload.pipeline_layers: {}", split_text(model.layers, stages)));
  }

  void check_layout(const TransformerSpec& model) {
    if (!model.has_ends())
      return error("pipeline_layers", "the model has no embedding and no head, which the layout places",
                   "a list of numbers of layers");
    if (*training_.layout_predictions == model.mtp_layers) return;
    error("pipeline_layers",
          fmt::format("the layout has {} modules of multi-token prediction (m), the model has {}",
                      *training_.layout_predictions, model.mtp_layers),
          fmt::format("{} before L, or workload.model.mtp_layers: {}",
                      model.mtp_layers == 0 ? "no m" : fmt::format("m*{}", model.mtp_layers),
                      *training_.layout_predictions));
  }

  void refuse_rule(const TransformerSpec& model) {
    const LayerRule& rule = training_.layer_rule;
    const std::int64_t ends = (rule.embedding ? 1 : 0) + (rule.loss ? 1 : 0);
    const std::string parts =
        ends > 0 ? fmt::format("{} layers and {} that count as such", model.layers, ends)
                 : fmt::format("{} layers, less {} on the first stage and {} on the last,", model.layers,
                               rule.first ? fmt::format("{}", *rule.first) : "none of their own",
                               rule.last ? fmt::format("{}", *rule.last) : "none of their own");
    error("pipeline_layers", fmt::format("{} do not divide among {}", parts, stages_text()),
          fmt::format("for example workload.pipeline_layers: {}", split_text(model.layers, training_.model_stages())));
  }

  // Splits layers as evenly as can be, the longer stages in the middle: the first and last have the embedding and the
  // head.
  static std::string split_text(std::int64_t layers, std::int64_t stages) {
    constexpr std::int64_t kShown = 128;
    if (stages > kShown) return fmt::format("a list of {} numbers with a sum of {}", stages, layers);
    std::vector<std::int64_t> split(static_cast<std::size_t>(stages), layers / stages);
    const std::int64_t more = layers % stages;
    for (std::int64_t i = 0; i < more; ++i) ++split[static_cast<std::size_t>((stages - more) / 2 + i)];
    return fmt::format("[{}]", fmt::join(split, ", "));
  }

  void check_experts(const TransformerSpec& model) {
    const std::int64_t expert = parallel_.expert;
    check_capacity(model);
    check_skew(model);
    if (parallel_.expert_seed != Parallelism().expert_seed && parallel_.expert_skew == 0)
      error("parallel.expert_seed", "expert_seed changes nothing: all experts are equally popular",
            "leave it out, or give workload.parallel.expert_skew, the exponent of Zipf's law");
    for (const auto& [key, is_given] :
         {std::pair("experts.dispatch", training_.experts.dispatch.kind != DispatchKind::kAllToAll),
          {"experts.precision", training_.experts.precision.has_value()},
          {"experts.overlap_shared", training_.experts.overlap_shared}})
      if (is_given && expert == 1)
        error(key, fmt::format("{} changes nothing: experts are not spread over ranks", key),
              "leave it out, or give workload.parallel.expert, the ranks that share the experts");
    if (training_.experts.overlap_shared && parallel_.tensor() > 1)
      error("experts.overlap_shared", "shared experts with tensor parallelism communicate themselves: no overlap",
            "leave workload.experts.overlap_shared out");
    else if (training_.experts.overlap_shared && expert > 1 && model.experts > 0 && model.shared_experts == 0)
      error("experts.overlap_shared", "experts.overlap_shared changes nothing: the model has no shared experts",
            "leave it out, or give workload.model.shared_experts");
    if (model.experts == 0) {
      for (const auto& [key, ranks] :
           {std::pair("expert", expert), std::pair("expert_tensor", parallel_.expert_tensor)})
        if (ranks > 1)
          error(fmt::format("parallel.{}", key), fmt::format("{}: {}, but the model has no experts", key, ranks),
                "leave it out, or take a model with experts");
      return;
    }
    const std::int64_t replicas = parallel_.data() * parallel_.context() * parallel_.expert_columns();
    if (parallel_.expert_tensor > 1 && parallel_.expert_tensor != parallel_.tensor())
      error("parallel.expert_tensor",
            fmt::format("experts are shared by 1 or all {} tensor-parallel ranks, not by {}", parallel_.tensor(),
                        parallel_.expert_tensor),
            fmt::format("workload.parallel.expert_tensor: 1 or {}", parallel_.tensor()));
    const std::int64_t slots = model.experts + training_.experts.redundant;
    // Replicas that follow from a wrong degree say nothing of the right ones.
    const std::int64_t room =
        training_.fills_devices ? training_.room * parallel_.context() * parallel_.expert_columns() : replicas;
    const std::string hint = divisors_of("parallel.expert", std::gcd(slots, room), 4096, expert);
    if (slots % expert != 0)
      error("parallel.expert", fmt::format("{} experts do not divide among {} expert-parallel ranks", slots, expert),
            hint);
    if (replicas % expert != 0)
      error("parallel.expert",
            fmt::format("expert: {} does not divide the {} ranks of data times context{}", expert, replicas,
                        parallel_.expert_columns() > 1 ? " times tensor" : ""),
            hint);
    check_divides(model.expert_hidden, "columns of an expert", "the divisors of expert_hidden");
    if (parallel_.tensor() > 1 && !parallel_.sequence)
      error("parallel.sequence",
            "experts with tensor parallelism need sequence parallelism, else every rank routes every token",
            "workload.parallel.sequence: true");
    const std::int64_t holders = parallel_.shard * parallel_.expert_columns();
    if (parallel_.shard > 0 && holders % expert != 0)
      error("parallel.shard",
            fmt::format("the {} ranks that share one copy of the model do not divide into groups of {} that share the "
                        "experts",
                        holders, expert),
            "a multiple of workload.parallel.expert, or leave workload.parallel.shard out");
  }

  void check_skew(const TransformerSpec& model) {
    if (parallel_.expert_skew > 0 && (model.experts == 0 || (parallel_.expert == 1 && !drops())))
      error("parallel.expert_skew", "expert_skew changes nothing: experts are not spread over ranks",
            model.experts == 0 ? "leave it out"
                               : "leave it out, or give workload.parallel.expert, the ranks that share the experts");
  }

  bool drops() const { return training_.experts.capacity > 0 && !training_.experts.pads; }

  void check_capacity(const TransformerSpec& model) {
    const ExpertSpec& experts = training_.experts;
    const std::array<std::pair<std::string_view, bool>, 4> keys = {{{"capacity_factor", experts.capacity > 0},
                                                                    {"pad_to_capacity", experts.pads},
                                                                    {"redundant", experts.redundant > 0},
                                                                    {"row_multiple", experts.row_multiple > 1}}};
    for (const auto& [key, is_given] : keys)
      if (is_given && model.experts == 0)
        return error(fmt::format("experts.{}", key), fmt::format("{}, but the model has no experts", key),
                     "leave it out, or take a model with experts");
    if (experts.redundant > model.experts)
      return error("experts.redundant",
                   fmt::format("{} redundant experts, more than the {} experts", experts.redundant, model.experts),
                   fmt::format("at most {}", model.experts));
    if (experts.redundant > 0 && parallel_.expert_skew == 0)
      return error("experts.redundant", "redundant experts balance nothing: all experts are equally popular",
                   "leave it out, or give workload.parallel.expert_skew, the exponent of Zipf's law");
    if (experts.pads && experts.capacity == 0)
      return error("experts.pad_to_capacity", "pad_to_capacity without a capacity: experts take all that comes",
                   "workload.experts.capacity_factor: 1.25, or leave it out");
    if (experts.pads && parallel_.expert_skew > 0)
      return error("parallel.expert_skew", "expert_skew changes nothing: every expert has as many rows as its capacity",
                   "leave it out, or workload.experts.pad_to_capacity: false");
    if (!drops()) return;
    const double most = static_cast<double>(model.experts) / static_cast<double>(model.experts_per_token);
    const bool is_even = parallel_.expert_skew == 0;
    if (experts.capacity >= (is_even ? 1 : most))
      error("experts.capacity_factor",
            is_even ? "capacity_factor changes nothing: experts that are all alike take the mean"
                    : fmt::format("capacity_factor changes nothing: an expert gets at most {} times the mean", most),
            "leave it out, or workload.experts.pad_to_capacity: true where the framework pads");
  }

  void check_recompute(const TransformerSpec& model) {
    const RecomputeModules& modules = training_.recompute_modules;
    if (modules.any() && training_.recompute == Recompute::kFull)
      error("recompute_modules", "everything is computed again: there is nothing to choose",
            "leave workload.recompute_modules out, or workload.recompute: none");
    const bool selects = training_.recompute == Recompute::kSelective;
    if (modules.any() && selects && training_.software.selective == SelectiveKind::kOperators)
      error("recompute_modules", "this software's selective recomputation chooses every second GEMM, not modules",
            "leave workload.recompute_modules out, or workload.recompute: none");
    if (modules.up_projection && !has_latent(model))
      error("recompute_modules", "up-projection is of latent attention, which the model does not have",
            "leave up-projection out");
    if (modules.core && selects && attention_of(training_) == AttentionKind::kPlain)
      error("recompute_modules", "selective recomputation computes attention again already",
            "leave attention out, or workload.recompute: none");
    if (modules.shared_experts && training_.experts.overlap_shared)
      error("recompute_modules", "shared experts beside the dispatch are not computed again by themselves",
            "workload.experts.overlap_shared: false, or leave shared-experts out");
    check_module_layers(model);
  }

  // Modules of layers that the model does not have, and of parts that others compute again.
  void check_module_layers(const TransformerSpec& model) {
    const RecomputeModules& modules = training_.recompute_modules;
    struct Rule {
      bool is_wrong;
      std::string_view module, reason;
    };
    const bool has_experts = model.experts > 0;
    const std::array<Rule, 8> rules = {{
        {modules.core && !has_layer(model, [&](std::int64_t i) { return is_attention(model, i); }), "attention",
         "no layer has attention"},
        {modules.perceptron && !has_layer(model, [&](std::int64_t i) { return is_dense(model, i); }), "mlp",
         "no layer is dense"},
        {modules.experts && !has_experts, "experts", "the model has none"},
        {modules.expert_activation && !has_experts, "expert-activation", "the model has no experts"},
        {modules.shared_experts && model.shared_experts == 0, "shared-experts", "the model has none"},
        {modules.expert_activation && modules.activation, "expert-activation", "activation has those of experts"},
        {modules.expert_activation && modules.experts, "expert-activation", "experts are computed again with it"},
        {modules.shared_experts && modules.experts, "shared-experts", "experts have the shared ones among them"},
    }};
    for (const Rule& rule : rules)
      if (rule.is_wrong)
        return error("recompute_modules", fmt::format("{} changes nothing: {}", rule.module, rule.reason),
                     fmt::format("leave {} out", rule.module));
  }

  template <typename Holds>
  static bool has_layer(const TransformerSpec& model, Holds holds) {
    for (std::int64_t i = 0; i < model.layers; ++i)
      if (holds(i)) return true;
    return false;
  }
  static bool is_attention(const TransformerSpec& model, std::int64_t layer) {
    return model.kind(model.kind_number(layer)).mixer == MixerKind::kAttention;
  }
  static bool is_dense(const TransformerSpec& model, std::int64_t layer) {
    return model.feed_forward(layer) == FeedForward::kDense;
  }

  static bool has_latent(const TransformerSpec& model) {
    return model.latent || std::ranges::any_of(model.kinds, [](const LayerKind& kind) {
             return kind.mixer == MixerKind::kAttention && kind.attention.latent;
           });
  }

  // Settings that take the embedding's table from one of both ends.
  static std::vector<std::string_view> of_one_stage(const TransformerSpec& model) {
    std::vector<std::string_view> settings;
    if (model.tied_embeddings) settings.emplace_back("workload.model.tied_embeddings: false");
    if (model.mtp_layers > 0) settings.emplace_back("workload.model.mtp_layers: 0");
    return settings;
  }

  void check_pipedream() {
    if (training_.is_flushed()) return;
    if (parallel_.pipeline() == 1)
      error("schedule.kind", "a pipeline of one stage has nothing to flush",
            "workload.schedule.kind: 1f1b, or raise workload.parallel.pipeline");
    if (parallel_.zero > 0)
      error("schedule.kind", "pipedream updates the weights after every micro-batch: ZeRO cannot shard them",
            "workload.parallel.zero: 0, or workload.schedule.kind: 1f1b");
    if (training_.model_ties_stages())
      error("schedule.kind",
            "the first and the last stage share the embedding's table, but update it at different times",
            fmt::format("{}, or workload.schedule.kind: 1f1b",
                        fmt::join(of_one_stage(*training_.transformer()), " and ")));
  }

  // DualPipe needs two stages for each of its directions to meet, and both as many micro-batches as fill it.
  void check_dual() {
    const bool is_dual = training_.schedule == ScheduleKind::kDualPipe;
    if (parallel_.pipeline() % parallel_.halves() != 0)
      return error("parallel.pipeline", fmt::format("{} stages do not meet in the middle", parallel_.pipeline()),
                   fmt::format("an even workload.parallel.pipeline: {}", parallel_.pipeline() + 1));
    const std::int64_t least = 2 * parallel_.pipeline();
    const std::int64_t unit = parallel_.data() * training_.micro_batch;
    const std::int64_t micro_batches = training_.micro_batches();
    if (batch_divides(training_) && (micro_batches < least || micro_batches % parallel_.halves() != 0))
      error("batch.global",
            fmt::format("{} takes at least {} micro-batches{}, and there are {}", name_of(training_.schedule), least,
                        is_dual ? ", an even number" : "", micro_batches),
            fmt::format("workload.batch.global: {}, or workload.schedule.kind: 1f1b",
                        std::max(least, micro_batches + 1) * unit));
  }

  void check_overlap() {
    if (!training_.overlap_passes || training_.schedule == ScheduleKind::kOneForwardOneBackward ||
        training_.schedule == ScheduleKind::kInterleaved)
      return;
    error("schedule.overlap_passes",
          fmt::format("overlap_passes has no meaning for the schedule {}", name_of(training_.schedule)),
          "workload.schedule.kind: 1f1b or 1f1b-interleaved, or leave overlap_passes out");
  }

  void check_schedule() {
    check_pipedream();
    check_overlap();
    if (runs_pairs(training_.schedule)) check_dual();
    if (training_.virtual_stages > 1 && training_.schedule != ScheduleKind::kInterleaved)
      error("schedule.virtual_stages",
            fmt::format("virtual_stages: {} has no meaning for the schedule {}", training_.virtual_stages,
                        name_of(training_.schedule)),
            "workload.schedule.kind: 1f1b-interleaved beside it, or workload.schedule.virtual_stages: 1");
    if (training_.schedule_group > 0 && training_.schedule != ScheduleKind::kInterleaved)
      error("schedule.group", fmt::format("group has no meaning for the schedule {}", name_of(training_.schedule)),
            "workload.schedule.kind: 1f1b-interleaved beside it, or leave group out");
    if (training_.schedule != ScheduleKind::kInterleaved) return;
    if (training_.virtual_stages == 1)
      return error("schedule.kind", "1f1b-interleaved interleaves nothing with one chunk per stage",
                   "workload.schedule.virtual_stages: 2 or more, or workload.schedule.kind: 1f1b");
    if (parallel_.pipeline() == 1)
      error("schedule.virtual_stages", "interleaving needs more than one pipeline stage",
            "leave workload.schedule.virtual_stages out, or raise workload.parallel.pipeline");
    else if (batch_divides(training_) && !is_group(training_.group(), training_.micro_batches(), parallel_.pipeline()))
      refuse_group();
  }

  // Groups that are shorter than the pipeline would wait for their own first micro-batch.
  void refuse_group() {
    const std::int64_t group = training_.group(), micro_batches = training_.micro_batches();
    const std::int64_t other = shortest_group(micro_batches, parallel_.pipeline());
    const std::string better = other > 0 ? fmt::format("workload.schedule.group: {}, or ", other) : "";
    if (training_.schedule_group == 0)
      return error("batch.global",
                   fmt::format("interleaving takes micro-batches {} at a time (one for each stage), and {} do not "
                               "divide so",
                               group, micro_batches),
                   fmt::format("{}{}, or workload.schedule.kind: 1f1b", better, batches_near(training_)));
    const std::string what =
        group < parallel_.pipeline() ? fmt::format("there are {} stages", parallel_.pipeline())
        : group > micro_batches
            ? fmt::format("there are {} micro-batches", micro_batches)
            : fmt::format("of {} micro-batches the last group would have {}, fewer than the {} stages", micro_batches,
                          micro_batches % group, parallel_.pipeline());
    error("schedule.group", fmt::format("groups of {} micro-batches do not keep the pipeline full: {}", group, what),
          fmt::format("{}workload.schedule.kind: 1f1b", better));
  }

  const TrainingSpec& training_;
  const Parallelism& parallel_;
  Diagnostics& diagnostics_;
};

}  // namespace

void check_transformer(const TrainingSpec& training, Diagnostics& diagnostics) {
  TransformerCheck(training, diagnostics).run(*training.transformer());
}

}  // namespace orrery::workload
