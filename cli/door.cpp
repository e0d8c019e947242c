// SPDX-License-Identifier: MIT
// Commands of the program `orrery`.
#include <array>
#include <stdexcept>

#include "cli/own_commands.h"

namespace orrery::cli {

std::span<const OwnCommand> own_commands() {
  static constexpr std::array<OwnCommand, 2> kOwn = {{{"run", add_run_command}, {"compare", add_compare_command}}};
  return kOwn;
}

void add_hidden_commands(CLI::App& /*app*/, Session& /*session*/) {}

const Extras& extras() { throw std::logic_error("an option that only orrery-study has is none of kExtraOptions"); }

}  // namespace orrery::cli
