// Says why a simulated job cannot go on: which collective calls and receives wait for whom, and the circle of ranks
// that wait for one another, if there is one.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/ids.h"

namespace orrery {

class Simulation;

class StuckReport {
 public:
  explicit StuckReport(const Simulation& simulation) : simulation_(simulation) {}

  std::string text() const;

 private:
  // What holds a rank up: a running operation and the ranks it waits for.
  struct Wait {
    RankId rank{};
    NodeId node{};
    std::vector<RankId> for_ranks;
  };

  std::vector<Wait> waits_of(RankId rank) const;
  std::vector<RankId> missing_members(RankId rank, NodeId node) const;
  std::string describe(const Wait& wait) const;
  std::string describe_calls(const std::vector<std::vector<Wait>>& waits) const;
  std::string describe_circle(const std::vector<std::vector<Wait>>& waits) const;
  // The operation with its size, partner and node.
  std::string operation(RankId rank, NodeId node) const;

  const Simulation& simulation_;
};

}  // namespace orrery
