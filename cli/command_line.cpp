#include "cli/command_line.h"

#include <string_view>

namespace orrery::cli {
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
  argument.repeated =
      option.get_items_expected_max() > 1 || option.get_multi_option_policy() == CLI::MultiOptionPolicy::TakeAll;
  return argument;
}

Command command_below(const CLI::App& app, const std::string& path) {
  Command command{path, app.get_description(), {}, {}, {}};
  for (const CLI::Option* option : app.get_options([](const CLI::Option* o) { return !o->get_group().empty(); }))
    (option->nonpositional() ? command.options : command.positionals).push_back(argument_of(*option));
  for (const CLI::App* below : app.get_subcommands([](const CLI::App* a) { return !a->get_group().empty(); }))
    command.commands.push_back(command_below(*below, path + " " + below->get_name()));
  return command;
}

}  // namespace

Command command_line(const CLI::App& app) { return command_below(app, app.get_name()); }

std::vector<const Command*> all_commands(const Command& command) {
  std::vector<const Command*> all{&command};
  for (const Command& below : command.commands) {
    const std::vector<const Command*> more = all_commands(below);
    all.insert(all.end(), more.begin(), more.end());
  }
  return all;
}

std::string name_of(const Command& command) { return command.path.substr(command.path.rfind(' ') + 1); }

}  // namespace orrery::cli
