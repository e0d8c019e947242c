// Errors of predictions as text and as JSON, for what `orrery validate` prints and writes.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

#include "study/validate/collectives/validate.h"

namespace orrery {

// "12.3" (in %), or "-" where there is nothing.
std::string percent_text(const std::optional<ErrorSummary>& summary, double ErrorSummary::*which);

// "kernels (5): median of their medians ...", one line; nothing without tables.
std::string overall_text(std::string_view what, const OverallError& overall);

// Null where there is nothing.
nlohmann::ordered_json to_json(const std::optional<ErrorSummary>& summary);
nlohmann::ordered_json to_json(const OverallError& overall);

}  // namespace orrery
