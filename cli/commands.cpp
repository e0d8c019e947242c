// SPDX-License-Identifier: MIT
#include "cli/commands.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <system_error>

#include <fmt/format.h>

#include "core/error.h"

namespace orrery::cli {
namespace {

constexpr std::string_view kOtherProgram = "orrery-study";
// Variable by which the other program knows that it was handed to.
constexpr const char* kHandedOver = "ORRERY_HANDED_OVER";
// Hidden commands that write the whole command line down.
constexpr std::array<std::string_view, 3> kWholeLine = {"completion", "complete", "man"};

bool is_own(std::string_view name) {
  return std::ranges::find(own_commands(), name, &OwnCommand::name) != own_commands().end();
}

// Tells words that are the option, alone or with its value.
auto is_option(std::string_view option) {
  return [option](std::string_view word) {
    return word.starts_with(option) && (word.size() == option.size() || word[option.size()] == '=');
  };
}

bool has_all() { return own_commands().size() >= kCommands.size(); }

}  // namespace

void add_commands(CLI::App& app, Session& session, std::span<char* const> words) {
  const auto is_named = [&](const CommandAbout& command) {
    return std::ranges::any_of(words, [&](std::string_view word) { return word == command.name; });
  };
  const bool asks_for_all = std::ranges::any_of(
      words, [](std::string_view word) { return std::ranges::find(kWholeLine, word) != kWholeLine.end(); });
  const bool any_is_named = !asks_for_all && std::ranges::any_of(kCommands, is_named);
  for (const CommandAbout& command : kCommands) {
    const auto own = std::ranges::find(own_commands(), command.name, &OwnCommand::name);
    if (own != own_commands().end() && (is_named(command) || !any_is_named))
      own->add(app, session);
    else
      app.add_subcommand(std::string(command.name), std::string(command.about));
  }
  add_hidden_commands(app, session);
}

std::optional<std::string> command_of_another_program(std::span<char* const> words) {
  if (has_all()) {
    ::unsetenv(kHandedOver);  // what this process starts is not
    return std::nullopt;
  }
  const auto first = std::ranges::find_if(words.subspan(std::min<std::size_t>(words.size(), 1)),
                                          [](std::string_view word) { return !word.starts_with('-'); });
  if (first == words.end()) return std::nullopt;
  const std::string_view word = *first;
  const bool is_known = std::ranges::find(kCommands, word, &CommandAbout::name) != kCommands.end() ||
                        std::ranges::find(kWholeLine, word) != kWholeLine.end();
  if (!is_known) return std::nullopt;
  if (!is_own(word)) return std::string(word);
  for (const auto& [command, option] : kExtraOptions)
    if (command == word && std::ranges::any_of(words.subspan(1), is_option(option)))
      return fmt::format("{} {}", command, option);
  return std::nullopt;
}

void hand_over(std::string_view command, char* const* words) {
  std::error_code code;
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", code);
  if (code) throw InputError({"/proc/self/exe"}, fmt::format("cannot be read: {}", code.message()));
  const std::string other = (self.parent_path() / kOtherProgram).string();
  if (std::getenv(kHandedOver) != nullptr)
    throw InputError({other}, fmt::format("has no 'orrery {}': it is the program 'orrery' by another name", command),
                     "scripts/build builds it beside 'orrery'");
  ::setenv(kHandedOver, "1", 1);
  ::execv(other.c_str(), words);
  throw InputError(
      {other},
      fmt::format("has 'orrery {}', and cannot be started: {}", command, std::generic_category().message(errno)),
      "scripts/build builds it beside 'orrery', which scripts/demo builds alone");
}

}  // namespace orrery::cli
