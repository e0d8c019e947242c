// SPDX-License-Identifier: MIT
// The command line as the parser defines it, from which completions and man pages are written.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace CLI {
class App;
}

namespace orrery::cli::shell {

struct CommandArgument {
  std::vector<std::string> names;  // "-o", "--out", short names first; of a positional its name alone
  std::string description;
  std::string kind;                  // "FILE", "DIR", "N", "TEXT"; empty: a flag
  std::vector<std::string> choices;  // in place of any value; none: free
  std::string_view values;           // kind of names that may stand for the value (values.h); empty: none
  bool required = false;
  bool repeated = false;

  // True if values are files, or may be beside names.
  bool is_path() const;
};

struct Command {
  std::string path;  // "orrery workload inspect"
  std::string description;
  std::string footer;  // examples, notes
  std::vector<CommandArgument> options;
  std::vector<CommandArgument> positionals;
  std::vector<Command> commands;

  // The last word of the path.
  std::string name() const { return path.substr(path.rfind(' ') + 1); }
};

// The program with all its commands, but for the hidden ones.
Command command_line_of(const CLI::App& program);

// The command and all below it, each before those below it.
std::vector<const Command*> all_commands(const Command& command);

std::string replaced(std::string text, std::string_view what, std::string_view by);
// Quotes the text in single quotes, with backslashes before those in it, for fish and the lists of zsh.
std::string fish_quoted(const std::string& text);
// Every command below the first as a pattern of `case`.
std::string places(const Command& program, std::string_view between);
// Words that may follow a command that expects no value there, except options, names and files.
std::vector<std::string> words_after(const Command& command);
// The first of a command's positionals whose values are names or files; null if none are.
const CommandArgument* open_positional(const Command& command);

// Completions. In all of them the words before the cursor name the command ("place"), and names of what is shipped and
// keys of experiments are asked of the program (`orrery complete`).
std::string bash_completion(const Command& program);
std::string zsh_completion(const Command& program);
std::string fish_completion(const Command& program);

// A page of the manual: orrery(1), or that of one of its commands with all below it, as orrery-run(1).
std::string man_page(const Command& program);
std::string man_page(const Command& program, const Command& command);

}  // namespace orrery::cli::shell
