// SPDX-License-Identifier: MIT
#include <algorithm>
#include <array>
#include <deque>
#include <filesystem>
#include <functional>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "cli/extras.h"
#include "cli/output.h"
#include "cli/pictures.h"
#include "cli/session.h"
#include "core/config/tree.h"
#include "core/files/input_files.h"
#include "experiment/files/file_kinds.h"
#include "experiment/recorded_run.h"
#include "experiment/runs/run.h"
#include "report/critical_path.h"
#include "study/compare/compare.h"
#include "study/compare/partners.h"
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
  bool details = false;
  PictureOptions pictures;
};

// One column.
struct Side {
  std::string name;
  std::string experiment;
  std::vector<std::string> settings;
  std::vector<std::string> changes{};  // among the settings, those of --vs
  bool has_changed_twin = false;       // another side is the same experiment, but for --vs
};

// Line above the problems of a side that says which it is; nothing where they do.
std::optional<Problem> heading_of(const Side& side, const InputError& error) {
  const auto is_told = [&](const Problem& problem) {
    if (side.changes.empty())
      return problem.where.file == side.experiment || problem.message.find(side.experiment) != std::string::npos;
    return std::ranges::any_of(
        side.changes, [&](const std::string& change) { return problem.where.file == "--set " + printable(change); });
  };
  const bool are_told = std::ranges::any_of(error.problems(), is_told);
  if (are_told && !side.has_changed_twin) return std::nullopt;
  std::string changes;
  for (const std::string& change : side.changes)
    changes += fmt::format("{}--vs {}", changes.empty() ? "" : " ", printable(change));
  Problem heading;
  heading.where.file = changes.empty() ? side.experiment : changes;
  heading.message = !side.changes.empty()   ? "with this the experiment cannot be simulated:"
                    : side.has_changed_twin ? "as it is, without --vs, this experiment cannot be simulated:"
                                            : "this experiment cannot be simulated:";
  heading.out_of_memory = error.out_of_memory();
  return heading;
}

// Runs `something`; an error names the side.
template <class Do>
auto named(const Side& side, Do something) {
  try {
    return something();
  } catch (const StuckError& error) {
    const std::string which =
        side.has_changed_twin ? fmt::format("{} ({})", side.experiment, side.name) : side.experiment;
    throw StuckError(fmt::format("{}: {}", printable(which), error.what()), error.rank(), error.node(),
                     error.proposals());
  } catch (const InputError& error) {
    const std::optional<Problem> heading = heading_of(side, error);
    if (!heading) throw;
    std::vector<Problem> problems = {*heading};
    problems.insert(problems.end(), error.problems().begin(), error.problems().end());
    throw InputError(std::move(problems));
  }
}

std::vector<Side> sides_of(const CompareOptions& options, const Session& session) {
  const std::vector<std::string>& experiments = options.experiments;
  if (!options.changes.empty() && experiments.size() > 1)
    throw InputError({}, fmt::format("--vs changes one experiment, and there are {}", experiments.size()),
                     "name one experiment, or leave --vs out");
  if (options.changes.empty() && experiments.size() < 2)
    throw InputError({}, fmt::format("there is nothing to compare {} with", printable(experiments.front())),
                     "name a second experiment behind it, or what is different: --vs KEY=VALUE; `orrery run` simulates "
                     "one");
  std::set<std::string> changed_keys;
  for (const std::string& change : options.changes)
    if (const std::string key = path_of_setting(change); !changed_keys.insert(key).second)
      throw InputError(
          {"--vs " + printable(change)},
          fmt::format("'{}' of another --vs again, and all of --vs is changed at once", printable(key, 60)),
          "leave one of them out; several values are compared as files, or by orrery sweep");
  std::vector<Side> sides;
  const std::vector<std::string> names = short_names(experiments);
  for (std::size_t i = 0; i < experiments.size(); ++i) sides.push_back({names[i], experiments[i], session.settings});
  if (options.changes.empty()) return sides;
  sides.front().name = "as it is";
  sides.front().has_changed_twin = true;
  const std::string& change = options.changes.front();
  const std::size_t last_step = change.rfind('.', change.find('='));
  Side changed{options.changes.size() == 1 ? printable(change.substr(last_step + 1), 20) : "with --vs",
               experiments.front(), session.settings};
  changed.settings.insert(changed.settings.end(), options.changes.begin(), options.changes.end());
  changed.changes = options.changes;
  sides.push_back(std::move(changed));
  return sides;
}

// Options that set a key of every experiment, as --nodes does.
void add_whole_training(CLI::App& command, Session& session) {
  const auto add = [&](const char* option, const char* type, const char* key, const char* about) {
    command
        .add_option_function<std::string>(
            option, [&session, option, key](const std::string& value) { session.set_by(option, key, value); }, about)
        ->type_name(type);
  };
  add("--tokens", "N", "workload.tokens",
      "Tokens of the whole training, for its days and energy, as --set workload.tokens=N");
  add("--price", "P", "workload.price", "Price of a device for an hour, for its cost, as --set workload.price=P");
}

// Job of one column, as far as published runs may be held against it.
struct SideJob {
  std::optional<study::ComparedJob> job;  // of those that they are comparable with
  std::string by_hand;                    // a key for which they are not
  std::string default_software;           // that nobody named
};

SideJob side_job(const std::string& file, const experiment::Experiment& read, const ConfigFiles& files) {
  SideJob side;
  if (std::optional<study::RunKind> kind = study::job_kind(read)) {
    side.job = study::ComparedJob{std::move(*kind), study::job_shape(read)};
    side.by_hand = study::key_by_hand(read, files, experiment::load_recorded_run(file, files));
  }
  if (const auto& training = read.jobs.front().workload.training; training && training->takes_default_software)
    side.default_software = training->software.name;
  if (read.jobs.size() > 1) side.by_hand = "jobs";  // published runs are of one job
  return side;
}

// Tells how far off the ratio of a run to the first is, or why nothing is known of it.
void tell_ratio(study::NamedResult& run, const SideJob& first, const SideJob& other,
                const std::vector<study::MeasuredError>& errors) {
  if (errors.empty()) return;
  run.by_hand = first.by_hand.empty() ? other.by_hand : first.by_hand;
  if (!run.by_hand.empty())
    run.no_ratio_error = study::no_ratio_error_text(run.by_hand);
  else if (first.job && other.job && are_near(*first.job, *other.job))
    run.ratio = study::ratio_error(other.job->kind, errors);
  else if (first.job && other.job)
    run.no_ratio_error = study::no_ratio_error_text(*first.job, *other.job);
}

void compare(const CompareOptions& options, const Session& session) {
  const std::vector<Side> sides = sides_of(options, session);
  for (const std::string& experiment : options.experiments) {
    note_input(experiment);
    if (!experiment::is_result(experiment, session.files)) experiment::refuse_other_kinds(experiment, session.files);
  }
  session.outputs.check();
  check_pictures(options.pictures, session.outputs);
  std::vector<SideJob> jobs;
  const auto request_of = [&](const Side& side) {
    return experiment::RunRequest{side.experiment, side.settings, true, session.allow_oom};
  };
  const std::vector<study::MeasuredError> errors = study::shipped_errors(study::training_runs(), session.files);
  // Simulations may be long: what can be refused is refused before the first.
  for (const Side& side : sides) named(side, [&] { experiment::check_experiment(request_of(side), session.files); });
  std::deque<experiment::Run> runs;
  std::vector<study::NamedResult> results;
  std::set<std::string> told;  // warnings
  for (const Side& side : sides) {
    runs.push_back(named(side, [&] {
      Progress progress;
      experiment::RunRequest request = request_of(side);
      request.when_read = [&](const experiment::Experiment& read) {
        jobs.push_back(side_job(side.experiment, read, session.files));
      };
      return experiment::run_experiment(request, session.files, std::ref(progress));
    }));
    const experiment::Run& run = runs.back();
    print_warnings(not_told(with_option(run.result.warnings, options.changes), told));
    results.push_back({side.name, &run.result});
    results.back().default_software = jobs.back().default_software;
    if (sides.size() == 2) results.back().path = report::critical_path(run.job, run.log, run.acting, run.result);
    if (runs.size() > 1) {
      tell_ratio(results.back(), jobs.front(), jobs.back(), errors);
      Progress progress;
      results.back().reasons = study::explained_difference(
          {request_of(sides.front()), runs.front(), request_of(side), run}, session.files, std::ref(progress));
    }
  }
  Answer answer{study::comparison_text(results, options.details ? study::Detail::kAll : study::Detail::kScreen),
                study::comparison_json(results)};
  if (session.outputs.wants_page()) answer.page = page_of("orrery compare", "comparison", answer.document);
  if (options.pictures.wanted()) extras().write_comparison(options.pictures, results);
  session.outputs.give(answer);
}

}  // namespace

void add_compare_command(CLI::App& app, Session& session) {
  CompareOptions& options = session.keep<CompareOptions>();
  CLI::App& command = add_command(app, "compare",
                                  {"orrery compare a100.yaml h100.yaml", "orrery compare results/result.json job.yaml",
                                   "orrery compare a100.yaml h100.yaml --nodes 4 --json comparison.json",
                                   "orrery compare job.yaml --vs cluster=hgx-a800",
                                   "orrery compare job.yaml --vs cluster=dgx-h100 --tokens 1T --price 2.50",
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
  command.add_flag("--details", options.details, "All parts, figures, settings, uses of memory and operations");
  add_experiment_options(command, session);
  add_whole_training(command, session);
  add_pictures(command, options.pictures, "the parts of each run");
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
