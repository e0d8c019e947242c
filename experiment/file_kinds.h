// SPDX-License-Identifier: MIT
// Kinds of files that users may name, told by their keys without reading them, so that whoever expects one kind can say
// what it was given instead, and which command takes that.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/config/tree.h"

namespace orrery::experiment {

// kOther: an experiment, a result, a profile, a part of an experiment, or nothing that is known.
enum class FileKind : std::uint8_t {
  kOther,
  kMeasurements,  // a table of published ones
  kSweep,
  kAstraSim,
};
FileKind file_kind(const std::string& file, const ConfigFiles& files);

// Kind of a file with these contents, told by its keys alone.
FileKind file_kind(const ConfigValue& root);

// The section of `orrery validate` that a table of measurements belongs to, "experts"; empty if the file is none.
std::string_view measurements_of(const std::string& file, const ConfigFiles& files);

// Kind of ASTRA-sim file, such as "network"; empty if it is none.
std::string_view astra_sim_file(const ConfigValue& root);

// InputError if `file` is of another kind than kOther, or a trace.
void refuse_other_kinds(const std::string& file, const ConfigFiles& files);

}  // namespace orrery::experiment
