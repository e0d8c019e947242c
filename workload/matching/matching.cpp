#include "workload/matching/matching.h"

#include <utility>

#include <fmt/format.h>

#include "core/error.h"
#include "workload/matching/collectives.h"
#include "workload/matching/disagreement.h"
#include "workload/matching/transfers.h"

namespace orrery {

std::string DisagreementReport::text() const {
  constexpr std::size_t kShown = 20;
  std::string text = "the ranks disagree about their communication, so the job could never finish:";
  for (std::size_t i = 0; i < entries_.size() && i < kShown; ++i) text += "\n" + entries_[i];
  if (entries_.size() > kShown) text += fmt::format("\n... and {} more", entries_.size() - kShown);
  return text;
}

Matching match(const Job& job) {
  DisagreementReport report;
  CallLists calls = match_collectives(job, report);
  EndLists ends = match_transfers(job, report);
  if (!report.empty()) throw StuckError(report.text());
  return {std::move(calls), std::move(ends)};
}

}  // namespace orrery
