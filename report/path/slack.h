// SPDX-License-Identifier: MIT
// Slack: how much slower an operation, or a rank, may be before the job takes longer.
//
// Back from the finish: an operation has to end before what comes after it begins at the latest. What comes after it
// are its successors in the graph; the next operation on its stream, and the next call on its communicator; of a
// collective what comes after all of its members' calls; of a send also the receive, or the other way round where the
// send waited for that. Held constant are the times of all other operations and messages, the order on streams and
// communicators, and the shares of links: where messages share links, or a later operation would take a stream first,
// moving one may move others, and the slack is what it would be without that. A message that arrived before it was
// received counts as if it had arrived just then, so that its sender's slack is no more than it has.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "core/ids.h"
#include "core/units.h"
#include "report/operation_log.h"
#include "report/result.h"
#include "workload/graph/job.h"
#include "workload/matching/matching.h"

namespace orrery::report {

struct OperationSlack {
  RankId rank{};  // that acts
  NodeId node{};
  Duration time{};   // of a collective from when its last member came
  Duration slack{};  // by how much it may be longer
};

// A rank that acts for its class.
struct RankSlack {
  RankId rank{};
  // Share by which every computation of the rank may be longer; infinite for a rank that computes nothing.
  double slower = 0;
};

struct Slack {
  std::vector<OperationSlack> operations;  // that take time, of ranks that act, by rank and as they ended
  std::vector<RankSlack> ranks;            // by rank
  bool is_exact = true;  // of ranks: else there are so many that it is what they may be slower at least
};

// Programs whose repetitions are not written out are none of these. `acting`, `log`: of the same run, which ended at
// `finish`.
Slack find_slack(const workload::Job& job, const workload::Matching& matching, const OperationLog& log,
                 std::span<const RankId> acting, Time finish);

// More operations are not looked at: each takes some 400 bytes.
inline constexpr std::size_t kMostSlackOperations = 4'000'000;

// The 20 operations that take most in all, the layers of a model together, with the least of theirs; and ranks, least
// first.
std::string slack_text(const Slack& slack, const workload::Job& job, std::span<const RankId> acting,
                       const Result& result);
void add_slack(const Slack& slack, const workload::Job& job, std::span<const RankId> acting, const Result& result,
               nlohmann::ordered_json& document);

}  // namespace orrery::report
