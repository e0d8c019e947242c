// SPDX-License-Identifier: MIT
#include "workload/training/spec/schedule_config.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/config/quantity_text.h"
#include "core/suggest.h"

namespace orrery::workload {
namespace {

// Numbers of layers as a user lists them.
void read_layer_list(Section& section, const ConfigValue& value, TrainingSpec& training) {
  bool right = value.kind == ConfigValue::Kind::kList && !value.items.empty();
  for (const ConfigValue& item : value.items) {
    const bool digits = !item.scalar.empty() && item.scalar.size() < 7 &&
                        std::ranges::all_of(item.scalar, [](char c) { return c >= '0' && c <= '9'; });
    right = right && digits;
    training.pipeline_layers.push_back(digits ? std::stoll(item.scalar) : 0);
  }
  if (right) return;
  training.pipeline_layers.clear();
  section.error("pipeline_layers", "not a list of numbers of layers",
                "for example [7, 8, 8, 7], or even, or a layout such as 'Ett|(tt|)*2L'");
}

void read_layout(Section& section, const std::string& text, TrainingSpec& training) {
  Layout layout;
  if (const auto problem = parse_layout(text, layout))
    return section.error("pipeline_layers",
                         fmt::format("character {} of the layout: {}", problem->position, problem->message),
                         problem->hint);
  training.pipeline_layers = std::move(layout.layers);
  training.layout_predictions = layout.predictions;
}

// The ends that count as layers: a word or a list of words. False if there is another.
bool read_counted_ends(const ConfigValue& value, LayerRule& rule) {
  const auto take = [&](const ConfigValue& word) {
    if (word.scalar == "embedding") rule.embedding = true;
    if (word.scalar == "loss") rule.loss = true;
    return word.scalar == "embedding" || word.scalar == "loss";
  };
  if (value.kind != ConfigValue::Kind::kList) return take(value);
  return std::ranges::all_of(value.items, take);
}

void read_layer_rule(Section& section, const ConfigValue& value, LayerRule& rule) {
  constexpr std::int64_t kMostLayers = 1'000'000;
  bool right = true;
  for (const ConfigEntry& entry : value.entries) {
    const auto number = parse_whole_number(entry.value.scalar);
    if (entry.key == "account_for") {
      right = right && read_counted_ends(entry.value, rule);
    } else if ((entry.key == "first" || entry.key == "last") && number && *number >= 0 && *number < kMostLayers) {
      (entry.key == "first" ? rule.first : rule.last) = *number;
    } else {
      right = false;
    }
  }
  const char* example = "for example {account_for: [embedding, loss]}, or {first: 3, last: 3}";
  if (!right || value.entries.empty())
    return section.error("pipeline_layers", "not a rule for the layers of stages", example);
  if ((rule.embedding || rule.loss) && (rule.first || rule.last))
    section.error("pipeline_layers", "ends that count as layers, and stages with layers of their own", example);
}

}  // namespace

void read_schedule(Section& section, TrainingSpec& training) {
  const ConfigValue* chunks = section.value("virtual_stages");
  if (chunks != nullptr && parse_whole_number(chunks->scalar).value_or(1) > 1)
    training.schedule = ScheduleKind::kInterleaved;
  section.takes(
      "kind", training.schedule,
      {"gpipe", "1f1b", "1f1b-interleaved", "zero-bubble", "pipedream", "dualpipe", "dualpipev", "zb-h2", "zb-v"},
      "order of the micro-batches' forward and backward passes on a pipeline stage; zero-bubble: ZB-H1, weight "
      "gradients put off into the bubble, within 1f1b's memory; zb-h2: the same with up to twice its activations "
      "and no bubble but the pipeline's filling; zb-v: also within 1f1b's memory, each rank holds two "
      "stages of a pipeline that goes there and back; "
      "pipedream: 1f1b without flushes, each micro-batch updates the weights (weight stashing); dualpipe: "
      "pipelines that run both ways, each rank holds two stages, forward and backward passes run side by "
      "side (DeepSeek-V3), dualpipev: the same with one pipeline that goes there and back",
      "1f1b; with `virtual_stages` above 1 1f1b-interleaved");
  training.parallel.both_ways = training.schedule == ScheduleKind::kDualPipe;
  section.takes("overlap_passes", training.overlap_passes,
                "with `kind: 1f1b` or `1f1b-interleaved`: whether the forward pass of a micro-batch runs side by side "
                "with the backward pass of an earlier one, so that all-to-alls of one hide behind the other's "
                "computation (Megatron-Core's overlap-moe-expert-parallel-comm)");
  section.takes("group", training.schedule_group, {0, 1 << 24},
                "with `kind: 1f1b-interleaved`: number of micro-batches that go through a chunk in a row, at least as "
                "many as stages, of which the last group may have fewer (Megatron-Core's "
                "microbatch-group-size-per-virtual-pipeline-stage); 0: as many as stages");
  section.takes("virtual_stages", training.virtual_stages, {1, 1 << 16},
                "with `kind: 1f1b-interleaved`: number of model chunks per pipeline stage");
}

void read_pipeline_layers(Section& section, TrainingSpec& training) {
  const ConfigValue* value = section.raw(
      "pipeline_layers", "even | list of layers per virtual stage | layout | map", "even",
      "number of layers of each virtual stage, in pipeline order; a stage without layers may hold the embedding or the "
      "head. Or a layout as Megatron-Core's pipeline-model-parallel-layout: E embedding, t layer, m multi-token "
      "prediction, L loss, | next stage, *n repeats. Or a rule: `{account_for: [embedding, loss]}` counts ends of the "
      "model as a layer each, `{first: 3, last: 3}` gives the stages at the ends so many layers, with all their "
      "chunks. "
      "Example: `[7, 8, 8, 7]`");
  if (value == nullptr || value->scalar == "even") return;
  if (value->kind == ConfigValue::Kind::kMap) return read_layer_rule(section, *value, training.layer_rule);
  if (value->kind == ConfigValue::Kind::kScalar && looks_like_layout(value->scalar))
    return read_layout(section, value->scalar, training);
  read_layer_list(section, *value, training);
}

}  // namespace orrery::workload
