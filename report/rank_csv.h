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
#include "workload/graph/job.h"
#include "workload/training/program/generate_job.h"

namespace orrery::report {

struct RankCsv {
  std::string_view heading;                                        // the first line, ended
  std::function<std::uint64_t(RankId)> records;                    // about how many lines a rank has
  std::function<void(const ChosenRank&, std::string&)> add_lines;  // puts a rank's lines behind the text
};

// Everything that the tables refer to must outlive them. `acting` by rank: whose operations the log has for it
// (SimulationTotals).

// One line per operation: rank, for how many ranks it stands, node id, name, kind, detail, bytes, and start, moving and
// end in picoseconds.
RankCsv operations_csv(const workload::Job& job, const OperationLog& log, std::span<const RankId> acting);

// Memory over time, one line per change: rank, for how many it stands, picoseconds, bytes from then on.
RankCsv memory_csv(const workload::Job& job, const workload::TrainingFacts& facts, const OperationLog& log,
                   std::span<const RankId> acting);

// About how large the file becomes: all ranks' lines as long as the first one's.
Bytes estimated_size(const RankCsv& table, std::span<const ChosenRank> ranks);

// Hands the file over piece by piece.
void write_csv(const RankCsv& table, std::span<const ChosenRank> ranks,
               const std::function<void(std::string_view)>& write);

}  // namespace orrery::report
