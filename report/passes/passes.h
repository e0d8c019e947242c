// SPDX-License-Identifier: MIT
// Passes of micro-batches through the stages of a pipeline, as every drawing of a schedule has them: from the first to
// the last operation of each, on one rank of each stage, with the bubbles between them. The data of all pictures of a
// schedule: in a page, in a timeline, as SVG and as text.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/units.h"
#include "report/operation_log.h"
#include "report/rank_choice.h"
#include "report/timeline_source.h"
#include "workload/graph/job.h"
#include "workload/training/pipeline/schedule.h"
#include "workload/training/program/generate_job.h"
#include "workload/training/program/pass_marks.h"

namespace orrery::report {

// One pass of a micro-batch on a rank.
struct PassSpan {
  workload::Pass pass;              // kind, micro-batch and chunk, from 0
  std::uint32_t virtual_stage = 0;  // in the order in which a micro-batch goes through the pipeline, from 0
  std::uint32_t micro_batch = 0;    // from 0; in pipelines both ways, those of the second way follow those of the first
  std::uint32_t iteration = 0;
  Time start;  // of its first operation on the device
  Time end;    // of its last in line; what runs beside (messages between stages, exchanges of gradients) does not count
  // Weight gradients of a backward pass, `pass.kind` kWeight, that were computed apart from the rest of it though the
  // schedule has no passes of their own for them.
  bool is_put_off = false;

  Duration length() const { return end - start; }
};

// "F3", "B3", "W3": by the micro-batch.
std::string name_of(const PassSpan& span);
// 'F', 'B', 'W'.
char letter_of(workload::PassKind kind);

struct RankPasses {
  ChosenRank chosen;
  std::uint32_t stage = 0;      // place in the pipeline
  std::vector<PassSpan> spans;  // by start
  Duration busy{};              // in at least one pass
  Duration bubble{};            // in none, of Passes::window
};

struct Passes {
  std::string schedule;              // "1f1b-interleaved"
  std::uint32_t stages = 1;          // ranks that a pipeline has
  std::uint32_t virtual_stages = 1;  // chunks of layers that a rank has
  std::int64_t micro_batches = 0;    // of a pipeline in an iteration, of both ways together
  std::uint32_t iterations = 1;
  Time start, end;  // of the first pass and of the last, of all ranks
  // From the start of the first pass of any rank to the end of the last one, of every iteration by itself: what is
  // between iterations, such as the optimizer's step, does not count. Iterations that run into one another are one.
  std::vector<std::pair<Time, Time>> windows;
  Duration window{};              // length of all of them
  std::vector<RankPasses> ranks;  // one of each stage, by stage: those of the first replica

  // Share of `window` that the ranks are in no pass, mean over the stages: 0 to 1.
  double bubble_share() const;
};

// Source of one job's passes. All outlive it.
struct PassSource {
  const workload::Job& job;
  std::uint32_t first_rank = 0;  // of the job, counted as those of the log and of the facts are
  const workload::TrainingFacts& training;
  std::size_t pipeline = 0;  // the job's among the facts'
  const OperationLog& log;
  std::span<const RankId> acting;  // by rank
};

// Passes of a training job with micro-batches; none of jobs without passes.
std::optional<Passes> collect_passes(const PassSource& source);
// Passes of job number `job` of a run, and for how many ranks theirs stand. None of traces and of collectives.
std::optional<Passes> collect_passes(const TimelineSource& source, std::size_t job = 0);
// Passes of any rank of a job, without what is measured over all stages: `bubble` is zero. None of ranks without any.
std::optional<RankPasses> collect_passes(const TimelineSource& source, const ChosenRank& rank);

// Number of the job that a rank of a run is of: the last one that begins before it. `training` is of one job at least.
std::size_t job_of(const workload::TrainingFacts& training, RankId rank);

// Parts of the windows in which the rank is in no pass, ascending. `windows`: ascending, apart from one another.
std::vector<std::pair<Time, Time>> bubbles_of(const RankPasses& rank, std::span<const std::pair<Time, Time>> windows);

// The passes of one window alone, with what is busy and idle in it.
Passes passes_in(const Passes& passes, std::size_t window);

// Bubbles of a job of more than one stage; none of others.
std::optional<BubbleFigures> bubble_figures(const PassSource& source);

}  // namespace orrery::report
