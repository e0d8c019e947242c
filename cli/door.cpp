// SPDX-License-Identifier: MIT
// Commands of the program `orrery`.
#include "cli/commands.h"

namespace orrery::cli {
namespace {

// `run --seeds` is handed over before.
void add_run(CLI::App& app, Session& session) { add_run_command(app, session, nullptr); }

}  // namespace

std::span<const OwnCommand> own_commands() {
  static constexpr std::array<OwnCommand, 4> kOwn = {{{"run", add_run},
                                                      {"compare", add_compare_command},
                                                      {"model", add_model_command},
                                                      {"workload", add_workload_command}}};
  return kOwn;
}

void add_hidden_commands(CLI::App& /*app*/) {}

}  // namespace orrery::cli
