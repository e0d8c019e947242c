// SPDX-License-Identifier: MIT
#include <algorithm>
#include <array>
#include <deque>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "cli/output.h"
#include "cli/session.h"
#include "core/input_files.h"
#include "experiment/recorded_run.h"
#include "experiment/run.h"
#include "study/compare/compare.h"

namespace orrery::cli {
namespace {

// The file's name without folder and ending; the whole path where two are alike.
std::vector<std::string> short_names(const std::vector<std::string>& files) {
  std::vector<std::string> names;
  for (const std::string& file : files) names.push_back(std::filesystem::path(file).stem().string());
  for (std::size_t i = 0; i < names.size(); ++i)
    if (std::ranges::count(names, names[i]) > 1) return files;
  return names;
}

// What goes wrong names the experiment that it goes wrong with.
template <class Do>
auto named(const std::string& experiment, Do something) {
  try {
    return something();
  } catch (const StuckError& error) {
    throw StuckError(fmt::format("{}: {}", printable(experiment), error.what()), error.rank(), error.node());
  } catch (const InputError& error) {
    const auto is_named = [&](const Problem& problem) {
      return problem.where.file == experiment || problem.message.find(experiment) != std::string::npos;
    };
    if (std::ranges::any_of(error.problems(), is_named)) throw;
    std::vector<Problem> problems;
    Problem& heading = problems.emplace_back();
    heading.where.file = experiment;
    heading.message = "this experiment cannot be simulated:";
    heading.out_of_memory = error.out_of_memory();
    problems.insert(problems.end(), error.problems().begin(), error.problems().end());
    throw InputError(std::move(problems));
  }
}

void compare(const std::vector<std::string>& experiments, const Session& session) {
  if (experiments.size() < 2)
    throw InputError({}, fmt::format("there is nothing to compare {} with", printable(experiments.front())),
                     "name a second experiment behind it; `orrery run` simulates one");
  for (const std::string& experiment : experiments) {
    note_input(experiment);
    if (!experiment::is_result(experiment, session.files)) refuse_other_kinds(experiment, session.files);
  }
  session.outputs.check();
  const auto request_of = [&](const std::string& experiment) {
    return experiment::RunRequest{experiment, session.settings, true, session.allow_oom};
  };
  // Simulations may be long: what can be refused is refused before the first.
  for (const std::string& experiment : experiments)
    named(experiment, [&] { experiment::check_experiment(request_of(experiment), session.files); });
  std::deque<experiment::Run> runs;
  std::vector<study::NamedResult> results;
  const std::vector<std::string> names = short_names(experiments);
  for (std::size_t i = 0; i < experiments.size(); ++i) {
    runs.push_back(named(experiments[i], [&] {
      Progress progress;
      return experiment::run_experiment(request_of(experiments[i]), session.files, std::ref(progress));
    }));
    print_warnings(runs.back().result.warnings);
    results.push_back({names[i], &runs.back().result});
  }
  session.outputs.give({study::comparison_text(results), study::comparison_json(results)});
}

}  // namespace

void add_compare_command(CLI::App& app, Session& session) {
  auto& experiments = session.keep<std::vector<std::string>>();
  CLI::App& command = add_command(
      app, "compare",
      "Simulate experiments, or result.json files again, and compare: times, ratios, what explains the difference",
      {"orrery compare a100.yaml h100.yaml", "orrery compare results/result.json job.yaml",
       "orrery compare a100.yaml h100.yaml --nodes 4 --json comparison.json"});
  add_files(command, session, "experiments", experiments,
            "Experiments, or result.json of runs; the first is the one to compare with")
      .required()
      ->expected(1, 64);
  add_experiment_options(command, session);
  add_outputs(command, session);
  command.callback([&] { compare(experiments, session); });
}

}  // namespace orrery::cli
