// SPDX-License-Identifier: MIT
// Files that `orrery run` writes beside its answer: the folder of tables, the timeline, the schedule, the page.
#pragma once

#include <string>
#include <string_view>

#include "cli/output.h"
#include "cli/run_options.h"
#include "experiment/experiment.h"
#include "experiment/runs/run.h"
#include "report/plot/picture.h"
#include "report/rank_choice.h"

namespace orrery::cli {

// Name of a table in the folder of --out: "operations.csv.gz".
std::string table_file(const RunOptions& options, std::string_view name);

// Before the work: they can be written, and no two of the files that a run writes are the same.
void check_files(const RunOptions& options, const Outputs& outputs);

// `ranks`: of the tables.
void write_folder(const std::string& folder, const RunOptions& options, const experiment::Run& run,
                  const report::RankChoice& ranks, const Answer& answer);

void write_timeline(const RunOptions& options, const experiment::Run& run, const report::RankChoice& choice);

// Before the job is simulated. InputError where its schedule is to be drawn and it has none, or several.
void check_schedule(const RunOptions& options, const experiment::Experiment& read);
// The schedule as text; behind the answer's, where --schedule asks for it.
std::string schedule_of_run(const experiment::Run& run);
void write_schedule(const RunOptions& options, const experiment::Run& run, const report::PictureLook& look);

Page page_of_run(const RunOptions& options, const experiment::Run& run);

}  // namespace orrery::cli
