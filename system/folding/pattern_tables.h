// SPDX-License-Identifier: MIT
// Messages of a home communicator in the calls of a pattern: message classes, or lines.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "core/ids.h"
#include "system/folding/messages.h"
#include "system/folding/symmetry.h"
#include "system/plans/plans.h"

namespace orrery::system {

// A home communicator.
struct Home {
  std::vector<std::uint32_t> seat_of_member;
  std::vector<std::uint32_t> member_of_seat;  // who holds it
};

// The messages of a home's calls of one pattern.
class PatternTables {
 public:
  // Send `send` of a seat in a phase; nullptr if an earlier send of the seat starts it too. At granularity `step`.
  const MessageClass* message(std::uint32_t phase, std::uint32_t seat, std::uint32_t send) const;
  // The line of a seat in a phase. At granularity `phase`.
  const LineClass& line(std::uint32_t phase, std::uint32_t seat) const { return lines_[line_of_seat_[phase][seat]]; }
  // Message classes that a seat starts in a phase.
  std::vector<const MessageClass*> messages(std::uint32_t phase, std::uint32_t seat) const;

  bool has_changed(const Symmetry& symmetry) const;
  // Classes came apart: what each message was part of, of those `before`, and each of its seats.
  void come_from(std::span<const MessageClass> before, std::span<const std::uint32_t> parent_seat,
                 const Symmetry& symmetry);
  // They are gone from here.
  std::vector<MessageClass> take_messages() { return std::move(classes_); }

 private:
  friend class TableMaker;

  std::vector<MessageClass> classes_;
  // Places of the sends in classes_, by phase and seat; a uniform ring has one.
  std::vector<std::vector<std::vector<std::uint32_t>>> class_of_send_;
  std::vector<LineClass> lines_;
  std::vector<std::vector<std::uint32_t>> line_of_seat_;  // by phase and seat
};

// Tables of communicator `group` for the pattern with this number.
PatternTables make_tables(const Symmetry& symmetry, const CollectivePlans& plans, const FoldedRoutes& routes,
                          GroupId group, const Home& home, std::uint32_t number);

}  // namespace orrery::system
