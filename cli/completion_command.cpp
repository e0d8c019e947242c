// `orrery completion SHELL`: completions for bash, zsh and fish. In all three, the words before the cursor name the
// command ("place"); commands, options and choices of values are those of the command line itself.
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "cli/command_line.h"
#include "cli/commands.h"
#include "cli/output.h"

namespace orrery::cli {
namespace {

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

// What may stand after a command where no value is expected, but for options and files.
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
  return fmt::format(":{}:{}", name, argument.kind == "TEXT" ? "_files" : " ");
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
  if (!option.kind.empty()) text += option.kind == "TEXT" && option.choices.empty() ? " -r -F" : " -x";
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

}  // namespace

void add_completion_command(CLI::App& app) {
  CLI::App* command = app.add_subcommand("completion", "Print the completion of the command line for a shell");
  command->group("")->require_subcommand(1);
  const auto add = [&app, command](const std::string& shell, std::string (*completion)(const Command&)) {
    CLI::App* below = command->add_subcommand(shell, "For " + shell);
    below->callback([&app, completion] { write_text("-", completion(command_line(app))); });
  };
  add("bash", bash_completion);
  add("zsh", zsh_completion);
  add("fish", fish_completion);
}

}  // namespace orrery::cli
