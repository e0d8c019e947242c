// SPDX-License-Identifier: MIT
// The commands, in the order of the help. Two programs share the command line: `orrery` has the commands that simulate
// an experiment and compare several, as text and JSON, and takes half of the time to build; it hands all else
// over to `orrery-study` beside it, which has everything.
#pragma once

#include <array>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include <CLI/CLI.hpp>

#include "cli/own_commands.h"
#include "cli/session.h"

namespace orrery::cli {

struct CommandAbout {
  std::string_view name;
  std::string_view about;
};
inline constexpr std::array<CommandAbout, 15> kCommands = {{
    {"run", "Simulate one experiment: iteration time, where the time goes, link loads"},
    {"compare",
     "Simulate experiments, or result.json files again, and compare: times, ratios, what explains the difference"},
    {"explain", "Simulate an experiment again with every resource improved, and with plans near its own: what helps"},
    {"goodput", "Estimate goodput: the time that failures and checkpoints leave, and the best interval"},
    {"search", "Find the fastest plans of a training job that fill its cluster and fit its memory"},
    {"sweep", "Simulate all combinations of values along axes, as docs/sweeps.md describes"},
    {"check", "Check configurations and traces without simulating"},
    {"list", "List what is shipped, with its main figures, and all configuration keys"},
    {"model", "Show models"},
    {"cluster", "Show clusters, and import them"},
    {"workload", "Inspect, lint, generate and import traces"},
    {"collective", "Time one collective by size, as nccl-tests does: bandwidths, what bounds it"},
    {"calibrate", "Fit a cluster and software to logs, kernels, profiles and steps"},
    {"astra-sim", "Run ASTRA-sim's own files: its numbers, faster, and what it keeps silent about"},
    {"validate", "Compare predicted times with published measurements: the error of each table"},
}};

// Adds the commands that `words`, a command line, names, where it names some: that is quicker than to add all. Of the
// others, and of those of the other program, what the help says.
void add_commands(CLI::App& app, Session& session, std::span<char* const> words);

// Options for which `orrery` hands its own commands over as well: cli/extras.h.
struct ExtraOption {
  std::string_view command;
  std::string_view option;
};
inline constexpr std::array<ExtraOption, 9> kExtraOptions = {{{"run", "--html"},
                                                              {"run", "--launcher-flags"},
                                                              {"run", "--schedule"},
                                                              {"run", "--schedule-svg"},
                                                              {"run", "--seeds"},
                                                              {"run", "--timeline"},
                                                              {"compare", "--html"},
                                                              {"compare", "--svg"},
                                                              {"compare", "--vega"}}};

// The command of a command line if another program has it: its first word, with the option for which it is handed over
// if there is one ("run --seeds"). The parser is not asked, for it does not know the commands of the other program.
std::optional<std::string> command_of_another_program(std::span<char* const> words);

// Becomes the other program, with the same words. InputError where that is not beside this one.
[[noreturn]] void hand_over(std::string_view command, char* const* words);

}  // namespace orrery::cli
