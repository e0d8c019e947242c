// Diagnostics on standard error, through spdlog: errors, warnings, and with --verbose what the program is doing.
#pragma once

namespace orrery::cli {

// Sets up spdlog's default logger: standard error, messages as they are (they say themselves what they are).
void start_log(bool verbose);

}  // namespace orrery::cli
