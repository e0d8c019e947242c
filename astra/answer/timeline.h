// SPDX-License-Identifier: MIT
// Timeline of the ranks as trace events in JSON, for Perfetto and Chrome.
#pragma once

#include <string>

#include "astra/engine/simulation.h"

namespace orrery::astra {

// One rank of each class, at most so many.
std::string timeline_text(const Job& job, const Result& result, std::size_t most_ranks);

}  // namespace orrery::astra
