// SPDX-License-Identifier: MIT
// Other programs, run without a shell.
#pragma once

#include <chrono>
#include <span>
#include <string>
#include <string_view>

namespace orrery::study {

// Output of a program, and its exit code.
struct Process {
  int exit_code = 0;  // 128 + the signal that ended it, as shells have it
  std::string output;
  std::string errors;
};

// Runs the first of `words`, looked up in PATH, with the others as its arguments and nothing on its standard input, in
// a process group of its own: Ctrl-C does not reach it. InputError where it cannot be started or takes longer than
// `limit`, after which it is killed.
Process run_process(std::span<const std::string> words, std::chrono::seconds limit = std::chrono::seconds(120));

}  // namespace orrery::study
