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

// Assignments that say how the value of an argument is completed: to `words`, those of a `kind` of names, or `files`.
std::string bash_value(const CommandArgument& argument) {
  std::string text = fmt::format("words={}", shell_quoted(fmt::format("{}", fmt::join(argument.choices, " "))));
  if (!argument.values.empty()) text += fmt::format(" kind={}", argument.values);
  if (argument.is_path()) text += " files=1";
  return text;
}

std::string bash_values(const Command& command) {
  std::string text;
  for (const CommandArgument& option : command.options) {
    if (option.kind.empty()) continue;
    std::vector<std::string> patterns;
    for (const std::string& name : option.names) patterns.push_back(shell_quoted(command.path + " " + name));
    text += fmt::format("    {}) {} ;;\n", fmt::join(patterns, " | "), bash_value(option));
  }
  return text;
}

std::string bash_words(const Command& command) {
  std::vector<std::string> options;
  for (const CommandArgument& option : command.options)
    options.insert(options.end(), option.names.begin(), option.names.end());
  std::string text = fmt::format("        {})\n          options={}\n          words={}", shell_quoted(command.path),
                                 shell_quoted(fmt::format("{}", fmt::join(options, " "))),
                                 shell_quoted(fmt::format("{}", fmt::join(words_after(command), " "))));
  if (const CommandArgument* positional = open_positional(command)) {
    if (!positional->values.empty()) text += fmt::format(" kind={}", positional->values);
    if (positional->is_path()) text += " files=1";
  }
  return text + " ;;\n";
}

}  // namespace

// Names of the reader's own files are quoted, as they stand in a line that the shell expands.
// Bash breaks words at "=", which are put together again, and replaces what is behind the last of them.
std::string bash_completion(const Command& program) {
  std::string values, words;
  for (const Command* command : all_commands(program)) {
    values += bash_values(*command);
    words += bash_words(*command);
  }
  return "# Completion of orrery for bash, written by `orrery completion bash`.\n"
         "_orrery() {\n"
         "  local line=() word joins= place=orrery previous current behind options= words= kind= files=\n"
         "  for word in \"${COMP_WORDS[@]:0:COMP_CWORD + 1}\"; do\n"
         "    if [[ ${#line[@]} -gt 1 && ( $word == = || -n $joins ) ]]; then\n"
         "      line[-1]+=$word\n"
         "    else\n"
         "      line+=(\"$word\")\n"
         "    fi\n"
         "    joins=\n"
         "    [[ $word != = ]] || joins=1\n"
         "  done\n"
         "  current=${line[-1]} previous=\n"
         "  [[ ${#line[@]} -lt 2 ]] || previous=${line[-2]}\n"
         "  if [[ $current == -*=* ]]; then\n"
         "    previous=${current%%=*} current=${current#*=}\n"
         "  fi\n"
         "  behind=$current\n"
         "  [[ $current != *=* ]] || behind=${current##*=}\n"
         "  for word in \"${line[@]:1:${#line[@]} - 2}\"; do\n"
         "    case \"$place $word\" in\n"
         "      " +
         places(program, " | ") +
         ")\n"
         "        place=\"$place $word\" ;;\n"
         "    esac\n"
         "  done\n"
         "  case \"$place $previous\" in\n" +
         values +
         "    *)\n"
         "      case $place in\n" +
         words +
         "      esac\n"
         "      [[ $current != -* ]] || words=$options kind= files= ;;\n"
         "  esac\n"
         "  read -ra words <<< \"$words\"\n"
         "  [[ -z $kind ]] || mapfile -t -O ${#words[@]} words < <(\"${COMP_WORDS[0]}\" complete \"$kind\" "
         "${current:+\"$current\"} 2>/dev/null)\n"
         "  COMPREPLY=()\n"
         "  for word in \"${words[@]}\"; do\n"
         "    [[ $word == \"$current\"* ]] || continue\n"
         "    word=${word#\"${current%\"$behind\"}\"}\n"
         "    [[ $word =~ ^[-A-Za-z0-9_.,:=+@%/]*$ ]] || word=$(printf %q \"$word\")\n"
         "    COMPREPLY+=(\"$word\")\n"
         "  done\n"
         "  [[ ${#COMPREPLY[@]} -ne 1 || ${COMPREPLY[0]} != *[.=] ]] || compopt -o nospace 2>/dev/null\n"
         "  [[ -z $files ]] || compopt -o default 2>/dev/null\n"
         "}\n"
         "complete -F _orrery orrery\n";
}

}  // namespace orrery::cli::shell
