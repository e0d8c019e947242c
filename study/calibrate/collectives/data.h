// SPDX-License-Identifier: MIT
// The measurements that constants of NCCL are fitted to: logs of nccl-tests on a cluster of the configuration, each on
// as many of its nodes as it says.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "collectives/nccl/constants.h"
#include "collectives/nccl/constants_config.h"
#include "core/config/tree.h"
#include "core/error.h"
#include "core/units.h"
#include "study/benchmark/prediction.h"
#include "study/benchmark/question.h"
#include "study/nccl_tests/log.h"

namespace orrery::study {

// Tables of collectives, whichever file they come from.
struct NcclLog {
  std::string file;
  std::vector<NcclTable> tables;
};

// Question as written on the command line; an empty text was not given.
struct CalibrationQuestion {
  CollectiveQuestion machine{};         // that all was measured on; nodes and ranks of logs that do not say theirs
  std::vector<std::string> logs{};      // files, as read_nccl_log() takes them
  std::vector<NcclLog> measurements{};  // that have been read from other files
  std::string operation{};              // of tables that do not say theirs
  std::string version{};                // of NCCL; without it, what each log says
  bool in_place = false;                // the other column
};

struct CalibrationRow {
  std::size_t table = 0;  // into the benchmarks
  Bytes bytes{0};         // as workload::CallSize says
  double seconds = 0;     // measured
  Location where{};
};

struct CalibrationData {
  std::vector<NcclBenchmark> benchmarks;   // one for each kind of tables with rows
  std::vector<CalibrationRow> rows;        // at least one
  collectives::NcclConstants constants;    // of the library, with those of the cluster
  collectives::NcclConstantList measured;  // those of the cluster
  std::string device;
  std::uint32_t nodes = 1;  // of the benchmark with the most
  std::vector<std::string> logs;
};

// The most rows that a fit takes; it looks at each of them thousands of times.
inline constexpr std::size_t kMostCalibrationRows = 1000;

// Reduces rows to at most `most`: the median time of each size of a benchmark, and of several neighbouring sizes one.
// Ascending by benchmark and size.
std::vector<CalibrationRow> medians_of(std::vector<CalibrationRow> rows, std::size_t most = kMostCalibrationRows);

// Throws InputError: a log without such rows, given twice, of other devices, of more ranks than the cluster has, of an
// operation that is not known or not timed. What was assumed or left out are warnings.
CalibrationData read_calibration(const CalibrationQuestion& question, const ConfigFiles& files,
                                 Diagnostics& diagnostics);

double predicted_seconds(const CalibrationData& data, const CalibrationRow& row,
                         const collectives::NcclConstants& constants);

}  // namespace orrery::study
