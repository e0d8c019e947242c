// SPDX-License-Identifier: MIT
#include "collectives/message_table.h"

#include <utility>

namespace orrery::collectives {

MessageTable::MessageTable(std::string name, CollectiveKind kind, std::uint32_t root, std::uint64_t whole,
                           std::vector<TableProgram> programs)
    : name_(std::move(name)), kind_(kind), root_(root), whole_(whole), programs_(std::move(programs)) {}

Step MessageTable::step(std::uint32_t rank, std::uint32_t index, Bytes buffer) const {
  const TableSend& send = programs_[rank].sends[index];
  const Int128 share = Int128{buffer.count()} * send.weight + (whole_ - 1);
  const Bytes chunk(static_cast<std::int64_t>(share / whole_));
  Step step = make_step(send.to, send.slot, send.count, chunk * send.count, send.combine);
  step.needs = send.needs;
  step.after_send = send.after_send;
  return step;
}

const MoreWaits* MessageTable::more_waits(std::uint32_t rank, std::uint32_t index) const {
  const TableProgram& program = programs_[rank];
  const std::uint32_t more = program.sends[index].more;
  return more == TableSend::kNothing ? nullptr : &program.more[more];
}

namespace {

std::uint32_t table_sends(const Layout& layout, std::uint32_t rank) {
  return static_cast<std::uint32_t>(layout.table->program(rank).sends.size());
}
std::uint32_t table_receives(const Layout& layout, std::uint32_t rank) { return layout.table->program(rank).receives; }
Step table_step(const Layout& layout, std::uint32_t rank, std::uint32_t index) {
  return layout.table->step(rank, index, layout.buffer);
}
std::vector<PieceId> not_said(const Layout&, std::uint32_t, std::uint32_t) { return {}; }

constexpr Program kTableProgram{
    CollectiveKind::kAllReduce, Split::kWhole, table_sends, table_receives, table_step, not_said, "as its file says"};

}  // namespace

const Program& table_program() { return kTableProgram; }

}  // namespace orrery::collectives
