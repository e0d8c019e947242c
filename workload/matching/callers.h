// Who calls on a communicator. Members whose graph, slot and roots are the same ask for the same in all their calls:
// they are callers of one kind.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "core/collective_kind.h"
#include "core/ids.h"
#include "core/units.h"
#include "workload/graph/job.h"

namespace orrery {

// What a caller asks for in one call.
struct CallRequest {
  CollectiveKind kind = CollectiveKind::kAllReduce;
  Bytes bytes;
  std::uint32_t root = 0;  // position among the members

  auto operator<=>(const CallRequest&) const = default;
};

struct CallerKind {
  const ExecutionGraph* graph = nullptr;
  std::span<const NodeId> calls;     // on the communicator, in order; of members that never call, empty
  std::vector<std::uint32_t> roots;  // by call; empty: all zero

  CallRequest request(std::size_t call) const;
};

class Callers {
 public:
  // `job` outlives it.
  explicit Callers(const Job& job);

  // The kind of every member of the communicator, in its order.
  std::vector<std::uint32_t> kinds_of(GroupId group);
  const CallerKind& operator[](std::uint32_t kind) const { return kinds_[kind]; }

 private:
  struct Binding {
    RankId rank{};
    std::uint32_t slot = 0;
  };
  using Positions = std::vector<std::pair<RankId, std::uint32_t>>;  // among the members, by rank

  void collect_bindings();
  std::optional<std::uint32_t> slot_of(RankId rank, GroupId group) const;
  std::vector<std::uint32_t> roots_of(const RankBinding& binding, const CallerKind& caller,
                                      const Positions& positions) const;

  const Job& job_;
  std::vector<CallerKind> kinds_;              // 0: never calls; then those without roots, by graph and slot
  std::vector<std::uint32_t> first_of_graph_;  // into kinds_
  std::map<std::pair<std::uint32_t, std::vector<std::uint32_t>>, std::uint32_t> rooted_;  // by kind without, and roots
  std::vector<std::size_t> first_of_group_{0};                                            // into bindings_, by GroupId
  std::vector<Binding> bindings_;                                                         // group after group, by rank
};

}  // namespace orrery
