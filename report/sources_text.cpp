// SPDX-License-Identifier: MIT
#include "report/evidence/sources_text.h"

#include <algorithm>
#include <functional>
#include <vector>

#include <fmt/format.h>

#include "core/config/number_text.h"
#include "core/config/quantity_text.h"
#include "report/figures.h"
#include "report/table.h"

namespace orrery::report {

std::string sources_text(const Evidence& evidence) {
  const double whole = seconds(evidence.all());
  const std::string shares = shares_text(evidence);
  std::string text =
      shares.empty() ? "" : fmt::format("of {} of the critical path: {}\n", rounded(evidence.all()), shares);
  for (const EvidenceKind kind : {EvidenceKind::kAssumed, EvidenceKind::kGiven, EvidenceKind::kSourced,
                                  EvidenceKind::kFitted, EvidenceKind::kMeasured}) {
    std::vector<const EvidenceFigure*> figures;
    for (const EvidenceFigure& figure : evidence.figures)
      if (figure.kind == kind) figures.push_back(&figure);
    if (figures.empty()) continue;
    std::ranges::stable_sort(figures, std::ranges::greater{}, &EvidenceFigure::time);
    Table table({fmt::format("{}", name_of(kind)), "value"}, {"of the time"}, {"where", "source"});
    for (const EvidenceFigure* figure : figures)
      table.row({figure->key, figure->value,
                 figure->time == Duration::zero() || whole == 0 ? "-" : percent(seconds(figure->time) / whole, 1),
                 place_text(*figure), figure->source.empty() ? "-" : figure->source});
    text += (text.empty() ? "" : "\n") + table.text();
  }
  return text;
}

}  // namespace orrery::report
