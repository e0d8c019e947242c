// SPDX-License-Identifier: MIT
// From a collective call to what its members run: algorithms per dimension, phases, schedules, chunks.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "collectives/aggregate.h"
#include "collectives/algorithms.h"
#include "collectives/message_table.h"
#include "collectives/nccl/constants_config.h"
#include "collectives/nccl/options.h"
#include "collectives/phase_plan.h"
#include "collectives/schedule.h"
#include "core/collective_kind.h"
#include "core/config/dispatch.h"
#include "core/units.h"
#include "system/plans/communicator_layout.h"
#include "system/plans/dimensions.h"
#include "system/plans/group_library.h"
#include "system/plans/line_traffic.h"

namespace orrery::system {

// Order of chunks that wait for a dimension: within a call, or among all calls of a rank, by arrival or by the priority
// of their nodes.
enum class QueuePolicy : std::uint8_t { kFifo, kLifo, kPriority };

// kCollective: every call has queues of its own, and a communicator runs one call at a time. kRank: all calls of a rank
// may be under way, and wait in one queue for each dimension.
enum class QueueScope : std::uint8_t { kCollective, kRank };

// kStep: every message. kPhase: all messages of a phase in one line of ranks as one, which starts when all of the line
// have come to it and ends for all at once.
enum class Granularity : std::uint8_t { kStep, kPhase };

// "step", "phase", in the order of the enumeration.
std::vector<std::string> granularity_names();

// Configuration of collectives. `algorithms`, `tables`, `chunks`, `queue`, `queue_scope`, `order`, `logical_dimensions`
// and `active_chunks` are of the `fixed` library. With another, which outlives the options, every call runs as one
// whole, and `granularity` has to be kPhase.
struct CollectiveOptions {
  std::array<std::vector<collectives::Algorithm>, kAllCollectiveKinds.size()>
      algorithms;  // by kind, per fabric dimension; empty: default
  // Algorithms of files by kind of collective, each for groups of as many ranks as it has, which run it as one whole.
  std::array<std::vector<std::shared_ptr<const collectives::MessageTable>>, kAllCollectiveKinds.size()> tables{};
  std::uint32_t chunks = 1;
  QueuePolicy queue = QueuePolicy::kFifo;
  QueueScope queue_scope = QueueScope::kCollective;
  DimensionOrder order = DimensionOrder::kBaseline;
  std::vector<std::uint32_t> logical_dimensions{};  // sizes, the innermost first; empty: those of the fabric
  Granularity granularity = Granularity::kStep;
  bool contention = true;  // a library's calls and sends slow down what is computed beside them
  // The dimension whose switches add up, if there is one: by default what can runs in them.
  std::optional<std::uint32_t> in_network_dimension{};
  std::uint32_t active_chunks = 1;                 // chunks of one queue that a rank has in flight on one dimension
  std::optional<collectives::NcclOptions> nccl{};  // with `library: nccl`, whose granularity is kPhase
  std::optional<collectives::NcclConstantsFile> nccl_constants{};  // likewise
  const GroupLibrary* library = nullptr;

  // Table for groups of `ranks`; null if no file has one.
  const collectives::MessageTable* table(CollectiveKind kind, std::uint32_t ranks) const;
};

struct PlannedPhase {
  collectives::Phase phase;
  // Schedule of every line along the phase's axis, or a library's aggregate of the whole communicator.
  std::variant<collectives::Schedule, collectives::Aggregate> work;
  std::vector<std::uint32_t> then{};  // phases that come after it: Phase::after the other way round

  bool is_whole() const { return std::holds_alternative<collectives::Aggregate>(work); }
  const collectives::Schedule& schedule() const { return std::get<collectives::Schedule>(work); }
  const collectives::Aggregate& transfer() const { return std::get<collectives::Aggregate>(work); }
};

struct CollectivePlan {
  const CommunicatorLayout* layout = nullptr;  // outlives the plan
  std::vector<PlannedPhase> phases;            // of one chunk
  std::uint32_t chunks = 1;
  std::vector<std::uint32_t> root;     // coordinates of the root
  const GroupLayout* group = nullptr;  // by a library: how the communicator lies; outlives the plan
  // Result of DimensionOrder::kThemis. kNone: orders of their own would not let the chunks end sooner.
  enum class Balance : std::uint8_t { kNotAsked, kNone, kOrders } balance = Balance::kNotAsked;

  // Part of each member's device that the call takes; none of calls that are sequences of messages.
  collectives::DeviceShare takes() const {
    return !phases.empty() && phases.front().is_whole() ? phases.front().transfer().takes : collectives::DeviceShare{};
  }
  bool participates(std::size_t phase, std::uint32_t position) const;
};

// One call as the plan sees it: sizes by member where they differ.
struct PlanRequest {
  CollectiveKind kind = CollectiveKind::kAllReduce;
  Bytes bytes{0};
  std::uint32_t root = 0;                  // member
  std::span<const Bytes> bytes_of_member;  // empty: all are `bytes`
};

// The algorithm for `kind` on a dimension of `size` members of topology `topology` ("" for a logical ring): the
// configured one, or in-network where the switches of the fabric's dimension add up and the kind has it, direct for
// all-to-all and where fully connected, halving-doubling for 2^k members on a switch, a fat-tree or rails,
// bidirectional-ring on rings, tori and meshes, ring elsewhere.
collectives::Algorithm choose_algorithm(CollectiveKind kind, const CollectiveOptions& options,
                                        std::string_view topology, std::uint32_t fabric_dimension, std::uint32_t size);

// Algorithm of each dimension in which the layout has more than one coordinate, in order; of a logical ring, its only
// one. `dimensions` as of collective_dimensions().
struct DimensionAlgorithm {
  std::uint32_t dimension = 0;
  collectives::Algorithm algorithm;
  bool nearest_first = false;                        // as in Request
  const collectives::MessageTable* table = nullptr;  // of the whole group, in place of the algorithm
};
// "ring", "halving-doubling+ring": one for each dimension in use.
std::string name_of(std::span<const DimensionAlgorithm> algorithms);
std::vector<DimensionAlgorithm> choose_algorithms(CollectiveKind kind, const CollectiveOptions& options,
                                                  const CommunicatorLayout& layout,
                                                  std::span<const network::LogicalDimension> dimensions);

// `algorithms` as chosen for the layout, in which the axes of a dimension are one where its algorithm does not go along
// each (Algorithm::along_axes). `layout` must be of one axis where sizes differ or there is a table. Throws InputError
// where a table cannot do what is asked: with another root, or with sizes that differ.
struct GroupPlace {
  const network::Fabric& fabric;
  std::span<const DeviceId> devices;  // by member
  bool differs_by_line = false;       // lines of one dimension may take other times, and so may groups of one layout
};
CollectivePlan plan_collective(const PlanRequest& request, const CommunicatorLayout& layout,
                               const CollectiveOptions& options, std::span<const DimensionAlgorithm> algorithms,
                               const GroupPlace& place);

// Plan of a call that the library runs: one phase of one chunk. `layout` is the logical ring of the members of `group`.
// `exchange`: that of the group's tokens, which all-to-alls take; may be null.
CollectivePlan plan_transfer(const PlanRequest& request, const CommunicatorLayout& layout, const GroupLayout& group,
                             const GroupLibrary& library, const TokenExchange* exchange = nullptr);

// Traffic of one phase of the plan in the line of members at `devices`.
LineTraffic traffic_of(const CollectivePlan& plan, std::size_t phase, std::span<const DeviceId> devices,
                       const network::Fabric& fabric);

}  // namespace orrery::system
