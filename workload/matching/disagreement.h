// The report of ranks that do not agree on their communication.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace orrery {

// Collects one entry per communicator or pair of ranks, in the order in which they are found.
class DisagreementReport {
 public:
  void add(std::string entry) { entries_.push_back(std::move(entry)); }
  bool empty() const { return entries_.empty(); }
  // The entries under a heading; beyond the first twenty the rest is counted.
  std::string text() const;

 private:
  std::vector<std::string> entries_;
};

}  // namespace orrery
