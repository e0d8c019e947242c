// SPDX-License-Identifier: MIT
// The layers of a config.json one by one: what mixes tokens in each and what follows, by whichever key lists them or
// says their rule; and the same in the words of a model here.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/config/tree.h"
#include "workload/training/model_files/key_reader.h"

namespace orrery::workload {

// kWindow, kChunk: attention to a part of the sequence. kNone: nothing mixes tokens.
enum class Mixer : std::uint8_t { kFull, kWindow, kChunk, kGatedDelta, kKimiDelta, kMamba2, kNone };
// kUsual: as the model's rule of dense layers and those with experts says.
enum class Tail : std::uint8_t { kUsual, kDense, kExperts, kNone };

struct LayerParts {
  Mixer mixer = Mixer::kFull;
  Tail tail = Tail::kUsual;

  friend bool operator==(const LayerParts&, const LayerParts&) = default;
};

// The layers from the first on. Nothing after an error: fewer are listed than there are, or they have a part that no
// key of a model here stands for.
std::optional<std::vector<LayerParts>> read_layers(KeyReader& keys, std::int64_t layers);

// Rule of layers with experts: behind the first `dense`, the last of each `interval`.
struct ExpertRule {
  std::int64_t dense = 0;
  std::int64_t interval = 1;
};
// The layers that have experts. Nothing after an error.
std::optional<std::vector<bool>> read_expert_layers(KeyReader& keys, std::int64_t layers);
// Nothing where no rule says the same.
std::optional<ExpertRule> rule_of(const std::vector<bool>& has_experts);

// Adds what differs between layers to `model`, in the keys of read_model(): windows and chunks, kinds of layers and
// their pattern.
void add_layers(KeyReader& keys, const std::vector<LayerParts>& layers, ConfigValue& model);

}  // namespace orrery::workload
