// SPDX-License-Identifier: MIT
// Shell support written from the command line's own definition: `orrery completion SHELL`, completions for bash, zsh
// and fish; `orrery complete KIND TEXT`, which they ask for names; and `orrery man`, pages of the manual.
#include <algorithm>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "cli/output.h"
#include "cli/session.h"
#include "cli/study/shell/command_line.h"
#include "cli/study/shell/values.h"
#include "core/error.h"
#include "core/suggest.h"

namespace orrery::cli {
namespace {

struct ManOptions {
  std::string command;
  std::string out;
};

const shell::Command& command_named(const shell::Command& program, const std::string& name) {
  const auto found = std::ranges::find(program.commands, name, &shell::Command::name);
  if (found != program.commands.end()) return *found;
  std::vector<std::string> names;
  for (const shell::Command& command : program.commands) names.push_back(command.name());
  throw InputError({"man"}, fmt::format("unknown command '{}'", printable(name, 40)), suggestion(name, names));
}

// All pages, each in a file of its own.
void write_pages(const shell::Command& program, const std::string& folder) {
  make_folder(folder, {});
  write_file(folder + "/orrery.1", shell::man_page(program), Telling::kNone);
  for (const shell::Command& command : program.commands)
    write_file(fmt::format("{}/orrery-{}.1", folder, command.name()), shell::man_page(program, command),
               Telling::kNone);
}

void man(const CLI::App& app, const ManOptions& options) {
  const shell::Command program = shell::command_line_of(app);
  if (!options.out.empty()) return write_pages(program, options.out);
  print_text(options.command.empty() ? shell::man_page(program)
                                     : shell::man_page(program, command_named(program, options.command)));
}

// The first word that follows is the kind, the second what is typed already. Options may be typed, too.
void complete(const std::vector<std::string>& words, const ConfigFiles& files) {
  if (words.empty()) return;
  std::string text;
  for (const std::string& word : shell::completed_values(words[0], words.size() > 1 ? words[1] : "", files))
    text += word + "\n";
  print_text(text);
}

}  // namespace

void add_shell_commands(CLI::App& app, Session& session) {
  CLI::App* completion = app.add_subcommand("completion", "Print the completion of the command line for a shell");
  completion->group("")->require_subcommand(1);
  const auto add = [&app, completion](const std::string& shell, std::string (*text)(const shell::Command&)) {
    CLI::App* below = completion->add_subcommand(shell, "For " + shell);
    below->callback([&app, text] { print_text(text(shell::command_line_of(app))); });
  };
  add("bash", shell::bash_completion);
  add("zsh", shell::zsh_completion);
  add("fish", shell::fish_completion);
  CLI::App* names = app.add_subcommand("complete", "Print names that a word may be completed to");
  names->group("")->prefix_command()->callback([names, &session] { complete(names->remaining(), session.files); });
  ManOptions& options = session.keep<ManOptions>();
  CLI::App* page = app.add_subcommand("man", "Print a page of the manual: that of the program, or of a command");
  page->group("");
  CLI::Option* command = page->add_option("command", options.command, "The command")->type_name("COMMAND");
  page->add_option("--out", options.out, "Write all pages to this folder")->type_name("DIR")->excludes(command);
  page->callback([&app, &options] { man(app, options); });
}

}  // namespace orrery::cli
