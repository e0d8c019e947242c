// SPDX-License-Identifier: MIT
// Arguments of the programs that launch training: Megatron-LM, Megatron-Bridge, torchtitan, DeepSpeed, FSDP. Each
// launcher is one table of arguments: what each means for an experiment, and what of an experiment it is written from.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/config/config.h"
#include "core/error.h"

namespace orrery::experiment {

struct Experiment;  // experiment/experiment.h

enum class Launcher : std::uint8_t { kMegatron, kMegatronBridge, kTorchtitan, kDeepSpeed, kFsdp };

inline constexpr std::array<std::string_view, 5> kLauncherNames = {"megatron", "megatron-bridge", "torchtitan",
                                                                   "deepspeed", "fsdp"};
inline std::string_view name_of(Launcher launcher) { return kLauncherNames[static_cast<std::size_t>(launcher)]; }
std::optional<Launcher> launcher_named(std::string_view name);
// Launcher that the beginning of a file and its name tell; nothing if it is none of a launcher.
std::optional<Launcher> launcher_of(const std::string& file, std::string_view beginning);

// An argument as it was written: "--num-layers 32", "training.seq_len = 4096", "zero_optimization.stage": 1.
struct LauncherArgument {
  std::string name;                 // as the launcher writes it: "--num-layers", "training.seq_len"
  std::vector<std::string> values;  // none: a switch
  Location where;
  std::string unresolved{};  // a variable in it whose value a script does not give
};

// kNotSimulated: it changes the time or the memory of a step, but not here.
enum class ArgumentFate : std::uint8_t { kUsed, kIgnored, kNotSimulated, kUnknown };

inline constexpr std::array<std::string_view, 4> kFateNames = {"used", "ignored", "not simulated", "unknown"};
inline std::string_view name_of(ArgumentFate fate) { return kFateNames[static_cast<std::size_t>(fate)]; }

// Keys of an experiment with their values as YAML: "workload.parallel.tensor": "8".
using KeySettings = std::vector<std::pair<std::string, std::string>>;

struct ReadArgument {
  LauncherArgument argument;
  ArgumentFate fate = ArgumentFate::kUnknown;
  std::string reason;  // of one that is not used: why, or the likely name of an unknown one
  KeySettings settings;
};

struct ImportedLaunch {
  Launcher launcher = Launcher::kMegatron;
  std::vector<ReadArgument> arguments;  // in the order of the files
  KeySettings defaults;                 // that the launcher has where its arguments are silent
  ConfigValue experiment;               // without the cluster where none was given; values stand at their arguments
  std::vector<Problem> warnings;        // what was guessed, what is not simulated

  std::size_t count(ArgumentFate fate) const;
};

struct LaunchOptions {
  std::optional<Launcher> launcher;  // nothing: as the files tell
  std::string cluster;               // a name or a path; empty: none
  std::int64_t ranks = 0;            // 0: as the files say, or as the cluster has room for
  std::int64_t nodes = 0;            // 0: as the files say
  std::string model;                 // whose values the arguments change, where they do not give all; a name or a path
  std::string software;              // in place of the launcher's; a name or a path
  std::vector<std::pair<std::string, std::string>> definitions;  // variables of scripts
  std::vector<std::string> settings;                             // a.b=v, over what the arguments give
  bool strict = false;                                           // unknown arguments are errors
};

// Makes an experiment of the files' arguments. Throws InputError with all that is wrong. Executes nothing.
ImportedLaunch import_launch(const std::vector<std::string>& files, const LaunchOptions& options,
                             const ConfigFiles& configs);

// A key of a job whose value the launcher's arguments do not give.
struct UnsaidKey {
  std::string key;
  std::string value;    // of the job
  std::string instead;  // what the launcher has by the arguments
};

// The arguments that make a launcher train a job, and what they leave out.
struct WrittenLaunch {
  Launcher launcher = Launcher::kMegatron;
  std::vector<LauncherArgument> arguments;
  std::vector<UnsaidKey> unsaid;  // found by reading the arguments again
  std::string text;               // as the launcher takes them: lines of a script, TOML, JSON
};

// InputError for a job that is no transformer, or of another kind than the launcher trains.
WrittenLaunch launcher_arguments(Launcher launcher, const Experiment& experiment);

// "used 31, ignored 12 (...)": counts, what is not simulated and what is unknown; with `details` all arguments.
std::string launch_text(const ImportedLaunch& launch, bool details);
// Keys that the arguments leave out, as comments; empty: none.
std::string unsaid_text(const WrittenLaunch& launch);

}  // namespace orrery::experiment
