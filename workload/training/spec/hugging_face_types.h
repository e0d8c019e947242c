// SPDX-License-Identifier: MIT
// The architectures of Hugging Face that are transformers here: what a model_type says without a key, which sizes it
// has to have, and what a type that is not known says by its keys.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/config/config.h"
#include "core/config/tree.h"
#include "core/error.h"

namespace orrery::workload {

enum class KeysAndValues : std::uint8_t { kHeads, kLatent };

// Layers that have a window where no key says so: none unless `use_sliding_window` is true, all, or all but every
// `full_every`-th.
enum class Windows : std::uint8_t { kWhereUsed, kAll, kAllButEvery };

using HuggingFaceKeys = std::span<const std::string_view>;

// Properties that a model_type implies without a key, and the names of those keys that differ between types.
struct HuggingFaceType {
  std::string type;
  bool gated = true;
  std::string_view position = "rotary";
  bool biases = false;  // where no key says so
  bool tied = false;    // likewise
  KeysAndValues attention = KeysAndValues::kHeads;
  bool embedding_norm = false;
  std::int64_t shared_experts = 0;  // without a key for them
  Windows windows = Windows::kAll;
  std::int64_t full_every = 0;
  HuggingFaceKeys sizes{};
  HuggingFaceKeys heads{};    // that attention needs as well
  HuggingFaceKeys experts{};  // empty: it may be dense
};

// A size here, the keys that may say it there, of which the first that has a value does, and what it may be.
struct TranslatedSize {
  std::string_view key;
  std::initializer_list<std::string_view> names;
  Range range;
};
std::span<const TranslatedSize> translated_sizes();
std::span<const TranslatedSize> latent_sizes();

// Width of one expert that every token passes, in place of a number of them.
inline constexpr std::array<std::string_view, 3> kSharedWidths = {
    "shared_expert_intermediate_size", "shared_intermediate_size", "moe_shared_expert_intermediate_size"};

// True if the key may be null, with a meaning of its own: as many as heads, not compressed, none.
bool may_be_null(std::string_view key);

// The type of that name. Null: it is not known.
const HuggingFaceType* type_named(std::string_view name);
// All of their names.
std::vector<std::string> type_names();

// A type of another name, or of none (empty), by the keys that it has: heads of keys and values or latent ones, experts
// or none, an MLP with a gate or without. A warning says what it was taken for; an error what is missing or not clear.
HuggingFaceType type_by_keys(const ConfigValue& contents, const std::string& name, Diagnostics& diagnostics);

}  // namespace orrery::workload
