// SPDX-License-Identifier: MIT
// Recorded steps replayed on a model of the machine that they were recorded on, from configs/validation/traces: how far
// the replayed step is from the measured one. Computations and the host keep their recorded times, so that only
// communication and waiting are predicted: each result says how much of the step that is.
#pragma once

#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "core/in_parallel.h"
#include "study/table_files.h"
#include "study/validate/measured/kind.h"
#include "study/validate/measured/measured.h"

namespace orrery::study {

struct TraceTable : MeasuredTable {
  std::string title;
  std::string source;
  std::vector<std::string> traces;  // files and archives, in the folder of the data
  std::string prefix;               // of Chakra traces in the archive; empty: these are profiles
  std::optional<Duration> step;     // as measured; nothing: what the profiles say
  std::string step_from;            // how `step` was measured
  std::string miss;                 // why the replay is far off, where it is
  ConfigValue experiment;           // without its traces

  static constexpr std::string_view kFolder = "validation/traces";
};

void read_table(Section& section, TraceTable& table);

// Replays each trace, several at a time. `data`: the folder of the traces; those that are not there, or cannot be
// unpacked, do not count and have the fact "skipped", which says why. The facts of the others: "ranks", "profiles" (0
// of Chakra traces); of the replayed step, mean over ranks, the shares "as_recorded" (computing, the host), "simulated"
// (exposed communication) and "waiting" (for other ranks in it); where known, the times of all collectives of the
// world, each from when its last rank had come, "calls_measured_s" and "calls_simulated_s"; and "overlap_measured" and
// "overlap_replayed", time of all operations of a rank's device for each second of its step, 0 where not known.
MeasuredRows validate_traces(std::span<const TraceTable> tables, const std::filesystem::path& data,
                             const ConfigFiles& files, Points* points = nullptr);
bool is_skipped(const Measured& trace);

// Says why there are no recordings beside the program.
inline constexpr std::string_view kNoRecordings =
    "the recordings of configs/validation/traces are not shipped; each file there names its source";

Validated validate_replays(const ValidationRequest& request);

std::string trace_validation_text(const MeasuredRows& traces);
// Member "traces" of the document "orrery.validation/1".
nlohmann::ordered_json traces_json(const MeasuredRows& traces);

}  // namespace orrery::study
