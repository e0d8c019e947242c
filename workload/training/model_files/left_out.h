// SPDX-License-Identifier: MIT
// Parts of a model that its file has and no key of read_model() stands for: how much of the FLOPs, parameters or
// messages each of them is, as warnings.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/error.h"
#include "workload/training/spec/model.h"

namespace orrery::workload {

enum class LeftOutKind : std::uint8_t {
  kTower,            // another model beside this one, of about `amount` parameters (0: not known): an image encoder
  kAttentionBiases,  // queries, keys and values have biases, other products have none
  kMlpBiases,        // the products of MLPs have biases, others have none
  kPostNorms,        // norms behind attention and MLP, besides those before them
  kSideBySide,       // attention and MLP of a layer take the same input
  kTied,             // no key says whether the embedding's table is the head, too; taken as not
};

struct LeftOut {
  LeftOutKind kind = LeftOutKind::kTower;
  std::string key;  // that says so
  Location where;
  std::int64_t amount = 0;
};

// A warning for each that makes a difference to `model`.
void tell_left_out(const std::vector<LeftOut>& parts, const TransformerSpec& model, Diagnostics& diagnostics);

}  // namespace orrery::workload
