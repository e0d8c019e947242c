// SPDX-License-Identifier: MIT
// Rate at which ranks move data over the links, by class of links, over time.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "report/operation_log.h"
#include "report/path_links.h"
#include "report/rank_choice.h"
#include "workload/graph/job.h"

namespace orrery::report {

// Rate from `time` on, in bytes per second: what a rank's messages and its share of its collectives put on links.
struct LinkRate {
  Time time;
  std::vector<double> by_class;  // in the order of RankLinkRates::classes
};

struct RankLinkRates {
  RankId rank{};
  std::vector<std::string> classes;  // of links, in the fabric's order: those that it uses
  std::vector<LinkRate> rates;       // ascending, at most as many as asked for
};

// A message counts for its sender, spread evenly over the time in which it moves; of a collective every member has the
// same share. Where there are more changes than `most`, rates are means over equal parts of the time until `finish`.
// `acting`: by rank, whose operations the log has for it.
std::vector<RankLinkRates> link_rates(const workload::Job& job, const OperationLog& log, std::span<const RankId> acting,
                                      std::span<const ChosenRank> ranks, Time finish, std::size_t most,
                                      PathLinks& links);

}  // namespace orrery::report
