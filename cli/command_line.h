// The command line as its parser defines it, for what is written from it: completions of shells, the man page.
#pragma once

#include <string>
#include <vector>

#include <CLI/CLI.hpp>

namespace orrery::cli {

struct CommandArgument {
  std::vector<std::string> names;  // "-o", "--out", short names first; of a positional its name alone
  std::string description;
  std::string kind;                  // "TEXT", "UINT"; empty: a flag
  std::vector<std::string> choices;  // in place of any value; none: free
  bool required = false;
  bool repeated = false;
};

struct Command {
  std::string path;  // "orrery workload inspect"
  std::string description;
  std::vector<CommandArgument> options;
  std::vector<CommandArgument> positionals;
  std::vector<Command> commands;
};

// All of `app` but what is hidden, in the order in which it was added.
Command command_line(const CLI::App& app);

// The command and all below it, each before those below it.
std::vector<const Command*> all_commands(const Command& command);

// The last word of the path.
std::string name_of(const Command& command);

}  // namespace orrery::cli
