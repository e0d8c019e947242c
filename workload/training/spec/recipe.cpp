// SPDX-License-Identifier: MIT
#include "workload/training/spec/recipe.h"

#include <algorithm>
#include <array>
#include <vector>

#include <fmt/format.h>

#include "core/suggest.h"

namespace orrery::workload {
namespace {

constexpr std::array<std::string_view, 5> kProductNames = {"", "qkv", "projection", "up", "down"};
constexpr std::array<std::string_view, 3> kStageNames = {"forward", "input-gradient", "weight-gradient"};
constexpr std::array<Precision, 4> kLowPrecisions = {Precision::kFp8, Precision::kMxfp8, Precision::kNvfp4,
                                                     Precision::kInt8};

// Sets the flags of the names that a list holds.
template <std::size_t kCount>
void read_names(Section& section, std::string_view key, const std::array<std::string_view, kCount>& names,
                std::string_view meaning, std::array<bool, kCount>& flags) {
  std::vector<std::string> known(names.begin(), names.end());
  std::erase(known, "");
  for (const std::string& word : section.words(key, meaning)) {
    const auto found = word.empty() ? names.end() : std::ranges::find(names, word);
    if (found == names.end())
      section.error(key, fmt::format("a recipe knows no '{}'", printable(word, 40)), suggestion(word, known));
    else
      flags[static_cast<std::size_t>(found - names.begin())] = true;
  }
}

}  // namespace

Bytes Recipe::scales(std::int64_t values) const {
  return block > 0 ? scale * ((values + block - 1) / block) : Bytes(0);
}

Bytes Recipe::size_of_values(std::int64_t values) const {
  return ceil_div(Bytes(values) * bits_of(precision), 8) + scales(values);
}

Bytes Recipe::with_scales(Bytes cast) const { return cast + scales(cast.count() * 8 / bits_of(precision)); }

Bytes Recipe::traffic(std::int64_t values, bool normalised_values, std::int64_t orientations) const {
  if (orientations == 0) return Bytes(0);
  const Bytes both = (normalised_values ? normalised : operand) * values;
  if (both == Bytes(0)) return both;
  const Bytes spared = ceil_div(Bytes(values) * bits_of(precision), 8) * (2 - orientations);
  return std::max(Bytes(0), both - spared) + scales(values) * orientations;
}

void read_casts(Section& section, Recipe& recipe) {
  section.takes("operand", recipe.operand,
                "memory traffic of casting one value of an operand, for both orientations, without scales");
  section.takes("normalised", recipe.normalised,
                "memory traffic of casting one value that comes from a norm, whose kernel may cast it");
  section.takes("gathers", recipe.gathers, "whether tensor-parallel all-gathers of operands move what is cast");
  section.takes("parameters", recipe.parameters,
                "whether parameters are kept as they are cast (fp8_param_gather), so that with `zero` replicas gather "
                "them so");
  section.takes("copies", recipe.copies,
                "without `parameters`: memory of the copies that stay beside each weight of a GEMM in low precision, "
                "with ZeRO 3 while it is gathered, without scales; 2 B in fp8: the weight and its transpose");
  section.takes("saved", recipe.saved, "whether inputs of GEMMs are kept as they are cast for the backward pass");
}

Recipe read_recipe(Section& section) {
  Recipe recipe;
  section.needs("name", recipe.name, "name of the recipe in results");
  std::vector<std::string> names;
  for (const Precision precision : kLowPrecisions) names.emplace_back(name_of(precision));
  recipe.precision =
      kLowPrecisions[Choice("precision", "precision of operands of GEMMs with weights", names).optional(section, 0)];
  read_casts(section, recipe);
  recipe.block = values_of_scale(recipe.precision);
  recipe.scale = Bytes(recipe.block > 0 ? 1 : 0);
  section.takes("block", recipe.block, {0, 1 << 20},
                "values that share a scale; 0: scales are too few to count; mxfp8 and nvfp4 have 32 and 16 by default");
  section.takes("scale", recipe.scale, "with `block`: size of a scale", "1 B in mxfp8 and nvfp4, else 0 B");
  section.takes("first", recipe.first, {0, 1 << 20}, "layers at the start of the model that stay in bf16");
  section.takes("last", recipe.last, {0, 1 << 20}, "layers at the end of the model that stay in bf16");
  read_names(section, "products_in_bf16", kProductNames,
             "GEMMs of every layer that stay in bf16: qkv, projection, up, down. Attention, router, embedding and head "
             "always do. Example: `[projection]`",
             recipe.products_in_bf16);
  read_names(section, "stages_in_bf16", kStageNames,
             "GEMMs of a linear layer that take operands of bf16: forward, input-gradient, weight-gradient. Example: "
             "`[weight-gradient]`",
             recipe.stages_in_bf16);
  if (std::ranges::all_of(recipe.stages_in_bf16, [](bool stays) { return stays; }))
    section.error("stages_in_bf16", "no GEMM is left in low precision", "workload.precision: bf16, without a recipe");
  section.sources({});
  return recipe;
}

std::string_view default_recipe(std::string_view precision) {
  const bool has_one = precision == name_of(Precision::kMxfp8) || precision == name_of(Precision::kNvfp4);
  return has_one ? precision : std::string_view{};
}

}  // namespace orrery::workload
