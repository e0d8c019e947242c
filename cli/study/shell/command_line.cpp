// SPDX-License-Identifier: MIT
#include "cli/study/shell/command_line.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <CLI/CLI.hpp>

#include "cli/study/shell/values.h"
#include "core/files/shell_word.h"

namespace orrery::cli::shell {
namespace {

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
  argument.values = values_of(argument.names.back(), argument.kind);
  argument.repeated =
      option.get_items_expected_max() > 1 || option.get_multi_option_policy() == CLI::MultiOptionPolicy::TakeAll;
  return argument;
}

Command command_below(const CLI::App& app, const std::string& path) {
  Command command{path, app.get_description(), app.get_footer(), {}, {}, {}};
  for (const CLI::Option* option : app.get_options([](const CLI::Option* o) { return !o->get_group().empty(); }))
    (option->nonpositional() ? command.options : command.positionals).push_back(argument_of(*option));
  for (const CLI::App* below : app.get_subcommands([](const CLI::App* a) { return !a->get_group().empty(); }))
    command.commands.push_back(command_below(*below, path + " " + below->get_name()));
  return command;
}

}  // namespace

bool CommandArgument::is_path() const {
  return choices.empty() &&
         (kind == "FILE" || kind == "DIR" || kind == "PREFIX" || (!values.empty() && is_beside_files(values)));
}

Command command_line_of(const CLI::App& program) { return command_below(program, program.get_name()); }

std::vector<const Command*> all_commands(const Command& command) {
  std::vector<const Command*> all{&command};
  for (const Command& below : command.commands) {
    const std::vector<const Command*> more = all_commands(below);
    all.insert(all.end(), more.begin(), more.end());
  }
  return all;
}

std::string replaced(std::string text, std::string_view what, std::string_view by) {
  for (std::size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += by.size())
    text.replace(at, what.size(), by);
  return text;
}

std::string fish_quoted(const std::string& text) {
  return "'" + replaced(replaced(text, "\\", "\\\\"), "'", "\\'") + "'";
}

std::string places(const Command& program, std::string_view between) {
  std::vector<std::string> patterns;
  for (const Command* command : all_commands(program))
    if (command != &program) patterns.push_back(shell_quoted(command->path));
  return fmt::format("{}", fmt::join(patterns, between));
}

std::vector<std::string> words_after(const Command& command) {
  std::vector<std::string> words;
  for (const Command& below : command.commands) words.push_back(below.name());
  for (const CommandArgument& positional : command.positionals)
    words.insert(words.end(), positional.choices.begin(), positional.choices.end());
  return words;
}

const CommandArgument* open_positional(const Command& command) {
  for (const CommandArgument& positional : command.positionals)
    if (positional.choices.empty() && (!positional.values.empty() || positional.is_path())) return &positional;
  return nullptr;
}

}  // namespace orrery::cli::shell
