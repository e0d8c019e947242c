// Breakdowns as tables for people need them: communicators added up by family, ranks averaged.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "core/units.h"
#include "report/result.h"

namespace orrery {

// One rank's breakdown, exposed communication by group family.
struct RankParts {
  Duration compute{}, host{}, memory{}, bubble{}, wait{}, idle{};
  std::map<std::string, Duration> exposed;
  Time finish;

  bool operator==(const RankParts&) const = default;
};

RankParts parts_of(const Breakdown& rank, const Result& result);

enum class PartKind : std::uint8_t { kCompute, kHost, kMemory, kCommunication, kWait, kBubble, kIdle };

// A part of the iteration, mean over ranks.
struct Part {
  std::string name;  // "device compute", "exposed communication (tensor)", ...
  double seconds = 0;
  PartKind kind = PartKind::kCompute;
  std::string family{};  // of kCommunication: "tensor"
};

// In a word: "compute", "bubble"; of communication its family.
std::string short_name(const Part& part);

// The parts that are not zero, largest first; they sum to the iteration time.
std::vector<Part> mean_parts(const Result& result);

}  // namespace orrery
