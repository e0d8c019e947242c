// SPDX-License-Identifier: MIT
// Breakdowns as tables for people need them: communicators added up by family, ranks averaged.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/units.h"
#include "report/result.h"
#include "workload/graph/job.h"

namespace orrery::report {

// Name of a communicator, under which it is summed up with all that differ only in where they lie: "tensor" for
// "tensor3" and "tensor7", nameless ones by their shape. A name loses its trailing number; a name that is only a
// number, or a hash, becomes "8 ranks by 4": its size and the distance between its ranks ("8 ranks" where that is one,
// "8 ranks, mixed" where it varies). Those of several jobs are summed up together.
std::string group_family(const workload::Communicator& communicator);
// Families by name of communicator: of all, or where ranks repeat of those that others are like and those of acting
// ranks.
std::map<std::string, std::string> group_families(const workload::Job& job, std::span<const RankId> acting);

// One rank's breakdown, exposed communication by group family.
struct RankParts {
  Duration compute{}, slowed{}, host{}, memory{}, bubble{}, wait{}, idle{};
  std::map<std::string, Duration> exposed;
  Time finish;

  bool operator==(const RankParts&) const = default;
};

RankParts parts_of(const Breakdown& rank, const Result& result);

enum class PartKind : std::uint8_t { kCompute, kHost, kMemory, kCommunication, kWait, kBubble, kIdle, kSlowed };

// A part of the iteration, mean over ranks.
struct Part {
  std::string name;  // "device compute", "exposed communication (tensor)", ...
  double seconds = 0;
  PartKind kind = PartKind::kCompute;
  std::string family{};  // of kCommunication: "tensor"
};

// Name in a word: "compute", "stage wait"; of communication its family.
std::string short_name(const Part& part);

// The parts that are not zero, largest first; they sum to the iteration time.
std::vector<Part> mean_parts(const Result& result);

// Seconds of Breakdown::host_pace, mean over ranks.
double mean_host_pace(const Result& result);

// The name of an operation without the number of its layer: "layer * mlp forward".
std::string every_layer(std::string_view name);

// "0-3,8-11": `ranks` ascending. Ends in "..." once it is longer than `most` characters.
std::string rank_ranges(std::span<const std::size_t> ranks, std::size_t most = SIZE_MAX);

}  // namespace orrery::report
