// SPDX-License-Identifier: MIT
// The programs of a collective that no function makes: those of an algorithm that a file gives (custom/compile.h).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "collectives/program.h"
#include "collectives/step.h"
#include "core/collective_kind.h"

namespace orrery::collectives {

// Dependencies of a send beside Step::needs and Step::after_send.
struct MoreWaits {
  std::vector<SlotRange> needs;
  std::vector<std::uint32_t> after_sends;  // that must be released
};

// A send takes count * ceil(weight * buffer / whole) bytes.
struct TableSend {
  static constexpr std::uint32_t kNothing = UINT32_MAX;

  std::uint32_t to = 0;
  std::uint32_t slot = 0;
  std::uint32_t count = 0;
  std::uint64_t weight = 0;
  Combine combine = Combine::kCopy;
  SlotRange needs{};
  std::optional<std::uint32_t> after_send{};
  std::uint32_t more = kNothing;  // into TableProgram::more
};

// Program of one rank.
struct TableProgram {
  std::vector<TableSend> sends;
  std::uint32_t receives = 0;
  // The sends fall into lanes, one after the other in number: [0, ends[0]), [ends[0], ends[1]), ... Within a lane they
  // start in order; lanes do not wait for one another. At least one.
  std::vector<std::uint32_t> lane_ends;
  std::vector<MoreWaits> more;
  std::uint64_t hash = 0;  // of all this but the peers and their slots: equal for ranks whose programs are alike
};

class MessageTable {
 public:
  // `whole`: what the buffer, Request::bytes, weighs. `name`: of the algorithm, for people.
  MessageTable(std::string name, CollectiveKind kind, std::uint32_t root, std::uint64_t whole,
               std::vector<TableProgram> programs);

  const std::string& name() const { return name_; }
  CollectiveKind kind() const { return kind_; }
  std::uint32_t root() const { return root_; }
  std::uint32_t ranks() const { return static_cast<std::uint32_t>(programs_.size()); }
  const TableProgram& program(std::uint32_t rank) const { return programs_[rank]; }

  Step step(std::uint32_t rank, std::uint32_t index, Bytes buffer) const;
  // Null where there is nothing more.
  const MoreWaits* more_waits(std::uint32_t rank, std::uint32_t index) const;

 private:
  std::string name_;
  CollectiveKind kind_;
  std::uint32_t root_;
  std::uint64_t whole_;
  std::vector<TableProgram> programs_;
};

// The four functions of a layout that has a table.
const Program& table_program();

}  // namespace orrery::collectives
