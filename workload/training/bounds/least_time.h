// SPDX-License-Identifier: MIT
// Times that no simulation of a training job falls below, from its layers alone: nothing is generated.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "core/collective_kind.h"
#include "core/units.h"
#include "workload/training/layers/layer_program.h"
#include "workload/training/program/stage_requests.h"

namespace orrery::workload {

// One rank of each pipeline stage: those of one pipeline, which pass on to one another. Of a pipeline both ways, those
// of its first half or all.
struct PipelineRanks {
  std::vector<std::uint32_t> groups;  // by stage: a number, equal where the groups of the ranks lie alike
  std::size_t load = 0;               // of StageRequests::loads(), which all of them have
};

// Least time of a collective of a family in groups of that number, for the bytes of a rank's input buffer; zero where
// nothing is known.
using LeastCollective =
    std::function<Duration(std::uint32_t groups, GroupFamily family, CollectiveKind kind, Bytes bytes)>;

// Least time of a message between the ranks of two stages of a pipeline, zero where nothing is known: until its last
// byte has left, and until it has arrived behind that.
struct LeastMessage {
  Duration sending{};
  Duration arriving{};
};
using LeastMessages = std::function<LeastMessage(std::size_t from, std::size_t to, Bytes bytes)>;

// Lower bound of an iteration, mean over all of the job, by what these ranks have to do. A rank computes one kernel at
// a time, and the operations of its program's line wait for one another, the optimizer's update last; the first pass of
// a pipeline stage waits for one of every stage before it, and where the last one is a backward pass, one of each of
// these stages waits for it. Exchanges of gradients and parameters count as nothing, and so does what goes from stage
// to stage.
Duration least_iteration(const StageRequests& requests, const OperatorTimes& times, const PipelineRanks& ranks,
                         const LeastCollective& collectives);

// A higher one for more work: every pass of the last iteration waits for the one before it on its rank and for its
// input from another, as the schedule has them. Zero where weights are updated by every micro-batch, or not all ranks
// of the pipeline are given.
Duration least_pipeline(const StageRequests& requests, const OperatorTimes& times, const PipelineRanks& ranks,
                        const LeastCollective& collectives, const LeastMessages& messages);

}  // namespace orrery::workload
