// `orrery man`: the man page, orrery(1), from the command line itself.
#include <sstream>
#include <string>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "cli/command_line.h"
#include "cli/commands.h"
#include "cli/output.h"
#include "core/version.h"

namespace orrery::cli {
namespace {

// Text of a line: no request at its beginning, no escape in it, and dashes that can be copied.
std::string roff(const std::string& text) {
  std::string safe = text.starts_with('.') || text.starts_with('\'') ? "\\&" : "";
  for (const char c : text) {
    if (c == '\\')
      safe += "\\e";
    else if (c == '-')
      safe += "\\-";
    else if (c == '`' || c == '\'')
      safe += c == '`' ? "\\(ga" : "\\(aq";
    else
      safe += c;
  }
  return safe;
}

std::string bold(const std::string& text) { return "\\fB" + roff(text) + "\\fR"; }
std::string italic(const std::string& text) { return "\\fI" + roff(text) + "\\fR"; }

// Lines are filled; indented ones are printed as they are, blank ones separate paragraphs.
std::string paragraphs(const std::string& text) {
  std::string page, line;
  bool as_it_is = false;
  for (std::istringstream lines(text); std::getline(lines, line);) {
    const bool indented = line.starts_with("  ");
    if (indented != as_it_is && !line.empty()) page += indented ? ".nf\n" : ".fi\n";
    if (!line.empty()) as_it_is = indented;
    page += line.empty() ? ".PP\n" : roff(line) + "\n";
  }
  return as_it_is ? page + ".fi\n" : page;
}

std::string value_of(const CommandArgument& argument) {
  return argument.choices.empty() ? italic(argument.kind) : italic(fmt::format("{}", fmt::join(argument.choices, "|")));
}

std::string synopsis(const Command& command) {
  std::string text = bold(command.path);
  if (!command.options.empty()) text += " [" + italic("options") + "]";
  for (const CommandArgument& option : command.options)
    if (option.required) text += " " + bold(option.names.back()) + " " + value_of(option);
  for (const CommandArgument& positional : command.positionals) {
    const std::string name = italic(positional.names.front()) + (positional.repeated ? " ..." : "");
    text += positional.required ? " " + name : " [" + name + "]";
  }
  if (!command.commands.empty()) text += " " + italic("command");
  return text + "\n";
}

std::string argument(const CommandArgument& argument, bool positional) {
  std::string names;
  for (const std::string& name : argument.names)
    names += (names.empty() ? "" : ", ") + (positional ? italic(name) : bold(name));
  if (!argument.kind.empty() && !positional) names += " " + value_of(argument);
  return ".TP\n" + names + "\n" + roff(argument.description) + "\n";
}

std::string arguments(const Command& command) {
  std::string text;
  for (const CommandArgument& positional : command.positionals) text += argument(positional, true);
  for (const CommandArgument& option : command.options) text += argument(option, false);
  return text;
}

std::string man_page(const Command& program, const std::string& footer) {
  std::string page = fmt::format(".TH ORRERY 1 \"\" \"orrery {}\" \"User Commands\"\n.nh\n.ad l\n", kVersion);
  page += ".SH NAME\norrery \\- discrete\\-event simulator of distributed training\n";
  page += ".SH SYNOPSIS\n" + synopsis(program);
  page += ".SH DESCRIPTION\n" + paragraphs(program.description);
  page += ".SH OPTIONS\n" + arguments(program);
  page += ".SH COMMANDS\n";
  for (const Command* command : all_commands(program)) {
    if (command == &program) continue;
    page += ".SS " + roff(command->path) + "\n" + paragraphs(command->description) + ".PP\n" + synopsis(*command);
    page += arguments(*command);
  }
  page += ".SH NOTES\n";
  std::string line;
  for (std::istringstream lines(footer); std::getline(lines, line);)
    if (!line.empty()) page += ".PP\n" + roff(line) + "\n";
  return page;
}

}  // namespace

void add_man_command(CLI::App& app) {
  CLI::App* command = app.add_subcommand("man", "Print the man page");
  command->group("")->callback([&app] { write_text("-", man_page(command_line(app), app.get_footer())); });
}

}  // namespace orrery::cli
