// SPDX-License-Identifier: MIT
// The tables of the launchers, and what an import has found, for people.
#include <array>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/assert.h"
#include "experiment/launchers/argument_table.h"

namespace orrery::experiment {
namespace {

constexpr std::array kFates = {ArgumentFate::kUsed, ArgumentFate::kIgnored, ArgumentFate::kNotSimulated,
                               ArgumentFate::kUnknown};

std::string argument_text(const LauncherArgument& argument) {
  return printable(
      argument.values.empty() ? argument.name : fmt::format("{} {}", argument.name, fmt::join(argument.values, " ")),
      70);
}

std::string settings_text(const KeySettings& settings) {
  std::string text;
  for (const auto& [key, value] : settings)
    text += fmt::format("{}{}: {}", text.empty() ? "" : ", ",
                        key.starts_with("workload.") ? key.substr(std::string_view("workload.").size()) : key, value);
  return text;
}

std::string details_of(const ImportedLaunch& launch, ArgumentFate fate) {
  std::string text;
  for (const ReadArgument& read : launch.arguments) {
    if (read.fate != fate) continue;
    std::string why = fate == ArgumentFate::kUsed ? settings_text(read.settings) : read.reason;
    if (fate == ArgumentFate::kUsed && why.empty()) why = "with others";
    text += fmt::format("  {:<50} {}\n", argument_text(read.argument), printable(why, 200));
  }
  return text;
}

}  // namespace

const LauncherTable& table_of_launcher(Launcher launcher) {
  static const LauncherTable megatron = megatron_table();
  static const LauncherTable bridge = megatron_bridge_table();
  static const LauncherTable torchtitan = torchtitan_table();
  static const LauncherTable deepspeed = deepspeed_table();
  static const LauncherTable fsdp = fsdp_table();
  switch (launcher) {
    case Launcher::kMegatron:
      return megatron;
    case Launcher::kMegatronBridge:
      return bridge;
    case Launcher::kTorchtitan:
      return torchtitan;
    case Launcher::kDeepSpeed:
      return deepspeed;
    case Launcher::kFsdp:
      break;
  }
  return fsdp;
}

std::string launch_text(const ImportedLaunch& launch, bool details) {
  std::string text =
      fmt::format("{} arguments of {}:", launch.arguments.size(), table_of_launcher(launch.launcher).title);
  for (const ArgumentFate fate : kFates)
    text += fmt::format("{} {} {}", fate == kFates.front() ? "" : ",", launch.count(fate), name_of(fate));
  text += fmt::format("; {} keys by its defaults\n", launch.defaults.size());
  for (const ArgumentFate fate : kFates) {
    const bool shows = details || fate == ArgumentFate::kNotSimulated || fate == ArgumentFate::kUnknown;
    if (shows && launch.count(fate) > 0) text += fmt::format("{}:\n{}", name_of(fate), details_of(launch, fate));
  }
  if (details && !launch.defaults.empty()) {
    text += "by default:\n";
    for (const auto& [key, value] : launch.defaults) text += fmt::format("  {:<50} {}\n", key, printable(value, 120));
  }
  return text;
}

}  // namespace orrery::experiment
