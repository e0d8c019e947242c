// SPDX-License-Identifier: MIT
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/study/shell/command_line.h"
#include "core/files/shell_word.h"

namespace orrery::cli::shell {
namespace {

// `_arguments` in each command.

std::string zsh_text(const std::string& text) {
  std::string escaped = replaced(text, "\\", "\\\\");
  for (const char* special : {":", "[", "]"}) escaped = replaced(escaped, special, std::string("\\") + special);
  return escaped;
}

// ":what it is:how it is completed"
std::string zsh_value(const CommandArgument& argument, const std::string& name) {
  if (!argument.choices.empty()) return fmt::format(":{}:({})", name, fmt::join(argument.choices, " "));
  if (!argument.values.empty())
    return fmt::format(":{}:{{_orrery_values {}{}}}", name, argument.values, argument.is_path() ? " files" : "");
  return fmt::format(":{}:{}", name, argument.is_path() ? "_files" : " ");
}

std::string zsh_option(const CommandArgument& option) {
  std::string text;
  for (const std::string& name : option.names) {
    const bool takes_value = !option.kind.empty();
    const std::string others = option.repeated ? "*" : fmt::format("({})", fmt::join(option.names, " "));
    const std::string_view joined = !takes_value ? "" : name.starts_with("--") ? "=" : "+";
    text += fmt::format(" \\\n        {}",
                        shell_quoted(fmt::format("{}{}{}[{}]{}", others, name, joined, zsh_text(option.description),
                                                 takes_value ? zsh_value(option, "value") : "")));
  }
  return text;
}

std::string zsh_positional(const CommandArgument& positional) {
  const std::string spec = zsh_value(positional, zsh_text(positional.names.front()));
  return " \\\n        " + shell_quoted(positional.repeated ? "*" + spec : spec);
}

std::string zsh_commands(const Command& command) {
  std::vector<std::string> items;
  for (const Command& below : command.commands)
    items.push_back(below.name() + "\\:" + fish_quoted(zsh_text(below.description)));
  return " \\\n        " + shell_quoted(fmt::format(":command:(({}))", fmt::join(items, " ")));
}

}  // namespace

std::string zsh_completion(const Command& program) {
  std::string cases;
  for (const Command* command : all_commands(program)) {
    cases += fmt::format("    ({})\n      _arguments", shell_quoted(command->path));
    for (const CommandArgument& option : command->options) cases += zsh_option(option);
    for (const CommandArgument& positional : command->positionals) cases += zsh_positional(positional);
    if (!command->commands.empty()) cases += zsh_commands(*command);
    cases += " ;;\n";
  }
  return "#compdef orrery\n"
         "# Completion of orrery for zsh, written by `orrery completion zsh`.\n"
         "_orrery_values() {\n"
         "  local -a names\n"
         "  names=(${(f)\"$(orrery complete $1 ${PREFIX:+\"$PREFIX\"} 2>/dev/null)\"})\n"
         "  compadd -Q -S '' -- ${(q)${(M)names:#*[.=]}}\n"
         "  compadd -Q -- ${(q)${names:#*[.=]}}\n"
         "  [[ $2 != files ]] || _files\n"
         "}\n"
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

}  // namespace orrery::cli::shell
