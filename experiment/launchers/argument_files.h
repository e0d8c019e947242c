// SPDX-License-Identifier: MIT
// Launchers whose arguments stand in a file as a tree: TOML, JSON, YAML. An argument's name is its path.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/config/config.h"
#include "core/config/tree.h"
#include "experiment/launchers/argument_table.h"

namespace orrery::experiment {

// Option by which the model of such a launch is given, in the way of an argument.
inline constexpr std::string_view kModelOption = "--model";

// Parses TOML as parse_config() does YAML. Integers and truths are written as YAML has them; dates as TOML does.
ConfigValue parse_toml(std::string_view text, const std::string& file, Diagnostics& diagnostics);

// Arguments of a tree by their paths, "training.seq_len". A list without elements is one
// value "[]", an element that is a map or a list is a value in JSON; nulls and empty maps are no arguments.
std::vector<LauncherArgument> arguments_of(const ConfigValue& tree);
// Arguments of files, and the model of the options.
LaunchFiles tree_arguments(const std::vector<std::string>& files, const LaunchOptions& options,
                           Diagnostics& diagnostics);
// Arguments of files that accelerate launches by, with the ranks and nodes that they say unless the options do.
LaunchFiles accelerate_arguments(const std::vector<std::string>& files, const LaunchOptions& options,
                                 Diagnostics& diagnostics);

// Values of a list; those of one text are separated by commas, as command lines have them.
std::vector<std::string> words_of_list(const LaunchReading& reading, std::string_view name);

// Sets `workload.model` from --model, or from `fallback` (a name of configs/models, may be empty), with the sequence
// length where one is given. False if nothing says it.
bool set_model(LaunchReading& reading, const std::string& fallback, std::optional<std::int64_t> sequence);
// The model of a job as a map in JSON, as --model takes it.
std::string resolved_model(const LaunchWriting& writing);
// Layers of a model by its name, path or map; nothing if it cannot be read or is no transformer.
std::optional<std::int64_t> layers_of_model(const LaunchReading& reading, const std::string& model);

// Numbers that arguments may have, by the names of their rows.
struct ArgumentRange {
  std::string_view name;
  Range range;
};
// Reports numbers beyond their ranges.
void check_ranges(LaunchReading& reading, std::span<const ArgumentRange> ranges);
// A number that check_ranges() has seen: `fallback` in place of one that is beyond.
std::int64_t number_within(const LaunchReading& reading, std::string_view name, std::int64_t fallback,
                           Range range = {1, 65536});

// Number of ranks; 0 if nothing says it.
std::int64_t world_of(const LaunchReading& reading);

// Names of the three arguments of which two give the third.
struct BatchNames {
  std::string_view global, micro, accumulation;
};
// Sets replicas and batches of a job whose replicas have `ranks_of_replica` ranks each.
void set_batch(LaunchReading& reading, const BatchNames& names, std::int64_t ranks_of_replica);

// The arguments as JSON and as TOML, types as their rows say. Options of a command line are left out.
std::string json_of_arguments(const LauncherTable& table, const WrittenLaunch& launch);
std::string toml_of_arguments(const LauncherTable& table, const WrittenLaunch& launch);

}  // namespace orrery::experiment
