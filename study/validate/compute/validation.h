// SPDX-License-Identifier: MIT
// The model of operators (system/devices/operator_model.h) held against measured times: how far off, operator by
// operator.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "study/errors.h"
#include "study/validate/compute/table.h"

namespace orrery::study {

// From so many tokens on errors count. Below, launches decide, and which kernel a library happens to choose.
inline constexpr std::int64_t kScoredTokens = 256;
// The same of single kernels.
inline constexpr std::int64_t kScoredRows = 128;
// Below so many tokens an element-wise kernel takes a few microseconds, to which the times are rounded.
inline constexpr std::int64_t kFewestElementWiseTokens = 64;

struct ValidatedOperator {
  std::string at;           // its shape, "256x7680x5120" or "512 tokens of 8192, tp 4"
  int line = 0;             // of the file it comes from
  std::int64_t tokens = 0;  // 0: a lone product
  Duration measured{};
  Duration predicted{};
  Duration by_others{};  // with the constants of ComputeTable::others; zero without
  std::int64_t scored_from = kScoredTokens;

  bool scored() const { return tokens == 0 || tokens >= scored_from; }
  double error() const { return seconds(predicted) / seconds(measured) - 1; }  // signed
};

// Operators of one kind on one device: "qkv", "norm", "product".
struct OperatorErrors {
  std::string name;
  bool product = false;
  std::vector<ValidatedOperator> rows;

  std::optional<ErrorSummary> summary() const;  // of those that are scored
  std::optional<ErrorSummary> summary_below() const;
  const ValidatedOperator* worst() const;  // likewise; null without any
  double bias() const;                     // likewise: the median of signed errors; 0 without any
  // With the constants of another architecture; without rows where nobody asked.
  OperatorErrors by_others() const;
};

struct ValidatedComputeTable {
  const ComputeTable* table = nullptr;
  std::vector<OperatorErrors> operators;   // those that have rows
  std::vector<OperatorErrors> kernels;     // the same of single kernels
  std::optional<OperatorErrors> products;  // all of them together, where there are several kinds
  std::size_t left_out = 0;                // element-wise operators of few tokens
};

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

std::string compute_validation_text(const ComputeValidation& validation);
// Of kernels alone; with `cross` also with the constants of other architectures. Empty without kernels.
std::string kernel_validation_text(const ComputeValidation& validation, bool cross);
// What stands under "compute" in the document "orrery.validation/1".
nlohmann::ordered_json to_json(const ComputeValidation& validation);

}  // namespace orrery::study
