// SPDX-License-Identifier: MIT
// What the notes of c10d on a kernel of NCCL mean: which collective, how many bytes, among whom.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "core/collective_kind.h"
#include "core/ids.h"
#include "core/units.h"
#include "workload/import/job_assembler.h"
#include "workload/import/kineto/events.h"

namespace orrery::workload {

// What is wrong with one operation.
class KinetoProblem : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// "allreduce" and "_allgather_base" and what else c10d calls its operations; nothing for names it does not know.
struct KinetoOperationKind {
  enum class Type : std::uint8_t { kCollective, kSend, kReceive } type = Type::kCollective;
  CollectiveKind collective = CollectiveKind::kAllReduce;
};
std::optional<KinetoOperationKind> operation_kind(std::string_view c10d_name);

// Bytes of an element of a torch type, "Float" or "BFloat16"; nothing for names it does not know.
std::optional<std::int64_t> element_size(std::string_view type);

// The ranks in "[0, 1, 2]", or in "[0, 1, ..., 7]" where those left out continue the others in even steps; `size` of
// them, if it is not -1. Nothing when they cannot be told.
std::optional<std::vector<std::uint32_t>> ranks_of(std::string_view text, std::int64_t size);

// The process groups of all ranks.
class KinetoGroups {
 public:
  explicit KinetoGroups(std::uint32_t world) : world_(world) {}

  // The group of `message` in the trace of `rank`. Throws KinetoProblem.
  GroupId find(const KinetoTrace& trace, const KinetoMessage& message, std::uint32_t rank);
  const std::vector<std::uint32_t>& members(GroupId group) const { return groups_[index_of(group) - 1].members; }
  bool is_world(GroupId group) const { return group == GroupId(0); }
  std::size_t size() const { return groups_.size(); }
  std::uint32_t world() const { return world_; }
  // In the order of their ids, by which find() called them.
  void add_to(JobAssembler& job) const;

 private:
  struct Group {
    std::string name;
    std::vector<std::uint32_t> members;
  };

  std::vector<std::uint32_t> members_of(const KinetoTrace& trace, const KinetoMessage& message) const;
  std::string new_name(const KinetoMessage& message) const;

  std::uint32_t world_;
  std::vector<Group> groups_;
  std::map<std::pair<std::string, std::vector<std::uint32_t>>, GroupId> known_;
};

}  // namespace orrery::workload
