// SPDX-License-Identifier: MIT
// The tables of `run --out`: CSV files with lines for each rank that was chosen. They are made rank by rank, so that no
// more than one rank's lines are in memory.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "core/units.h"
#include "report/operation_log.h"
#include "report/rank_choice.h"
#include "report/timeline_source.h"
#include "workload/graph/job.h"
#include "workload/training/program/generate_job.h"

namespace orrery::report {

struct RankCsv {
  std::string heading;                                             // the first line, ended
  std::function<std::uint64_t(RankId)> records;                    // about how many lines a rank has
  std::function<void(const ChosenRank&, std::string&)> add_lines;  // puts a rank's lines behind the text
};

// Everything that the tables refer to must outlive them. `acting` by rank: whose operations the log has for it
// (SimulationTotals).

// One line per operation, with the columns of report/operations/operation_facts.h.
RankCsv operations_csv(const TimelineSource& source);

// Memory over time, one line per change: rank, for how many it stands, picoseconds, bytes from then on.
RankCsv memory_csv(const workload::Job& job, const workload::TrainingFacts& facts, const OperationLog& log,
                   std::span<const RankId> acting);

// About how large the file becomes: all ranks' lines as long as the first one's.
Bytes estimated_size(const RankCsv& table, std::span<const ChosenRank> ranks);

// Hands the file over piece by piece.
void write_csv(const RankCsv& table, std::span<const ChosenRank> ranks,
               const std::function<void(std::string_view)>& write);

}  // namespace orrery::report
