// SPDX-License-Identifier: MIT
#include "collectives/schedule.h"

#include <utility>

#include "collectives/algorithms.h"
#include "collectives/message_table.h"
#include "collectives/program.h"
#include "core/assert.h"

namespace orrery::collectives {

Schedule::Schedule(Request request, Layout layout, const Program& program)
    : request_(std::move(request)), layout_(std::move(layout)), program_(&program) {}

std::uint32_t Schedule::sends(std::uint32_t rank) const {
  return layout_.ranks == 1 ? 0 : program_->sends(layout_, rank);
}

std::uint32_t Schedule::receives(std::uint32_t rank) const {
  return layout_.ranks == 1 ? 0 : program_->receives(layout_, rank);
}

Step Schedule::step(std::uint32_t rank, std::uint32_t index) const { return program_->step(layout_, rank, index); }

bool Schedule::is_uniform_ring() const { return program_->is_uniform_ring && layout_.running_sum.empty(); }

bool Schedule::is_complete_exchange() const {
  const bool holds_none_back = layout_.window == 0 || sends(0) <= layout_.window;
  return program_->is_complete_exchange && layout_.ranks > 2 && holds_none_back && layout_.running_sum.empty();
}

bool Schedule::is_lockstep() const {
  const std::uint32_t steps = sends(0);
  if (steps == 0 || table() != nullptr || is_in_network()) return false;
  for (std::uint32_t rank = 0; rank < layout_.ranks; ++rank) {
    if (sends(rank) != steps || receives(rank) != steps) return false;
    for (std::uint32_t index = 0; index < steps; ++index) {
      const Step one = step(rank, index);
      const bool follows = index == 0 ? one.needs.empty() : one.needs.begin < index && one.needs.end == index;
      if (!follows || one.slot != index || one.bytes == Bytes(0) || one.bytes != step(0, index).bytes) return false;
    }
  }
  return true;
}

bool Schedule::is_in_network() const { return program_->is_in_network; }

std::vector<PieceId> Schedule::pieces(std::uint32_t rank, std::uint32_t index) const {
  return program_->pieces(layout_, rank, index);
}

PieceId Schedule::piece_kinds() const {
  switch (request_.kind) {
    case CollectiveKind::kAllReduce:
    case CollectiveKind::kReduce:
    case CollectiveKind::kBroadcast:
      return layout_.parts;
    case CollectiveKind::kAllToAll:
      return PieceId{layout_.ranks} * layout_.ranks;
    case CollectiveKind::kAllGather:
    case CollectiveKind::kGather:
    case CollectiveKind::kScatter:
    case CollectiveKind::kReduceScatter:
    case CollectiveKind::kBarrier:
      return layout_.ranks;
  }
  ORRERY_ASSERT(false);
}

Schedule make_schedule(const Algorithm& algorithm, Request request) {
  const Program* program = algorithm.program(request.kind);
  ORRERY_ASSERT(program != nullptr);
  const std::uint32_t window = request.window.value_or(algorithm.window.value_or(program->default_window));
  Layout layout = make_layout(request, program->split, window);
  return Schedule(std::move(request), std::move(layout), *program);
}

Schedule make_schedule(const MessageTable& table, Request request) {
  ORRERY_ASSERT(request.ranks == table.ranks() && request.bytes_of_rank.empty());
  Layout layout = make_layout(request, table);
  return Schedule(std::move(request), std::move(layout), table_program());
}

}  // namespace orrery::collectives
