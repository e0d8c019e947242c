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

// True if it has a key that only experiments have.
bool is_experiment(const ConfigValue& root);

// Kind of file that is a part of an experiment, such as "cluster"; empty if it is none.
std::string_view part_kind(const ConfigValue& root);

// Kind of ASTRA-sim file, such as "network"; empty if it is none.
std::string_view astra_sim_file(const ConfigValue& root);

// Tells the kind of a file by its keys, for the message that refuses it (TellFileKind). `folder` is the one of the
// shipped files whose kind was expected; files of that kind have an empty answer. An empty `folder` expects no kind.
FileKindHint kind_hint(const ConfigValue& root, std::string_view folder);

// InputError if `file` is of another kind than kOther, a part of an experiment, a trace or no configuration at all
// (experiment/files/foreign_files.h).
void refuse_other_kinds(const std::string& file, const ConfigFiles& files);

// The same where a sweep is expected.
void refuse_other_than_sweeps(const std::string& file, const ConfigFiles& files);

}  // namespace orrery::experiment
