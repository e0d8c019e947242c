// SPDX-License-Identifier: MIT
// Recorded steps replayed on a model of the machine that they were recorded on, from configs/validation/traces: how far
// the replayed step is from the measured one. Computations and the host keep their recorded times, so that only
// communication and waiting are predicted: each result says how much of the step that is.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "core/in_parallel.h"
#include "study/table_files.h"
#include "workload/import/kineto/kineto.h"

namespace orrery::study {

struct TraceTable {
  std::string name;
  Location where;  // of the name
  std::string title;
  std::string source;
  std::string measured;             // the machine, in the words of the source
  std::vector<std::string> traces;  // files and archives, in the folder of the data
  std::string prefix;               // of Chakra traces in the archive; empty: these are profiles
  std::optional<Duration> step;     // as measured; nothing: what the profiles say
  std::string step_from;            // how `step` was measured
  std::string miss;                 // why the replay is far off, where it is
  ConfigValue experiment;           // without its traces

  static constexpr std::string_view kFolder = "validation/traces";
};

void read_table(Section& section, TraceTable& table);

struct ReplayedTrace {
  const TraceTable* table = nullptr;
  std::string skipped;  // why it was not replayed; all below is meaningless then
  std::size_t ranks = 0;
  workload::KinetoFacts recorded{};  // of profiles
  Duration measured{};
  Duration replayed{};
  // Of the replayed step, mean over ranks.
  double as_recorded = 0;    // computing, the host
  double communicating = 0;  // simulated, and exposed
  double waiting = 0;        // for other ranks, in simulated calls
  // Of all collectives of the world, each from when its last rank had come; zero: not known.
  Duration exchange_measured{};
  Duration exchange_simulated{};
  // Time of all operations of a rank's device for each second of its step; 0: not known.
  double overlap_measured = 0;
  double overlap_replayed = 0;

  double error() const { return seconds(replayed) / seconds(measured) - 1; }  // signed
};

// `data`: the folder of the traces. Those that are not there, or cannot be unpacked, are skipped.
std::vector<ReplayedTrace> validate_traces(std::span<const TraceTable> tables, const std::filesystem::path& data,
                                           const ConfigFiles& files, const WorkProgress& progress = {});

std::string trace_validation_text(std::span<const ReplayedTrace> traces);
// What stands under "traces" in the document "orrery.validation/1".
nlohmann::ordered_json to_json(std::span<const ReplayedTrace> traces);

}  // namespace orrery::study
