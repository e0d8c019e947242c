// SPDX-License-Identifier: MIT
// Files that `orrery run` writes beside its answer: the folder of tables, and what is checked of the others.
#pragma once

#include <string>
#include <string_view>

#include "cli/output.h"
#include "cli/run_options.h"
#include "experiment/experiment.h"
#include "experiment/runs/run.h"
#include "report/rank_choice.h"
#include "report/timeline_source.h"

namespace orrery::cli {

// Source of the drawings and tables of a run; refers to the run.
report::TimelineSource timeline_source(const experiment::Run& run);

// Name of a table in the folder of --out: "operations.csv.gz".
std::string table_file(const RunOptions& options, std::string_view name);

// Before the work: they can be written, and no two of the files that a run writes are the same.
void check_files(const RunOptions& options, const Outputs& outputs);

// `ranks`: of the tables.
void write_folder(const std::string& folder, const RunOptions& options, const experiment::Run& run,
                  const report::RankChoice& ranks, const Answer& answer);

// Before the job is simulated. InputError where its schedule is to be drawn and it has none, or several.
void check_schedule(const RunOptions& options, const experiment::Experiment& read);

}  // namespace orrery::cli
