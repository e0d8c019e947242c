// SPDX-License-Identifier: MIT
// Meaning of c10d's notes on an NCCL kernel: the collective, its bytes, its members.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
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

// Largest number of elements in a message; a larger one counts as this.
inline constexpr std::int64_t kMostElements = std::int64_t{1} << 60;

// Problem with one operation.
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

  // The group of `message` in the trace of `rank`. Throws KinetoProblem. Where nothing says who is in it, all ranks
  // are; of a smaller group as many neighbours as it has ranks.
  GroupId find(const KinetoTrace& trace, const KinetoMessage& message, std::uint32_t rank);
  // The group with these members and this label, which is new where there is none.
  GroupId labelled(const std::string& label, std::vector<std::uint32_t> members);
  const std::vector<std::uint32_t>& members(GroupId group) const { return groups_[index_of(group) - 1].members; }
  // Description of the group by c10d; "group" where it has none, since it numbers groups differently from job to job.
  const std::string& label(GroupId group) const { return groups_[index_of(group) - 1].label; }
  // True if the members were assumed.
  bool is_assumed(GroupId group) const { return assumed_.contains(group); }
  bool is_world(GroupId group) const { return group == GroupId(0); }
  std::size_t size() const { return groups_.size(); }
  std::uint32_t world() const { return world_; }
  // In the order of their ids, by which find() called them.
  void add_to(JobAssembler& job) const;

 private:
  struct Group {
    std::string name;
    std::vector<std::uint32_t> members;
    std::string label;
  };

  // Nothing where they are not said.
  std::optional<std::vector<std::uint32_t>> members_of(const KinetoTrace& trace, const KinetoMessage& message) const;
  std::string new_name(std::string base);

  std::uint32_t world_;
  std::vector<Group> groups_;
  std::map<std::pair<std::string, std::vector<std::uint32_t>>, GroupId> known_;
  std::set<GroupId> assumed_;
  std::set<std::string> names_{"world"};
  std::map<std::string, std::size_t> last_number_;  // by what stands in front of it
};

}  // namespace orrery::workload
