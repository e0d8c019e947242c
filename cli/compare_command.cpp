// SPDX-License-Identifier: MIT
#include <algorithm>
#include <array>
#include <deque>
#include <filesystem>
#include <functional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "cli/output.h"
#include "cli/session.h"
#include "core/files/input_files.h"
#include "experiment/file_kinds.h"
#include "experiment/recorded_run.h"
#include "experiment/runs/run.h"
#include "report/critical_path.h"
#include "study/compare/compare.h"
#include "study/interval/kinds.h"

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

// Runs `something`; an error names the experiment.
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

// Settings of --vs go the way of those of --set; messages name the option that was given.
std::vector<Problem> with_option(std::span<const Problem> told, const std::vector<std::string>& changes) {
  std::vector<Problem> problems(told.begin(), told.end());
  for (Problem& problem : problems)
    for (const std::string& change : changes)
      if (problem.where.file == "--set " + printable(change)) problem.where.file = "--vs " + printable(change);
  return problems;
}

// Problems that are not among those that were told; adds them to these.
std::vector<Problem> not_told(std::vector<Problem> problems, std::set<std::string>& told) {
  std::erase_if(problems, [&](const Problem& problem) { return !told.insert(to_string(problem)).second; });
  return problems;
}

struct CompareOptions {
  std::vector<std::string> experiments;
  std::vector<std::string> changes;  // a.b=v, of --vs
};

// One column.
struct Side {
  std::string name;
  std::string experiment;
  std::vector<std::string> settings;
};

std::vector<Side> sides_of(const CompareOptions& options, const Session& session) {
  const std::vector<std::string>& experiments = options.experiments;
  if (!options.changes.empty() && experiments.size() > 1)
    throw InputError({}, fmt::format("--vs changes one experiment, and there are {}", experiments.size()),
                     "name one experiment, or leave --vs out");
  if (options.changes.empty() && experiments.size() < 2)
    throw InputError({}, fmt::format("there is nothing to compare {} with", printable(experiments.front())),
                     "name a second experiment behind it, or what is different: --vs KEY=VALUE; `orrery run` simulates "
                     "one");
  std::vector<Side> sides;
  const std::vector<std::string> names = short_names(experiments);
  for (std::size_t i = 0; i < experiments.size(); ++i) sides.push_back({names[i], experiments[i], session.settings});
  if (options.changes.empty()) return sides;
  sides.front().name = "as it is";
  const std::string& change = options.changes.front();
  const std::size_t last_step = change.rfind('.', change.find('='));
  Side changed{options.changes.size() == 1 ? printable(change.substr(last_step + 1), 20) : "with --vs",
               experiments.front(), session.settings};
  changed.settings.insert(changed.settings.end(), options.changes.begin(), options.changes.end());
  sides.push_back(std::move(changed));
  return sides;
}

void compare(const CompareOptions& options, const Session& session) {
  const std::vector<Side> sides = sides_of(options, session);
  for (const std::string& experiment : options.experiments) {
    note_input(experiment);
    if (!experiment::is_result(experiment, session.files)) experiment::refuse_other_kinds(experiment, session.files);
  }
  session.outputs.check();
  std::vector<std::optional<study::RunKind>> kinds;  // of jobs that published runs are comparable with
  std::vector<std::string> by_hand;                  // of each of them, a key for which they are not
  const auto request_of = [&](const Side& side) {
    return experiment::RunRequest{side.experiment, side.settings, true, session.allow_oom};
  };
  const auto note_kind = [&](const std::string& file, const experiment::Experiment& read) {
    kinds.push_back(study::job_kind(read));
    const auto recorded = experiment::load_recorded_run(file, session.files);
    const std::string own = kinds.back() ? study::key_by_hand(read, session.files, recorded) : "";
    by_hand.push_back(read.jobs.size() > 1 ? "jobs" : own);  // published runs are of one job
  };
  const std::vector<study::MeasuredError> errors = study::shipped_errors(study::training_runs(), session.files);
  // Simulations may be long: what can be refused is refused before the first.
  for (const Side& side : sides)
    named(side.experiment, [&] { experiment::check_experiment(request_of(side), session.files); });
  std::deque<experiment::Run> runs;
  std::vector<study::NamedResult> results;
  std::set<std::string> told;  // warnings
  for (const Side& side : sides) {
    runs.push_back(named(side.experiment, [&] {
      Progress progress;
      experiment::RunRequest request = request_of(side);
      request.when_read = [&](const experiment::Experiment& read) { note_kind(side.experiment, read); };
      return experiment::run_experiment(request, session.files, std::ref(progress));
    }));
    const experiment::Run& run = runs.back();
    print_warnings(not_told(with_option(run.result.warnings, options.changes), told));
    results.push_back({side.name, &run.result});
    if (sides.size() == 2) results.back().path = report::critical_path(run.job, run.log, run.acting, run.result);
    if (runs.size() > 1 && !errors.empty()) {
      results.back().by_hand = by_hand.front().empty() ? by_hand.back() : by_hand.front();
      if (results.back().by_hand.empty() && kinds.front() && kinds.back())
        results.back().ratio = study::ratio_error(*kinds.back(), errors);
    }
    if (runs.size() > 1 && run.result.finish == runs.front().result.finish)
      results.back().reasons =
          study::why_no_difference(request_of(sides.front()), runs.front(), request_of(side), run, session.files);
  }
  Answer answer{study::comparison_text(results), study::comparison_json(results)};
  if (session.outputs.wants_page()) answer.page = page_of("orrery compare", "comparison", answer.document);
  session.outputs.give(answer);
}

}  // namespace

void add_compare_command(CLI::App& app, Session& session) {
  CompareOptions& options = session.keep<CompareOptions>();
  CLI::App& command = add_command(app, "compare",
                                  {"orrery compare a100.yaml h100.yaml", "orrery compare results/result.json job.yaml",
                                   "orrery compare a100.yaml h100.yaml --nodes 4 --json comparison.json",
                                   "orrery compare job.yaml --vs cluster=hgx-a800",
                                   "orrery compare job.yaml --vs 'cluster.node.nics.bandwidth*=2'"});
  add_files(command, session, "experiments", options.experiments,
            "Experiments, or result.json of runs; the first is the one to compare with")
      .required()
      ->expected(1, 64);
  command
      .add_option("--vs", options.changes,
                  "Compare with the same experiment, but for this key (repeatable: all of them changed at once)")
      ->type_name("KEY=VALUE")
      ->expected(1)
      ->take_all();
  add_experiment_options(command, session);
  add_outputs(command, session);
  add_html(command, session, "what differs as a page");
  command.callback([&] {
    try {
      compare(options, session);
    } catch (const InputError& error) {
      throw InputError(with_option(error.problems(), options.changes));
    }
  });
}

}  // namespace orrery::cli
