// SPDX-License-Identifier: MIT
#include <algorithm>
#include <array>
#include <cctype>
#include <span>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/study/shell/command_line.h"
#include "core/version.h"

namespace orrery::cli::shell {
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

// Choices may stand on several lines.
std::string value_of(const CommandArgument& argument) {
  if (argument.choices.empty()) return italic(argument.kind);
  return replaced(italic(fmt::format("{}", fmt::join(argument.choices, "|"))), "|", "|\\:");
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

std::string argument_text(const CommandArgument& argument, bool positional) {
  std::string names;
  for (const std::string& name : argument.names)
    names += (names.empty() ? "" : ", ") + (positional ? italic(name) : bold(name));
  if (!argument.kind.empty() && !positional) names += " " + value_of(argument);
  return ".TP\n" + names + "\n" + roff(argument.description) + "\n";
}

std::string arguments(const Command& command) {
  std::string text;
  for (const CommandArgument& positional : command.positionals) text += argument_text(positional, true);
  for (const CommandArgument& option : command.options) text += argument_text(option, false);
  return text;
}

// "orrery-run" of "orrery run".
std::string page_name(const Command& command) { return replaced(command.path, " ", "-"); }

std::string upper(std::string text) {
  std::ranges::transform(text, text.begin(), [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return text;
}

std::string page_heading(const std::string& name, const std::string& about) {
  std::string text =
      fmt::format(".TH {} 1 \"\" \"orrery {}\" \"User Commands\"\n.nh\n.ad l\n", roff(upper(name)), kVersion);
  return text + ".SH NAME\n" + roff(name) + " \\- " + roff(about) + "\n";
}

struct Term {
  std::string_view name;
  std::string_view meaning;
};

std::string terms(const char* heading, std::span<const Term> all) {
  std::string text = std::string(".SH ") + heading + "\n";
  for (const Term& one : all)
    text += ".TP\n" + bold(std::string(one.name)) + "\n" + roff(std::string(one.meaning)) + "\n";
  return text;
}

constexpr std::array kExitCodes = std::to_array<Term>({
    {"0", "Done."},
    {"2", "Bad input: one message names the file, the line and what would work."},
    {"3", "The simulated job cannot finish."},
    {"4", "A check that was asked for failed."},
    {"5", "The job does not fit the devices' memory."},
});
constexpr std::array kVariables = std::to_array<Term>({
    {"COLUMNS", "Columns of the terminal, where standard output is one; elsewhere tables have 80."},
    {"NO_COLOR", "If set, nothing is coloured."},
    {"CLICOLOR_FORCE", "If set and not 0, answers and messages are coloured also where there is no terminal."},
    {"TERM", "A terminal that is \"dumb\" gets no colours."},
    {"ORRERY_CONFIGS", "A folder of configurations to use in place of the shipped one."},
});
constexpr std::array kFiles = std::to_array<Term>({
    {"share/orrery/configs", "Shipped clusters, devices, models and studies, below the folder of the installation."},
    {"share/orrery/experiment.schema.json", "JSON Schema of experiments, for editors."},
    {"share/doc/orrery/docs", "The documentation: config.md has every key of an experiment."},
});

std::string ends() {
  return terms("EXIT STATUS", kExitCodes) + terms("ENVIRONMENT", kVariables) + terms("FILES", kFiles);
}

// The lines of a footer, of which those below "Examples:" are examples.
std::string examples(const Command& command) {
  const std::string text = replaced(command.footer, "\nExamples:", "");
  return text.empty() ? "" : ".SH EXAMPLES\n" + paragraphs(text);
}

std::string see_also(const std::vector<std::string>& pages) {
  std::string text;
  for (const std::string& page : pages) text += (text.empty() ? "" : ", ") + bold(page) + "(1)";
  return ".SH SEE ALSO\n" + text + "\n";
}

// A command of several words below that of a page.
std::string subsection(const Command& command) {
  return ".SS " + roff(command.path) + "\n" + paragraphs(command.description) + ".PP\n" + synopsis(command) +
         arguments(command) + paragraphs(command.footer);
}

}  // namespace

std::string man_page(const Command& program) {
  std::string page = page_heading("orrery", "discrete-event simulator of distributed training");
  page += ".SH SYNOPSIS\n" + synopsis(program);
  page += ".SH DESCRIPTION\n" + paragraphs(program.description);
  page += ".SH OPTIONS\n" + arguments(program);
  page += ".SH COMMANDS\n";
  std::vector<std::string> pages;
  for (const Command& command : program.commands) {
    page += ".TP\n" + bold(page_name(command)) + "(1)\n" + roff(command.description) + "\n";
    pages.push_back(page_name(command));
  }
  page += ends() + ".SH NOTES\n";
  std::string line;
  for (std::istringstream lines(program.footer); std::getline(lines, line);)
    if (!line.empty()) page += ".PP\n" + roff(line) + "\n";
  return page + see_also(pages);
}

std::string man_page(const Command& program, const Command& command) {
  std::string page = page_heading(page_name(command), command.description);
  page += ".SH SYNOPSIS\n";
  for (const Command* one : all_commands(command))
    if (one->commands.empty()) page += synopsis(*one) + ".br\n";
  page += ".SH DESCRIPTION\n" + paragraphs(command.description + ".");
  if (const std::string all = arguments(command); !all.empty()) page += ".SH OPTIONS\n" + all;
  if (!command.commands.empty()) page += ".SH COMMANDS\n";
  for (const Command* below : all_commands(command))
    if (below != &command) page += subsection(*below);
  page += examples(command) + ends();
  std::vector<std::string> pages = {program.path};
  for (const Command& other : program.commands)
    if (other.path != command.path) pages.push_back(page_name(other));
  return page + see_also(pages);
}

}  // namespace orrery::cli::shell
