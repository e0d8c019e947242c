// SPDX-License-Identifier: MIT
// The model of operators (system/devices/operator_model.h) held against measured times: how far off, operator by
// operator.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "study/validate/compute/table.h"
#include "study/validate/measured/kind.h"
#include "study/validate/measured/measured.h"

namespace orrery::study {

// From so many tokens on errors count. Below, launches decide, and which kernel a library happens to choose.
inline constexpr std::int64_t kScoredTokens = 256;
// The same of single kernels.
inline constexpr std::int64_t kScoredRows = 128;
// Below so many tokens an element-wise kernel takes a few microseconds, to which the times are rounded.
inline constexpr std::int64_t kFewestElementWiseTokens = 64;

// A family is a kind of operator: "qkv", "norm", "product". A label is a shape, "256x7680x5120" or "512 tokens of 8192,
// tp 4"; rows of few tokens do not count, and "tokens" is a fact of all but lone products.
struct ValidatedComputeTable {
  const ComputeTable* table = nullptr;
  MeasuredRows operators;          // of layers, and lone products
  MeasuredRows kernels;            // single kernels
  MeasuredRows kernels_by_others;  // the same with the constants of ComputeTable::others; none without
  std::size_t left_out = 0;        // element-wise operators of few tokens
};

// Operators by kind, in the order of the kinds.
std::vector<MeasuredGroup> operators_of(const ValidatedComputeTable& table);
// All products of layers together, where there are several kinds.
std::optional<MeasuredGroup> products_of(const ValidatedComputeTable& table);
// True for a group of matrix products; single kernels count as such.
bool is_product(const MeasuredGroup& operators);
// Kernels by kind, in the order of the rows.
std::vector<MeasuredGroup> kernels_of(const MeasuredRows& kernels);

struct FittedComputeConstant {
  std::string of;  // a device's name, a software's, or empty: shared by all devices
  std::string name;
  std::string value;
  bool product = false;  // takes part in the time of matrix products
};

struct ComputeValidation {
  std::vector<ValidatedComputeTable> tables;
  std::vector<FittedComputeConstant> constants;  // each once

  std::size_t product_constants() const;
};

// Predicts every row of every table; `tables` outlive the result.
ComputeValidation validate_compute(std::span<const ComputeTable> tables);

Validated validate_operators(const ValidationRequest& request);

std::string compute_validation_text(const ComputeValidation& validation);
// Text on kernels alone; with `cross`, also with the constants of other architectures. Empty without kernels.
std::string kernel_validation_text(const ComputeValidation& validation, bool cross);
// Member "compute" of the document "orrery.validation/1".
nlohmann::ordered_json to_json(const ComputeValidation& validation);

}  // namespace orrery::study
