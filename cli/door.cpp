// SPDX-License-Identifier: MIT
// Commands of the program `orrery`.
#include <array>

#include "cli/own_commands.h"

namespace orrery::cli {
namespace {

// `run --seeds` is handed over before.
void add_run(CLI::App& app, Session& session) { add_run_command(app, session, nullptr); }

}  // namespace

std::span<const OwnCommand> own_commands() {
  static constexpr std::array<OwnCommand, 2> kOwn = {{{"run", add_run}, {"compare", add_compare_command}}};
  return kOwn;
}

void add_hidden_commands(CLI::App& /*app*/, Session& /*session*/) {}

}  // namespace orrery::cli
