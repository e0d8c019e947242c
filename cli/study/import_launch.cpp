// SPDX-License-Identifier: MIT
#include "cli/study/import_launch.h"

#include <array>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/output.h"
#include "core/config/text.h"
#include "core/files/shell_word.h"

namespace orrery::cli {
namespace {

std::pair<std::string, std::string> definition_of(const std::string& text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0)
    throw InputError({"--define"}, fmt::format("'{}' is no definition", printable(text, 60)), "--define NAME=VALUE");
  return {text.substr(0, equals), text.substr(equals + 1)};
}

experiment::LaunchOptions launch_options(const LaunchImportOptions& options, experiment::Launcher launcher) {
  experiment::LaunchOptions launch;
  launch.launcher = launcher;
  launch.cluster = options.cluster;
  launch.nodes = options.nodes;
  launch.ranks = options.ranks;
  launch.model = options.model;
  launch.software = options.software;
  for (const std::string& text : options.definitions) launch.definitions.push_back(definition_of(text));
  launch.settings = options.settings;
  launch.strict = options.strict;
  return launch;
}

nlohmann::ordered_json settings_json(const experiment::KeySettings& settings) {
  nlohmann::ordered_json object = nlohmann::ordered_json::object();
  for (const auto& [key, value] : settings) object[key] = value;
  return object;
}

nlohmann::ordered_json launch_json(const experiment::ImportedLaunch& launch, const std::string& file) {
  nlohmann::ordered_json document = {
      {"schema", "orrery.launch/1"}, {"launcher", std::string(name_of(launch.launcher))}, {"experiment", file}};
  auto& counts = document["counts"] = nlohmann::ordered_json::object();
  for (const auto fate : {experiment::ArgumentFate::kUsed, experiment::ArgumentFate::kIgnored,
                          experiment::ArgumentFate::kNotSimulated, experiment::ArgumentFate::kUnknown}) {
    std::string name(name_of(fate));
    std::ranges::replace(name, ' ', '_');
    counts[name] = launch.count(fate);
  }
  auto& arguments = document["arguments"] = nlohmann::ordered_json::array();
  for (const experiment::ReadArgument& read : launch.arguments)
    arguments.push_back({{"name", read.argument.name},
                         {"values", read.argument.values},
                         {"file", read.argument.where.file},
                         {"line", read.argument.where.line},
                         {"fate", std::string(name_of(read.fate))},
                         {"reason", read.reason},
                         {"settings", settings_json(read.settings)}});
  document["defaults"] = settings_json(launch.defaults);
  return document;
}

// The experiment with a heading that says where it comes from.
std::string experiment_text(const experiment::ImportedLaunch& launch, const std::vector<std::string>& files,
                            const std::string& out) {
  ConfigValue experiment = launch.experiment;
  move_paths(experiment, out);
  std::string text;
  for (const std::string& file : files) text += (text.empty() ? "" : ", ") + printable(file, 200);
  return fmt::format("# Arguments of {} for {}, and the launcher's defaults where they are silent.\n{}", text,
                     name_of(launch.launcher), yaml_text(experiment));
}

}  // namespace

void add_launch_options(CLI::App& command, LaunchImportOptions& options) {
  command.add_option("--cluster", options.cluster, kClusterAbout)->type_name("CLUSTER");
  command.add_option("--nodes", options.nodes, "launchers: number of nodes (default: as the files say)")
      ->type_name("N")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 20).description(""));
  command
      .add_option("--model", options.model,
                  "launchers: model that the arguments change, or of files that have none: a name or a config.json")
      ->type_name("MODEL");
  command.add_option("--software", options.software, "launchers: software of the experiment (default: the launcher's)")
      ->type_name("NAME");
  command
      .add_option("--define", options.definitions,
                  "launchers: value of a script's variable, whatever the script assigns (repeatable)")
      ->type_name("NAME=VALUE")
      ->expected(1)
      ->take_all();
  command
      .add_option("--set", options.settings, "launchers: change a key of the experiment, as model.vocab (repeatable)")
      ->type_name("KEY=VALUE")
      ->expected(1)
      ->take_all();
  command.add_flag("--strict", options.strict, "launchers: unknown arguments are errors");
  command.add_flag("--details", options.details, "launchers: print every argument, and what became of it");
}

std::string given_launch_option(const LaunchImportOptions& options) {
  const std::array<std::pair<bool, const char*>, 8> given = {{{!options.cluster.empty(), "--cluster"},
                                                              {options.nodes > 0, "--nodes"},
                                                              {!options.model.empty(), "--model"},
                                                              {!options.software.empty(), "--software"},
                                                              {!options.definitions.empty(), "--define"},
                                                              {!options.settings.empty(), "--set"},
                                                              {options.strict, "--strict"},
                                                              {options.details, "--details"}}};
  for (const auto& [is_given, name] : given)
    if (is_given) return name;
  return {};
}

void import_launch_files(const std::vector<std::string>& files, experiment::Launcher launcher,
                         const LaunchImportOptions& options, const Session& session) {
  const std::string& out = session.outputs.out;
  check_file("--out", out);
  check_configuration("--out", out);
  refuse_same_file({"--out", out}, {"--json", session.outputs.json});
  const experiment::ImportedLaunch launch =
      experiment::import_launch(files, launch_options(options, launcher), session.files);
  print_warnings(launch.warnings);
  write_file(out, experiment_text(launch, files, out));
  Answer answer{experiment::launch_text(launch, options.details), launch_json(launch, out)};
  if (options.cluster.empty()) {
    answer.text += "run it with\n\n";
    answer.as_it_is = fmt::format("    orrery run {} --set cluster=NAME\n", shown_shell_word(out));
  }
  const Outputs without_file{session.outputs.json, {}};
  without_file.give(answer);
}

}  // namespace orrery::cli
