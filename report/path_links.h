// SPDX-License-Identifier: MIT
// Over which links the steps of a critical path moved. What a collective or message puts on every link is known from
// its plan or route, so that the link which needs longest for its part is, too, and how long that takes alone; a run
// pays nothing for it. What a step takes beyond that and its latency goes to others on its links, of which the one that
// carried most in the run, for its bandwidth, stands for all; or one whose bandwidth changes over time.
//
// Links are taken by class: of equally slow ones the first class, then the first kind, then the lowest number, whatever
// was folded.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "core/ids.h"
#include "core/units.h"
#include "network/fabric/fabric.h"
#include "network/network.h"
#include "system/folding/link_usages.h"
#include "system/plans/plans.h"
#include "workload/matching/matching.h"

namespace orrery::report {

// Links of a step and their users.
struct StepLinks {
  std::optional<LinkId> slowest;  // none if nothing was sent
  Duration moving{};              // as long as that link takes for its part alone
  Duration own{};                 // of it, what the slowest link that begins or ends at a device or NIC would take
  Duration latency{};
  std::optional<LinkId> shared;  // the link that others used most
  Duration waiting{};            // the rest of the step
};

// Bytes of a step on all links of a class; for a collective, the share of one of its members.
struct ClassBytes {
  std::uint16_t link_class = 0;
  double bytes = 0;
};

class PathLinks {
 public:
  // All outlive it. `usage`: of the whole run.
  PathLinks(const network::Fabric& fabric, system::CollectivePlans& plans, const workload::Matching& matching,
            const system::LinkUsages& usage, std::span<const DeviceId> placement)
      : fabric_(fabric), plans_(plans), matching_(matching), usage_(usage), placement_(placement) {}

  const network::Fabric& fabric() const { return fabric_; }
  const workload::Matching& matching() const { return matching_; }
  system::CollectivePlans& plans() const { return plans_; }
  // One of the groups that lie as this one and make the same calls.
  GroupId model_of(GroupId group) const { return plans_.model_of(group); }
  bool is_same_node(RankId one, RankId other) const;
  // Links of a communicator's call that moved for `time`.
  StepLinks of_call(GroupId group, std::uint32_t call, Duration time);
  // Links of a message that was on its way for `time`.
  StepLinks of_message(RankId from, RankId to, Bytes bytes, Duration time);
  // Bytes of a call by ascending class.
  std::span<const ClassBytes> bytes_of_call(GroupId group, std::uint32_t call);
  std::vector<ClassBytes> bytes_of_message(RankId from, RankId to, Bytes bytes) const;

 private:
  // Demand of a step that runs alone.
  struct Demand {
    std::optional<LinkId> slowest;
    Duration moving{};
    Duration own{};
    Duration latency{};
    std::optional<LinkId> shared;
    double shared_load = 0;  // seconds that all it carried in the run would take, if `shared`
    std::vector<ClassBytes> by_class;
  };
  // Time of a link's part of a phase.
  struct LinkTime {
    LinkId link{};
    Duration time{};
  };

  const Demand& demand_of(GroupId group, std::uint32_t call);
  static StepLinks split(const Demand& demand, Duration time);
  Demand demand_of(GroupId group, const system::CollectivePlan& plan) const;
  // `times`: by LinkId.
  void add_phase(std::span<const LinkTime> times, Duration least, Demand& demand, Duration& longest) const;
  void take_busiest(LinkId link, Demand& demand) const;
  bool comes_before(LinkId a, LinkId b) const;
  double load(LinkId link) const;

  const network::Fabric& fabric_;
  system::CollectivePlans& plans_;
  const workload::Matching& matching_;
  const system::LinkUsages& usage_;
  std::span<const DeviceId> placement_;
  std::map<std::pair<GroupId, const system::CollectivePlan*>, Demand> known_;
};

}  // namespace orrery::report
