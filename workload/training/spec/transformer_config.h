// SPDX-License-Identifier: MIT
// The keys of `kind: transformer` in a file of configs/models.
#pragma once

#include <cstdint>
#include <string>

#include "core/config/config.h"
#include "workload/training/spec/model.h"

namespace orrery::workload {

// Each of a transformer's sizes; what products of them may reach is checked apart.
namespace transformer_sizes {
inline constexpr Range kLayerWidth{1, std::int64_t{1} << 20};
inline constexpr Range kInner{1, std::int64_t{1} << 22};
inline constexpr Range kHeads{1, std::int64_t{1} << 16};
inline constexpr Range kLayers{1, 100'000};
inline constexpr Range kVocab{0, std::int64_t{1} << 24};
inline constexpr Range kSequence{1, std::int64_t{1} << 26};
inline constexpr Range kExperts{0, std::int64_t{1} << 16};
inline constexpr Range kExpertGroups{1, 1 << 20};
inline constexpr Range kPredictionModules{0, 64};
}  // namespace transformer_sizes

// "8 or 16": what divides `number`, next below and above `near`.
std::string divisors_near(std::int64_t number, std::int64_t near);

// Reads a transformer. After an error, its numbers may be of any size, but none that is divided by is zero.
TransformerSpec read_transformer(Section& section);

}  // namespace orrery::workload
