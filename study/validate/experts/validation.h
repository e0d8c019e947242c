// SPDX-License-Identifier: MIT
// The law of dispatch and combine (collectives/token_exchange.h) held against measured times, as shipped and with its
// constants fitted to all systems but one.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "study/errors.h"
#include "study/validate/experts/table.h"

namespace orrery::study {

struct ValidatedExchange {
  const ExpertTable* table = nullptr;
  const MeasuredExchange* row = nullptr;
  bool is_dispatch = true;
  Duration predicted{};

  Duration measured() const { return is_dispatch ? row->dispatch : row->combine; }
  double error() const { return seconds(predicted) / seconds(measured()) - 1; }  // signed
};

// What a library's constants, fitted to the tables of other systems, say of those of one.
struct LeftOutSystem {
  std::string library;
  std::string system;
  DispatchLibrary fitted;
  std::vector<ValidatedExchange> exchanges;
};

struct ExpertValidation {
  std::vector<ValidatedExchange> exchanges;  // both ways of every row, in the order of the tables
  std::vector<LeftOutSystem> left_out;       // of libraries that were measured on several systems; with `cross`
};

// `tables` outlive the result.
ExpertValidation validate_experts(std::span<const ExpertTable> tables, const ConfigFiles& files, bool cross);

std::string expert_validation_text(const ExpertValidation& validation);
// What stands under "experts" in the document "orrery.validation/1".
nlohmann::ordered_json to_json(const ExpertValidation& validation);

}  // namespace orrery::study
