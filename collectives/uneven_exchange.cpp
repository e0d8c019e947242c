// SPDX-License-Identifier: MIT
#include "collectives/uneven_exchange.h"

#include <numeric>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/assert.h"
#include "core/error.h"
#include "core/hash.h"

namespace orrery::collectives {
namespace {

TableProgram program_of_rank(const Schedule& schedule, std::uint32_t rank, std::span<const std::uint64_t> weights) {
  TableProgram program;
  program.receives = schedule.receives(rank);
  const std::uint32_t sends = schedule.sends(rank);
  program.lane_ends = {sends};
  program.hash = hash_of({program.receives, sends});
  for (std::uint32_t index = 0; index < sends; ++index) {
    const Step step = schedule.step(rank, index);
    TableSend send{
        step.to,    step.slot,      1, schedule.ranks() * weights[schedule.pieces(rank, index).front()], step.combine,
        step.needs, step.after_send};
    program.hash =
        hash_of({program.hash, send.weight, send.needs.begin, send.needs.end, send.after_send.value_or(sends)});
    program.sends.push_back(send);
  }
  return program;
}

}  // namespace

MessageTable uneven_exchange(const Algorithm& algorithm, std::string name, std::uint32_t ranks,
                             std::span<const std::uint64_t> weights) {
  ORRERY_ASSERT(weights.size() == std::size_t{ranks} * ranks);
  Request request;
  request.kind = CollectiveKind::kAllToAll;
  request.ranks = ranks;
  const Schedule schedule = make_schedule(algorithm, request);
  for (std::uint32_t rank = 0; rank < ranks; ++rank)
    for (std::uint32_t index = 0; index < schedule.sends(rank); ++index)
      if (schedule.step(rank, index).piece_count != 1)
        throw InputError({},
                         fmt::format("'{}' sends what is for several ranks in one message: sizes must be equal", name),
                         "name direct or pairwise, whose messages go straight to the rank that they are for");
  std::vector<TableProgram> programs;
  for (std::uint32_t rank = 0; rank < ranks; ++rank) programs.push_back(program_of_rank(schedule, rank, weights));
  const std::uint64_t whole = std::accumulate(weights.begin(), weights.end(), std::uint64_t{0});
  ORRERY_ASSERT(whole > 0);
  return {std::move(name), CollectiveKind::kAllToAll, 0, whole, std::move(programs)};
}

}  // namespace orrery::collectives
