// SPDX-License-Identifier: MIT
#include "cli/launcher_flags.h"

#include <vector>

#include <fmt/format.h>

#include "cli/extras.h"
#include "core/suggest.h"

namespace orrery::cli {
namespace {

constexpr std::string_view kOption = "--launcher-flags";

nlohmann::ordered_json flags_json(const experiment::WrittenLaunch& launch) {
  nlohmann::ordered_json document = {{"name", std::string(name_of(launch.launcher))}, {"text", launch.text}};
  auto& unsaid = document["unsaid"] = nlohmann::ordered_json::array();
  for (const experiment::UnsaidKey& key : launch.unsaid)
    unsaid.push_back({{"key", key.key}, {"value", key.value}, {"instead", key.instead}});
  return document;
}

}  // namespace

experiment::Launcher LauncherFlags::launcher() const {
  const std::string name = option.substr(0, option.find('='));
  if (const std::optional<experiment::Launcher> launcher = experiment::launcher_named(name)) return *launcher;
  const std::vector<std::string> names(experiment::kLauncherNames.begin(), experiment::kLauncherNames.end());
  throw InputError({std::string(kOption)}, fmt::format("unknown launcher '{}'", printable(name, 40)),
                   suggestion(name, names));
}

experiment::WrittenLaunch LauncherFlags::of(const experiment::Experiment& experiment) const {
  return extras().launcher_arguments(launcher(), experiment);
}

std::string LauncherFlags::file() const {
  const std::size_t equals = option.find('=');
  return equals == std::string::npos ? std::string() : option.substr(equals + 1);
}

void LauncherFlags::check(const Outputs& outputs) const {
  if (!wanted()) return;
  launcher();
  if (file().empty() && option.ends_with('='))
    throw InputError({std::string(kOption)}, fmt::format("'{}' names no file", printable(option, 60)),
                     "write NAME or NAME=FILE");
  check_file(kOption, file());
  refuse_same_file({kOption, file()}, {"--json", outputs.json});
  refuse_same_file({kOption, file()}, {"--html", outputs.html});
}

void add_launcher_flags(CLI::App& command, LauncherFlags& flags, std::string_view of) {
  command
      .add_option(
          std::string(kOption), flags.option,
          fmt::format("Also give {} to megatron, megatron-bridge, torchtitan, deepspeed or fsdp; NAME=FILE: in it", of))
      ->type_name("NAME");
}

void add_flags(const LauncherFlags& flags, const experiment::WrittenLaunch& launch, Answer& answer) {
  answer.document["launcher"] = flags_json(launch);
  const std::string file = flags.file();
  if (!file.empty()) write_file(file, launch.text);
  const std::string text = file.empty() ? launch.text : std::string();
  const std::string rest = extras().unsaid_text(launch);
  if (!text.empty()) answer.as_it_is += "\n" + text;
  if (!rest.empty()) answer.as_it_is += "\n" + rest;
}

}  // namespace orrery::cli
