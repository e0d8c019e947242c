// SPDX-License-Identifier: MIT
// From the Chakra traces of all ranks to a Job.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "core/error.h"
#include "workload/graph/job.h"

namespace orrery::workload {

// Kinds of a trace's dependencies that order its nodes. PyTorch's ctrl_deps say who called whom, not what comes first,
// and can close cycles with the data dependencies.
enum class Dependencies : std::uint8_t { kBoth, kData, kCtrl };

std::string_view name_of(Dependencies dependencies);  // "both", "data", "ctrl"
std::optional<Dependencies> dependencies_named(std::string_view name);

// Duration of a host node: its own, or the time until the next one began, by their `ts` (PyTorch's converter writes
// it). Between two operators is the time of Python, which no node has; and the duration of an operator is also in that
// of the one that called it.
enum class HostTimes : std::uint8_t { kDurations, kTimestamps };

// Reader of traces, which determines what is reported of them and how messages name the choices.
enum class TraceReader : std::uint8_t {
  kExperiment,  // keys; what loading needs to know
  kInspect,     // options; what is there, sound or not, as far as it can be described
  kLint,        // options; whatever is wrong or doubtful
};

// "workload.chakra.groups: FILE", or "--groups FILE".
std::string choice_of(TraceReader reader, std::string_view key, std::string_view value);

struct ChakraSource {
  std::string prefix{};                 // rank r is `<prefix>.<r>.et`, `.et.gz` or `.json`; ranks contiguous from 0
  std::optional<std::string> groups{};  // communicator groups file
  Dependencies dependencies = Dependencies::kBoth;
  HostTimes host = HostTimes::kDurations;
};

// Files done so far, of how many.
using LoadProgress = std::function<void(std::size_t done, std::size_t total)>;

// Reads every rank before it gives up: all errors of all files are collected in `diagnostics` (equal ones of several
// ranks as one), warnings too. Throws InputError if there are errors.
Job load_chakra_job(const ChakraSource& source, Diagnostics& diagnostics, const LoadProgress& progress = {});

// The same without throwing: nothing where there are errors.
std::optional<Job> try_load_chakra_job(const ChakraSource& source, TraceReader reader, Diagnostics& diagnostics,
                                       const LoadProgress& progress = {});

}  // namespace orrery::workload
