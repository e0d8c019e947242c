#include <algorithm>
#include <deque>
#include <filesystem>

#include <fmt/format.h>

#include "cli/commands.h"
#include "cli/output.h"
#include "cli/progress.h"
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
Run run_named(const std::string& experiment, const CompareOptions& options, const Session& session) {
  Progress progress;
  try {
    Run run = run_experiment(
        {experiment, options.settings, true, options.allow_oom}, session.files,
        [&](std::string_view what, std::uint64_t done, std::uint64_t total) { progress.show(what, done, total); });
    progress.clear();
    return run;
  } catch (const StuckError& error) {
    throw StuckError(fmt::format("{}: {}", printable(experiment), error.what()));
  } catch (const InputError& error) {
    const auto is_named = [&](const Problem& problem) {
      return problem.where.file == experiment || problem.message.find(experiment) != std::string::npos;
    };
    if (std::ranges::any_of(error.problems(), is_named)) throw;
    std::vector<Problem> problems;
    Problem& heading = problems.emplace_back();
    heading.where.file = experiment;
    heading.message = "this experiment cannot be simulated:";
    problems.insert(problems.end(), error.problems().begin(), error.problems().end());
    throw InputError(std::move(problems));
  }
}

void compare(const CompareOptions& options, Session& session) {
  std::deque<Run> runs;
  std::vector<NamedResult> named;
  const std::vector<std::string> names = short_names(options.experiments);
  for (std::size_t i = 0; i < options.experiments.size(); ++i) {
    runs.push_back(run_named(options.experiments[i], options, session));
    print_warnings(runs.back().result.warnings);
    named.push_back({names[i], &runs.back().result});
  }
  write_text("-", comparison_text(named));
}

}  // namespace

void add_compare_command(CLI::App& app, Session& session) {
  CompareOptions& options = session.compare;
  CLI::App* command =
      app.add_subcommand("compare", "Simulate experiments and set them side by side: times, ratios, what differs");
  command
      ->add_option("experiments", options.experiments,
                   "Experiment files; the first is what the others are compared with")
      ->required()
      ->expected(2, 64);
  command->add_option("--set", options.settings, "Change a key in all of them (may be repeated)")
      ->expected(1)
      ->take_all();
  command->add_flag("--allow-oom", options.allow_oom, "Simulate also what does not fit the devices' memory");
  command->callback([&session] { compare(session.compare, session); });
}

}  // namespace orrery::cli
