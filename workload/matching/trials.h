// SPDX-License-Identifier: MIT
// Trials of edits: how far a job gets with them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "workload/matching/edit.h"
#include "workload/matching/mending.h"
#include "workload/matching/order.h"

namespace orrery::workload {

class Trials {
 public:
  // Graphs have no repetitions. `job` outlives it.
  Trials(const Job& job, SendWaits send_waits);

  // False when trials would take too long from here on: some seconds.
  bool may_try() const { return visits_ >= nodes_; }
  // Nodes that are left with the edits; nothing where ranks disagree. Counts as a trial.
  std::optional<std::size_t> left_with(std::span<const Edit> edits);
  // A mending if all ranks finish with the edits.
  std::optional<Mending> mending(std::span<const Edit> edits);

  const Job& job() const { return job_; }

 private:
  std::int64_t alike(const Job& changed, std::span<const Edit> edits) const;
  // Other ranks, as they are without edits, that do what the rank does in `job`.
  std::int64_t likes(const Job& job, RankId rank) const;

  const Job& job_;
  SendWaits send_waits_;
  std::size_t nodes_ = 0;   // of all ranks
  std::size_t visits_ = 0;  // nodes that trials may still execute
};

// True if some graph has repetitions, which an Order does not execute.
bool has_repetitions(const Job& job);

}  // namespace orrery::workload
