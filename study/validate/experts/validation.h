// SPDX-License-Identifier: MIT
// The law of dispatch and combine (collectives/token_exchange.h) held against measured times, as shipped and with its
// constants fitted to all systems but one.
#pragma once

#include <span>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "study/validate/experts/table.h"
#include "study/validate/measured/kind.h"
#include "study/validate/measured/measured.h"

namespace orrery::study {

// The constants of a library, fitted to the tables of other systems, and what they say of those of one.
struct LeftOutSystem {
  std::string library;
  std::string system;
  DispatchLibrary fitted;
  MeasuredRows rows;
};

struct ExpertValidation {
  MeasuredRows rows;                    // both ways of every row, in the order of the tables; a family is a table
  std::vector<LeftOutSystem> left_out;  // of libraries that were measured on several systems; with `cross`
};

// `tables` outlive the result.
ExpertValidation validate_experts(std::span<const ExpertTable> tables, const ConfigFiles& files, bool cross);

Validated validate_exchanges(const ValidationRequest& request);

std::string expert_validation_text(const ExpertValidation& validation);
// Member "experts" of the document "orrery.validation/1".
nlohmann::ordered_json to_json(const ExpertValidation& validation);

}  // namespace orrery::study
