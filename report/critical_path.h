// SPDX-License-Identifier: MIT
// Critical path of a job: the chain of operations, across ranks, that ends with the last finish, each of which released
// the next. Nothing beside it matters for the time, until it is slower by its slack; what is on it does.
//
// It is found from the end: an operation began when something on its rank ended that it depends on, or that was on its
// stream; a collective moved when its last member came, and the chain goes on with that member; a message is on its
// way since its send began, and the chain goes on with the sender. A computation that ended when its host let it waited
// for that, not for the device: the chain goes on along the host's launches, one after the other, to what the host
// itself waited for, a synchronisation or its beginning. The steps leave no gaps: they sum to the time to the
// picosecond. Of several that ended at the same instant the one is taken that the operation depends on, of these
// the first in the program.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "core/collective_kind.h"
#include "core/ids.h"
#include "core/units.h"
#include "report/operation_log.h"
#include "report/path_links.h"
#include "report/result.h"
#include "workload/graph/job.h"
#include "workload/matching/matching.h"

namespace orrery::report {

// Share of the path that went by on ranks of one class.
struct PathOfRank {
  RankId rank{};  // that stands for them
  Duration time{};
  Duration compute{};    // of it, with memory and what the host does itself
  Duration hosting{};    // of `compute`: the host's own work
  Duration launching{};  // of it: the host launched kernels that the device waited for
  Duration late{};       // of it, before its first operation

  // Time of `compute` that devices and memory take.
  Duration device() const { return compute - hosting; }
};

// Share of the path that moved over a link.
struct PathOfLink {
  LinkId link{};
  Duration moving{};   // as fast as the link carries the step's part alone
  Duration excess{};   // of it, what links of devices and NICs would not have taken
  Duration waiting{};  // beside what others had on it
};

// Part of the path over all links of a class.
struct PathOfClass {
  std::string name;  // "nic.up"
  Duration moving{};
  Duration waiting{};
};

// Steps of the path that rest on the same figures, all together.
struct PathPiece {
  // kCompute, kSlowed, kLaunch: of the programs with one graph; kSlowed: by communication beside them; kLaunch: by the
  // host. kHost, kMemory, kCopies: the host's own work, remote memory, copies from and to the host. kOther: waits for
  // what is not known.
  enum class Kind : std::uint8_t { kCompute, kSlowed, kLaunch, kHost, kMemory, kCopies, kCollective, kMessage, kOther };
  Kind kind = Kind::kOther;
  std::uint32_t graph = 0;
  RankId rank{};             // that runs it, one of them
  std::uint32_t number = 0;  // kCollective: of a call of the group
  GroupId group{};           // kCollective: one of those that lie alike
  CollectiveKind call = CollectiveKind::kAllReduce;
  Bytes bytes{0};                          // kCollective: of the largest input; kMessage: of one
  bool is_same_node = true;                // kMessage
  std::optional<std::uint16_t> slowest{};  // classes of links: of those that need longest, and of those that are shared
  std::optional<std::uint16_t> shared{};
  std::size_t steps = 0;
  Duration time{};
  Duration moving{}, latency{}, waiting{};  // of `time`, of kCollective and kMessage

  auto place() const { return std::tuple(kind, graph, group, call, bytes, is_same_node, slowest, shared); }
};

struct CriticalPath {
  std::vector<PathShare> parts;       // they sum to the finish; largest first, as the others
  std::vector<PathShare> operations;  // by name
  std::vector<PathOfRank> ranks;
  std::vector<PathOfLink> links;          // by LinkId; none without PathLinks
  std::vector<PathOfClass> link_classes;  // in the order of the fabric
  Duration latency{};                     // of steps that moved over links
  std::vector<PathPiece> pieces;          // none without PathLinks; they sum to the finish
};

// Sources of a path beside the run itself, if there are any.
struct PathSources {
  PathLinks* links = nullptr;                    // without, nothing is told of links, nor pieces
  const workload::Matching* matching = nullptr;  // of the job; found where it is needed and there are no links
};

// `acting`: by rank, whose operations the log has for it. `result` is of the same run.
CriticalPath critical_path(const workload::Job& job, const OperationLog& log, std::span<const RankId> acting,
                           const Result& result, const PathSources& sources = {});

// "critical path of 27.09 s: ...", what it is made of, where it went by, and its longest operations.
std::string critical_path_text(const CriticalPath& path, const Result& result);
// Adds "critical_path", "critical_operations" and "critical_ranks" to the document "orrery.result/1".
void add_critical_path(const CriticalPath& path, const Result& result, nlohmann::ordered_json& document);

}  // namespace orrery::report
