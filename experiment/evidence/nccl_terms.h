// SPDX-License-Identifier: MIT
// Terms of a call of the `nccl` library, by how much its time changes with each constant of the library and with the
// latencies of links.
#pragma once

#include <string>
#include <vector>

#include "collectives/group_shape.h"
#include "core/collective_kind.h"
#include "core/units.h"
#include "system/plans/group_library.h"

namespace orrery::experiment {

// A share of a call's latency, and the paths of the constants that it is the product of; none: links.
struct LatencyTerm {
  double share = 0;
  std::vector<std::string> constants{};
};

struct NcclTerms {
  std::vector<LatencyTerm> latency;    // shares add up to 1
  std::vector<std::string> bandwidth;  // constants that bytes on links are divided by
};

// Terms of the algorithm that the library chooses.
NcclTerms terms_of_call(const system::NcclLibrary& library, CollectiveKind kind, Bytes bytes,
                        const collectives::GroupShape& shape);
NcclTerms terms_of_send(const system::NcclLibrary& library, Bytes bytes, bool is_same_node);

}  // namespace orrery::experiment
