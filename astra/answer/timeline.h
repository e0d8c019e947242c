// SPDX-License-Identifier: MIT
// Timeline of the ranks as trace events in JSON, for Perfetto and Chrome.
#pragma once

#include <cstddef>
#include <functional>
#include <string_view>

#include "astra/engine/simulation.h"

namespace orrery::astra {

// One rank of each class, at most so many. Hands the text of the file over piece by piece.
void write_timeline(const Job& job, const Result& result, std::size_t most_ranks,
                    const std::function<void(std::string_view)>& write);

}  // namespace orrery::astra
