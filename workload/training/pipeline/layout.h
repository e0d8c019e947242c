// SPDX-License-Identifier: MIT
// Layers of a model on the stages of its pipeline, by a rule or by a pattern as Megatron-Core writes it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace orrery::workload {

// Shares of the stages: `embedding` and `loss` count as a layer each of the first and the last chunk (Megatron-LM's
// account-for-embedding-in-pipeline-split and -loss-); or stages at an end have a number of layers of their own, with
// all their chunks together (decoder-first-pipeline-num-layers and -last-), and the others share the rest.
struct LayerRule {
  bool embedding = false;
  bool loss = false;
  std::optional<std::int64_t> first;
  std::optional<std::int64_t> last;

  bool is_even() const { return !embedding && !loss && !first && !last; }

  bool operator==(const LayerRule&) const = default;
};

// Layers of each virtual stage in pipeline order; none if they do not divide so. Virtual stage i is chunk i / `stages`
// of stage i % `stages`.
std::vector<std::int64_t> layers_by_rule(const LayerRule& rule, std::int64_t layers, std::int64_t stages,
                                         std::int64_t chunks);

// A pattern as Megatron-Core's pipeline-model-parallel-layout: "Et*3|(tt|)*29,m|L". E: embedding, t: layer, m: module
// of multi-token prediction, L: loss, with the head; "|" ends a stage, commas mean nothing, x*n and (...)*n repeat.
struct Layout {
  std::vector<std::int64_t> layers;  // of each virtual stage
  std::int64_t predictions = 0;      // modules of multi-token prediction, which stand with the loss
};

// Problem of a pattern that cannot be read or that has parts where a pipeline has no place for them.
struct LayoutProblem {
  std::size_t position = 0;  // of the character, from 1; one behind the last where something is missing
  std::string message;
  std::string hint;
};

// True of a text that is meant as a layout.
bool looks_like_layout(std::string_view text);
// Returns the problem, if there is one.
std::optional<LayoutProblem> parse_layout(std::string_view text, Layout& layout);

}  // namespace orrery::workload
