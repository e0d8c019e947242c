// SPDX-License-Identifier: MIT
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/study/shell/command_line.h"

namespace orrery::cli::shell {
namespace {

// The beginning of a line for what may stand after a command.
std::string fish_line(const Command& command) {
  return fmt::format("complete -c orrery -n \"test (__orrery_place) = '{}'\"", command.path);
}

// Writes how the value of an argument is completed.
std::string fish_value(const CommandArgument& argument) {
  std::string text = argument.is_path() ? " -r -F" : " -x";
  if (!argument.choices.empty())
    text += fmt::format(" -a {}", fish_quoted(fmt::format("{}", fmt::join(argument.choices, " "))));
  else if (!argument.values.empty())
    text += fmt::format(" -a '(__orrery_values {})'", argument.values);
  return text;
}

std::string fish_option(const Command& command, const CommandArgument& option) {
  std::string text = fish_line(command);
  for (const std::string& name : option.names)
    text += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
  if (!option.kind.empty()) text += fish_value(option);
  return text + fmt::format(" -d {}\n", fish_quoted(option.description));
}

std::string fish_positional(const Command& command, const CommandArgument& positional) {
  if (!positional.choices.empty())
    return fmt::format("{} -a {}\n", fish_line(command),
                       fish_quoted(fmt::format("{}", fmt::join(positional.choices, " "))));
  if (positional.values.empty()) return {};
  return fmt::format("{} -a '(__orrery_values {})'\n", fish_line(command), positional.values);
}

}  // namespace

std::string fish_completion(const Command& program) {
  std::string lines;
  for (const Command* command : all_commands(program)) {
    const CommandArgument* open = open_positional(*command);
    if (open == nullptr || !open->is_path()) lines += fish_line(*command) + " -f\n";
    for (const Command& below : command->commands)
      lines += fmt::format("{} -a {} -d {}\n", fish_line(*command), below.name(), fish_quoted(below.description));
    for (const CommandArgument& positional : command->positionals) lines += fish_positional(*command, positional);
    for (const CommandArgument& option : command->options) lines += fish_option(*command, option);
  }
  return "# Completion of orrery for fish, written by `orrery completion fish`.\n"
         "function __orrery_values\n"
         "  set -l text (string replace -r '^-[^=]*=' '' -- (commandline -ct))\n"
         "  orrery complete $argv[1] (test -n \"$text\"; and echo $text) 2>/dev/null\n"
         "end\n"
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

}  // namespace orrery::cli::shell
