// SPDX-License-Identifier: MIT
// Commands of the program `orrery-study`: all of them.
#include "cli/commands.h"

namespace orrery::cli {

std::span<const OwnCommand> own_commands() {
  static constexpr std::array<OwnCommand, kCommands.size()> kOwn = {{
      {"run", add_run_command},
      {"compare", add_compare_command},
      {"explain", add_explain_command},
      {"goodput", add_goodput_command},
      {"search", add_search_command},
      {"sweep", add_sweep_command},
      {"check", add_check_command},
      {"list", add_list_command},
      {"model", add_model_command},
      {"cluster", add_cluster_command},
      {"workload", add_workload_command},
      {"collective", add_collective_command},
      {"calibrate", add_calibrate_command},
      {"astra-sim", add_astra_sim_command},
      {"validate", add_validate_command},
  }};
  return kOwn;
}

void add_hidden_commands(CLI::App& app, Session& session) { add_shell_commands(app, session); }

}  // namespace orrery::cli
