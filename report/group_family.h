// Communicators that differ only in where they lie are summed up under one name in tables for people: "tensor3" and
// "tensor7" as "tensor", nameless ones by their shape.
#pragma once

#include <string>
#include <vector>

#include "workload/graph/job.h"

namespace orrery {

// By communicator. A name loses its trailing number; a name that is only a number, or a hash, becomes "8 ranks by 4":
// its size and the distance between its ranks ("8 ranks" where that is one, "8 ranks, mixed" where it varies).
std::vector<std::string> group_families(const std::vector<Communicator>& communicators);

}  // namespace orrery
