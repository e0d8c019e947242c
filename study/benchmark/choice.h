// What the ranks run for a collective: which algorithms, and of NCCL, which protocol, and what of the time is not the
// bytes'.
#pragma once

#include <array>
#include <optional>
#include <span>
#include <string>

#include "core/collective_kind.h"
#include "core/ids.h"
#include "core/units.h"
#include "experiment/experiment.h"
#include "system/plans/group_library.h"
#include "workload/matching/matching.h"

namespace orrery {

// With the fixed library, for all sizes: "ring", "halving-doubling+ring", one per dimension in use. `devices` by rank.
// InputError where the configuration names another algorithm for ranks that are no whole part of the cluster: those
// form one logical ring, which has its own.
std::string fixed_algorithms(CollectiveKind kind, const Experiment& experiment, std::span<const DeviceId> devices);

struct NcclChoice {
  std::string algorithm;  // "ring", "nvls-tree"; "send/recv" of what is made of sends and receives
  std::string protocol;   // "ll", "ll128", "simple"
  Duration latency{};     // of the time
};

// What NCCL takes among the ranks at `devices`. Experiment::nccl is there; both outlive it.
class NcclChoices {
 public:
  NcclChoices(const Experiment& experiment, std::span<const DeviceId> devices);

  // InputError if the options leave NCCL nothing.
  NcclChoice of_collective(const CollectiveCall& call) const;
  // Where every rank sends to the next one.
  NcclChoice of_sends(Bytes bytes) const;

 private:
  const NcclLibrary& library_;
  GroupLayout layout_;
  // The longest routes from a rank to the next, by whether they stay in a node.
  std::array<std::optional<Duration>, 2> routes_;
};

}  // namespace orrery
