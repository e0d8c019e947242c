// SPDX-License-Identifier: MIT
// Small changes of what ranks do, each said in one sentence: what would mend a job that cannot finish.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "core/collective_kind.h"
#include "core/ids.h"
#include "core/units.h"
#include "workload/graph/job.h"

namespace orrery::workload {

// Communication of a node in the numbers of the job, not those of its graph.
struct Operation {
  NodeKind kind = NodeKind::kCollective;
  CollectiveKind collective = CollectiveKind::kAllReduce;
  Bytes bytes;
  GroupId group{};         // kCollective
  std::int64_t root = -1;  // kCollective: global rank, or -1 for the first member
  RankId peer{};           // kSend, kReceive
  std::int64_t tag = 0;    // likewise

  bool operator==(const Operation&) const = default;
};

// Returns the operation of a node of communication.
Operation operation_of(const Job& job, RankId rank, NodeId node);
// "all_reduce of 64 bytes on "tp"", "send of 64 bytes to rank 3, tag 7".
std::string to_text(const Job& job, const Operation& operation);

struct Edit {
  enum class Kind : std::uint8_t {
    kAdd,     // a node with `operation`, behind `node` and before `other`, either of which there may not be
    kRemove,  // `node`; what waited for it waits for what it waited for
    kChange,  // `node` does `operation`
    kSwap,    // `node` and `other` do what the other does
    kUnlink,  // `node` does not wait for `other`
    kLeave,   // the rank is no member of the group of `operation`
  };

  Kind kind = Kind::kRemove;
  RankId rank{};
  std::optional<NodeId> node{};
  std::optional<NodeId> other{};
  Operation operation{};

  bool operator==(const Edit&) const = default;
};

std::string_view name_of(Edit::Kind kind);  // "add"

// The edit without its rank, in the words of that rank's trace: "add all_reduce of 64 bytes on "tp" after node 42".
std::string to_text(const Job& job, const Edit& edit);

// The job with the edits, each of which names nodes as they are in `job`. Its graphs have no repetitions.
Job edited(const Job& job, std::span<const Edit> edits);

}  // namespace orrery::workload
