// SPDX-License-Identifier: MIT
// Commands of one of the two programs (cli/commands.h), without the parser's headers, which take ten times as long to
// compile as the list itself.
#pragma once

#include <span>
#include <string_view>

namespace CLI {
class App;
}

namespace orrery::cli {

struct Session;
class Extras;  // cli/extras.h

// Adds a command, with its options and what it does, to the parser.
using AddCommand = void (*)(CLI::App& app, Session& session);

struct OwnCommand {
  std::string_view name;
  AddCommand add;
};

// Commands of this program (door.cpp, study/commands.cpp).
std::span<const OwnCommand> own_commands();

// Adds what only this program has and no help names: completion and pages of the manual (study/commands.cpp).
void add_hidden_commands(CLI::App& app, Session& session);

// Answers to the options of `run` and `compare` that only `orrery-study` has (cli/extras.h). Throws in `orrery`, which
// hands command lines with such options over.
const Extras& extras();

void add_run_command(CLI::App& app, Session& session);
void add_compare_command(CLI::App& app, Session& session);
void add_explain_command(CLI::App& app, Session& session);
void add_goodput_command(CLI::App& app, Session& session);
void add_sweep_command(CLI::App& app, Session& session);
void add_search_command(CLI::App& app, Session& session);
void add_check_command(CLI::App& app, Session& session);
void add_list_command(CLI::App& app, Session& session);
void add_model_command(CLI::App& app, Session& session);
void add_workload_command(CLI::App& app, Session& session);
void add_cluster_command(CLI::App& app, Session& session);
void add_collective_command(CLI::App& app, Session& session);
void add_astra_sim_command(CLI::App& app, Session& session);
void add_calibrate_command(CLI::App& app, Session& session);
void add_validate_command(CLI::App& app, Session& session);
// Hidden: the build calls them, to install what they print.
void add_shell_commands(CLI::App& app, Session& session);

}  // namespace orrery::cli
