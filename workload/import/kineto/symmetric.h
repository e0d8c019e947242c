// SPDX-License-Identifier: MIT
// A job of N ranks from the profiles of a few: every other rank does what one of them did, in groups of the same shape.
//
// A group of n ranks, `stride` apart, tiles the world: rank x is in that of x - ((x / stride) mod n) * stride. Where
// ranks exchange messages, their group is the pipeline: a rank does what the profile of its stage did, which is its
// position in that group. On the group of all ranks, the pipeline is every d-th rank, d the distance to the nearest
// peer.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "core/error.h"
#include "workload/import/job_assembler.h"
#include "workload/import/kineto/messages.h"

namespace orrery::workload {

// A rank that was profiled.
struct RecordedRank {
  std::uint32_t rank = 0;
  std::string file;
  RankAssembler nodes;
  std::map<RankId, GroupId> peer_groups;  // the group on which it exchanges messages with a peer
};

// The job of all ranks of the world of `groups`, which has those of the profiles. Warns of what was assumed. Throws
// InputError where a group has no even distances or does not tile the world, and where no profile is of some stage.
Job spread_over_world(std::vector<RecordedRank> recorded, const KinetoGroups& groups, Diagnostics& diagnostics);

}  // namespace orrery::workload
