// SPDX-License-Identifier: MIT
// Facts of operations that only the simulated machine has: by which algorithm and protocol a collective or a message
// goes, what its slowest link needs for it alone, and the peak of the device. Taken while the simulation is there, of
// the ranks whose operations will be told in full.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/ids.h"
#include "core/units.h"
#include "report/path_links.h"
#include "report/rank_choice.h"
#include "workload/graph/job.h"

namespace orrery::report {

// Way of a collective or a message.
struct CommunicationWay {
  std::string algorithm;         // "ring", "halving-doubling+ring"; of messages "send/recv"
  std::string protocol;          // "ll128"; empty where there are none
  Duration on_its_slowest_link;  // that this link needs for the bytes that go over it, with nothing else on it
  bool is_awaited = false;       // of messages: it does not move before its receive is posted

  auto operator<=>(const CommunicationWay&) const = default;
};

class MachineFacts {
 public:
  // Nothing is known.
  MachineFacts() = default;
  // `peaks`: by rank, in the precision that its FLOPs are counted in; empty: not known.
  MachineFacts(const workload::Job& job, std::span<const ChosenRank> ranks, PathLinks& links,
               std::vector<std::optional<FlopRate>> peaks);

  // Facts of a collective, a send or a receive; null where it is not known.
  const CommunicationWay* way(const workload::Job& job, RankId rank, NodeId node) const;
  // True if all calls and messages of both go alike. They have the same graph.
  bool are_alike(const workload::Job& job, RankId one, RankId other) const;
  std::optional<FlopRate> peak(RankId rank) const {
    return peaks_.empty() ? std::optional<FlopRate>() : peaks_[index_of(rank)];
  }

 private:
  void add_calls(const workload::Job& job, RankId rank, PathLinks& links);
  void add_transfers(const workload::Job& job, RankId rank, PathLinks& links);
  std::uint32_t number_of(CommunicationWay way);

  std::vector<CommunicationWay> ways_;  // each once
  std::map<CommunicationWay, std::uint32_t> numbers_;
  std::vector<GroupId> model_of_;                                  // by communicator
  std::map<GroupId, std::vector<std::uint32_t>> ways_of_calls_;    // by model and call
  std::map<RankId, std::vector<std::uint32_t>> ways_of_messages_;  // by rank and transfer
  std::vector<std::optional<FlopRate>> peaks_;
};

}  // namespace orrery::report
