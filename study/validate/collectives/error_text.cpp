#include "study/validate/collectives/error_text.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace orrery {

std::string percent_text(const std::optional<ErrorSummary>& summary, double ErrorSummary::*which) {
  return summary ? fmt::format("{:.1f}", 100 * (*summary).*which) : std::string("-");
}

std::string overall_text(std::string_view what, const OverallError& overall) {
  if (!overall.all) return {};
  std::string text =
      fmt::format("{} ({}): median of their medians {} %, 90 % of them at most {} %, worst {} %; by size:", what,
                  overall.all->rows, percent_text(overall.all, &ErrorSummary::median),
                  percent_text(overall.all, &ErrorSummary::ninetieth), percent_text(overall.all, &ErrorSummary::worst));
  for (const SizeBand band : kAllSizeBands)
    text += fmt::format("{} {}: {}", band == kAllSizeBands.front() ? "" : ",", name_of(band),
                        percent_text(overall.bands[static_cast<std::size_t>(band)], &ErrorSummary::median));
  return text + "\n";
}

nlohmann::ordered_json to_json(const std::optional<ErrorSummary>& summary) {
  if (!summary) return nullptr;
  return {{"rows", summary->rows}, {"median", summary->median}, {"p90", summary->ninetieth}, {"worst", summary->worst}};
}

nlohmann::ordered_json to_json(const OverallError& overall) {
  nlohmann::ordered_json document = {{"error_of_medians", to_json(overall.all)}};
  for (const SizeBand band : kAllSizeBands)
    document["error_of_medians_by_size"][std::string(name_of(band))] =
        to_json(overall.bands[static_cast<std::size_t>(band)]);
  return document;
}

}  // namespace orrery
