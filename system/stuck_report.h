// Says why a simulated job cannot go on: which collective calls and receives wait for whom, and the circle of ranks
// that wait for one another, if there is one. It rests on what can go on and what cannot, not on when: so it is the
// same however long things take.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "core/ids.h"

namespace orrery {

class Simulation;

class StuckReport {
 public:
  explicit StuckReport(const Simulation& simulation);

  std::string text() const;

 private:
  using Call = std::pair<GroupId, std::uint32_t>;

  // What holds a rank up: an operation that has all that it depends on, but not the ranks it waits for.
  struct Wait {
    RankId rank{};
    NodeId node{};
    RankId for_rank{};  // the first of them
  };

  // Who of a communicator has come to a call and who has not. `node` is that of the first who has.
  struct Members {
    NodeId node{};
    std::vector<RankId> there;
    std::vector<RankId> missing;
  };

  void find_waits(RankId rank);
  const Members& members_of(Call call);
  std::string describe(const Wait& wait) const;
  std::string describe_calls() const;
  std::string describe_circle() const;
  // The operation with its size, partner and node.
  std::string operation(RankId rank, NodeId node) const;

  const Simulation& simulation_;
  std::map<Call, Members> calls_;
  std::vector<std::vector<Wait>> waits_;  // by rank
  std::vector<RankId> unfinished_;
};

}  // namespace orrery
