// SPDX-License-Identifier: MIT
// Shell support written from the command line's own definition: `orrery completion SHELL`, completions for bash, zsh
// and fish, and `orrery man`, the page orrery(1). In all completions the words before the cursor name the command
// ("place").
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "cli/output.h"
#include "cli/session.h"
#include "core/version.h"

namespace orrery::cli {
namespace {

// --- the command line as the parser defines it

struct CommandArgument {
  std::vector<std::string> names;  // "-o", "--out", short names first; of a positional its name alone
  std::string description;
  std::string kind;                  // "FILE", "DIR", "N", "TEXT"; empty: a flag
  std::vector<std::string> choices;  // in place of any value; none: free
  bool required = false;
  bool repeated = false;
};

struct Command {
  std::string path;  // "orrery workload inspect"
  std::string description;
  std::string footer;  // examples, notes
  std::vector<CommandArgument> options;
  std::vector<CommandArgument> positionals;
  std::vector<Command> commands;
};

// The parser keeps an option's choices in the text of its type: "TEXT:{both,ctrl,data}".
std::vector<std::string> choices_of(const std::string& type) {
  const std::size_t open = type.find('{');
  const std::size_t close = type.find('}', open == std::string::npos ? 0 : open);
  if (open == std::string::npos || close == std::string::npos) return {};
  return CLI::detail::split(type.substr(open + 1, close - open - 1), ',');
}

CommandArgument argument_of(const CLI::Option& option) {
  CommandArgument argument;
  for (const std::string& name : option.get_snames()) argument.names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) argument.names.push_back("--" + name);
  if (argument.names.empty()) argument.names.push_back(option.get_single_name());
  argument.description = option.get_description();
  argument.required = option.get_required();
  const bool takes_value = option.get_items_expected_max() > 0;
  if (!takes_value) return argument;
  const std::string type = option.get_type_name();
  argument.kind = type.substr(0, type.find(':'));
  argument.choices = choices_of(type);
  argument.repeated =
      option.get_items_expected_max() > 1 || option.get_multi_option_policy() == CLI::MultiOptionPolicy::TakeAll;
  return argument;
}

// Values that are names or files are completed as files.
bool is_path(const CommandArgument& argument) {
  return argument.choices.empty() && (argument.kind == "FILE" || argument.kind == "DIR" || argument.kind == "NAME");
}

Command command_below(const CLI::App& app, const std::string& path) {
  Command command{path, app.get_description(), app.get_footer(), {}, {}, {}};
  for (const CLI::Option* option : app.get_options([](const CLI::Option* o) { return !o->get_group().empty(); }))
    (option->nonpositional() ? command.options : command.positionals).push_back(argument_of(*option));
  for (const CLI::App* below : app.get_subcommands([](const CLI::App* a) { return !a->get_group().empty(); }))
    command.commands.push_back(command_below(*below, path + " " + below->get_name()));
  return command;
}

// The command and all below it, each before those below it.
std::vector<const Command*> all_commands(const Command& command) {
  std::vector<const Command*> all{&command};
  for (const Command& below : command.commands) {
    const std::vector<const Command*> more = all_commands(below);
    all.insert(all.end(), more.begin(), more.end());
  }
  return all;
}

// The last word of the path.
std::string name_of(const Command& command) { return command.path.substr(command.path.rfind(' ') + 1); }

// --- completions

std::string replaced(std::string text, std::string_view what, std::string_view by) {
  for (std::size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += by.size())
    text.replace(at, what.size(), by);
  return text;
}

// In single quotes, for bash and zsh.
std::string quoted(const std::string& text) { return "'" + replaced(text, "'", "'\\''") + "'"; }

std::string fish_quoted(const std::string& text) {
  return "'" + replaced(replaced(text, "\\", "\\\\"), "'", "\\'") + "'";
}

// Every command below the first as a pattern of `case`.
std::string places(const Command& program, std::string_view between) {
  std::vector<std::string> patterns;
  for (const Command* command : all_commands(program))
    if (command != &program) patterns.push_back(quoted(command->path));
  return fmt::format("{}", fmt::join(patterns, between));
}

// Words that may follow a command that expects no value there, except options and files.
std::vector<std::string> words_after(const Command& command) {
  std::vector<std::string> words;
  for (const Command& below : command.commands) words.push_back(name_of(below));
  for (const CommandArgument& positional : command.positionals)
    words.insert(words.end(), positional.choices.begin(), positional.choices.end());
  return words;
}

// --- bash: where nothing fits, `complete -o default` completes names of files.

std::string bash_values(const Command& command) {
  std::string text;
  for (const CommandArgument& option : command.options) {
    if (option.kind.empty()) continue;
    std::vector<std::string> patterns;
    for (const std::string& name : option.names) patterns.push_back(quoted(command.path + " " + name));
    text += fmt::format("    {}) words={} ;;\n", fmt::join(patterns, " | "),
                        quoted(fmt::format("{}", fmt::join(option.choices, " "))));
  }
  return text;
}

std::string bash_words(const Command& command) {
  std::vector<std::string> options;
  for (const CommandArgument& option : command.options)
    options.insert(options.end(), option.names.begin(), option.names.end());
  return fmt::format("        {})\n          options={}\n          words={} ;;\n", quoted(command.path),
                     quoted(fmt::format("{}", fmt::join(options, " "))),
                     quoted(fmt::format("{}", fmt::join(words_after(command), " "))));
}

std::string bash_completion(const Command& program) {
  std::string values, words;
  for (const Command* command : all_commands(program)) {
    values += bash_values(*command);
    words += bash_words(*command);
  }
  return "# Completion of orrery for bash, written by `orrery completion bash`.\n"
         "_orrery() {\n"
         "  local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]} place=orrery i\n"
         "  local options= words=\n"
         "  if [[ $current == = ]]; then\n"
         "    current=\n"
         "  elif [[ $previous == = ]]; then\n"
         "    previous=${COMP_WORDS[COMP_CWORD - 2]}\n"
         "  fi\n"
         "  for ((i = 1; i < COMP_CWORD; i++)); do\n"
         "    case \"$place ${COMP_WORDS[i]}\" in\n"
         "      " +
         places(program, " | ") +
         ")\n"
         "        place=\"$place ${COMP_WORDS[i]}\" ;;\n"
         "    esac\n"
         "  done\n"
         "  case \"$place $previous\" in\n" +
         values +
         "    *)\n"
         "      case $place in\n" +
         words +
         "      esac\n"
         "      [[ $current != -* ]] || words=$options ;;\n"
         "  esac\n"
         "  mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$current\")\n"
         "}\n"
         "complete -o default -F _orrery orrery\n";
}

// --- zsh: `_arguments` in each command.

std::string zsh_text(const std::string& text) {
  std::string escaped = replaced(text, "\\", "\\\\");
  for (const char* special : {":", "[", "]"}) escaped = replaced(escaped, special, std::string("\\") + special);
  return escaped;
}

// ":what it is:how it is completed"
std::string zsh_value(const CommandArgument& argument, const std::string& name) {
  if (!argument.choices.empty()) return fmt::format(":{}:({})", name, fmt::join(argument.choices, " "));
  return fmt::format(":{}:{}", name, is_path(argument) ? "_files" : " ");
}

std::string zsh_option(const CommandArgument& option) {
  std::string text;
  for (const std::string& name : option.names) {
    const bool takes_value = !option.kind.empty();
    const std::string others = option.repeated ? "*" : fmt::format("({})", fmt::join(option.names, " "));
    const std::string_view joined = !takes_value ? "" : name.starts_with("--") ? "=" : "+";
    text += fmt::format(" \\\n        {}",
                        quoted(fmt::format("{}{}{}[{}]{}", others, name, joined, zsh_text(option.description),
                                           takes_value ? zsh_value(option, "value") : "")));
  }
  return text;
}

std::string zsh_positional(const CommandArgument& positional) {
  const std::string spec = zsh_value(positional, zsh_text(positional.names.front()));
  return " \\\n        " + quoted(positional.repeated ? "*" + spec : spec);
}

std::string zsh_commands(const Command& command) {
  std::vector<std::string> items;
  for (const Command& below : command.commands)
    items.push_back(name_of(below) + "\\:" + fish_quoted(zsh_text(below.description)));
  return " \\\n        " + quoted(fmt::format(":command:(({}))", fmt::join(items, " ")));
}

std::string zsh_completion(const Command& program) {
  std::string cases;
  for (const Command* command : all_commands(program)) {
    cases += fmt::format("    ({})\n      _arguments", quoted(command->path));
    for (const CommandArgument& option : command->options) cases += zsh_option(option);
    for (const CommandArgument& positional : command->positionals) cases += zsh_positional(positional);
    if (!command->commands.empty()) cases += zsh_commands(*command);
    cases += " ;;\n";
  }
  return "#compdef orrery\n"
         "# Completion of orrery for zsh, written by `orrery completion zsh`.\n"
         "_orrery() {\n"
         "  local place=orrery\n"
         "  integer i last=1\n"
         "  for ((i = 2; i < CURRENT; i++)); do\n"
         "    case \"$place $words[i]\" in\n"
         "      (" +
         places(program, "|") +
         ")\n"
         "        place=\"$place $words[i]\"\n"
         "        last=i ;;\n"
         "    esac\n"
         "  done\n"
         "  words=(\"${(@)words[last,-1]}\")\n"
         "  ((CURRENT -= last - 1))\n"
         "  case $place in\n" +
         cases +
         "  esac\n"
         "}\n"
         "_orrery \"$@\"\n";
}

// --- fish

// The beginning of a line for what may stand after a command.
std::string fish_line(const Command& command) {
  return fmt::format("complete -c orrery -n \"test (__orrery_place) = '{}'\"", command.path);
}

std::string fish_option(const Command& command, const CommandArgument& option) {
  std::string text = fish_line(command);
  for (const std::string& name : option.names)
    text += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
  if (!option.kind.empty()) text += is_path(option) ? " -r -F" : " -x";
  if (!option.choices.empty())
    text += fmt::format(" -a {}", fish_quoted(fmt::format("{}", fmt::join(option.choices, " "))));
  return text + fmt::format(" -d {}\n", fish_quoted(option.description));
}

std::string fish_completion(const Command& program) {
  std::string lines;
  for (const Command* command : all_commands(program)) {
    const bool files = command->commands.empty() && words_after(*command).empty();
    if (!files) lines += fish_line(*command) + " -f\n";
    for (const Command& below : command->commands)
      lines += fmt::format("{} -a {} -d {}\n", fish_line(*command), name_of(below), fish_quoted(below.description));
    for (const CommandArgument& positional : command->positionals)
      if (!positional.choices.empty())
        lines += fmt::format("{} -a {}\n", fish_line(*command),
                             fish_quoted(fmt::format("{}", fmt::join(positional.choices, " "))));
    for (const CommandArgument& option : command->options) lines += fish_option(*command, option);
  }
  return "# Completion of orrery for fish, written by `orrery completion fish`.\n"
         "function __orrery_place\n"
         "  set -l place orrery\n"
         "  for word in (commandline -opc)[2..-1]\n"
         "    switch \"$place $word\"\n"
         "      case " +
         places(program, " ") +
         "\n"
         "        set place \"$place $word\"\n"
         "    end\n"
         "  end\n"
         "  echo $place\n"
         "end\n" +
         lines;
}

// --- the man page

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

std::string man_page(const Command& program) {
  std::string page = fmt::format(".TH ORRERY 1 \"\" \"orrery {}\" \"User Commands\"\n.nh\n.ad l\n", kVersion);
  page += ".SH NAME\norrery \\- discrete\\-event simulator of distributed training\n";
  page += ".SH SYNOPSIS\n" + synopsis(program);
  page += ".SH DESCRIPTION\n" + paragraphs(program.description);
  page += ".SH OPTIONS\n" + arguments(program);
  page += ".SH COMMANDS\n";
  for (const Command* command : all_commands(program)) {
    if (command == &program) continue;
    page += ".SS " + roff(command->path) + "\n" + paragraphs(command->description) + ".PP\n" + synopsis(*command);
    page += arguments(*command) + paragraphs(command->footer);
  }
  page += ".SH NOTES\n";
  std::string line;
  for (std::istringstream lines(program.footer); std::getline(lines, line);)
    if (!line.empty()) page += ".PP\n" + roff(line) + "\n";
  return page;
}

}  // namespace

void add_shell_commands(CLI::App& app) {
  CLI::App* completion = app.add_subcommand("completion", "Print the completion of the command line for a shell");
  completion->group("")->require_subcommand(1);
  const auto add = [&app, completion](const std::string& shell, std::string (*text)(const Command&)) {
    CLI::App* below = completion->add_subcommand(shell, "For " + shell);
    below->callback([&app, text] { print_text(text(command_below(app, app.get_name()))); });
  };
  add("bash", bash_completion);
  add("zsh", zsh_completion);
  add("fish", fish_completion);
  CLI::App* man = app.add_subcommand("man", "Print the man page");
  man->group("")->callback([&app] { print_text(man_page(command_below(app, app.get_name()))); });
}

}  // namespace orrery::cli
