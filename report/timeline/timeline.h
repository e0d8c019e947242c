// SPDX-License-Identifier: MIT
// Timeline of the ranks as a file that Perfetto (ui.perfetto.dev) and Chrome open: trace events in JSON, a process for
// each rank, a track for each thing it does at a time.
//
// Slices of a track nest or follow one another. What moves at once is on tracks of its own: "tensor", "tensor 2".
// Passes of micro-batches, "F3", have their kernels in them, and the time in which a rank is in none is on the track
// "bubble". A collective that waits for its members, and a receive whose sender has not started, have a slice "waiting"
// in them. Slices have facts of their operations (report/operations/operation_facts.h) as arguments. The file stays
// small whatever the job: where there are too many slices, those shorter than some time become one with their
// neighbours, which says how many operations it holds.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string_view>

#include "report/timeline/link_rates.h"
#include "report/timeline/tracks.h"

namespace orrery::report {

inline constexpr std::size_t kMostTimelineRanks = 256;

struct TimelineSize {
  std::size_t slices = 0;
  Duration merged{};  // what is shorter may have been put together; zero: nothing was
};

// Hands the text of the file over piece by piece. Of more than kMostTimelineRanks ranks the first are shown. `links`:
// of the same ranks, for counters.
TimelineSize write_timeline(const TimelineSource& source, std::span<const ChosenRank> ranks,
                            std::span<const RankLinkRates> links, const std::function<void(std::string_view)>& write);

}  // namespace orrery::report
