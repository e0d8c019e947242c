// SPDX-License-Identifier: MIT
#include <algorithm>
#include <array>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <nlohmann/json.hpp>

#include "cli/extras.h"
#include "cli/launcher_flags.h"
#include "cli/output.h"
#include "cli/pictures.h"
#include "cli/point_options.h"
#include "cli/printed_figures.h"
#include "cli/run_files.h"
#include "cli/run_options.h"
#include "cli/session.h"
#include "cli/sources.h"
#include "core/config/quantity_text.h"
#include "core/files/input_files.h"
#include "core/version.h"
#include "experiment/files/file_kinds.h"
#include "experiment/recorded_run.h"
#include "experiment/runs/run.h"
#include "report/critical_path.h"
#include "report/operations/fold_check.h"
#include "study/compare/compare.h"
#include "study/interval/interval.h"
#include "study/interval/kinds.h"
#include "study/interval/nearest.h"

namespace orrery::cli {

extern const std::string_view kCommit;
namespace {

// Simulates the experiment once more, with another setting.
experiment::Run run_again(experiment::RunRequest request, const std::string& setting, const Session& session) {
  request.settings.push_back(setting);
  request.finds_path = request.finds_slack = false;
  request.link_rates_of = {};
  request.tells_of = {};
  request.when_read = {};
  Progress progress;
  return experiment::run_experiment(request, session.files, std::ref(progress));
}

// Runs it again with every rank by itself. The first difference, "" if there is none.
std::string fold_difference(const experiment::Run& folded, experiment::RunRequest request, const Session& session) {
  if (!folded.result.folded) {
    spdlog::warn("verify-fold: nothing to verify ({})", folded.result.folding);
    return {};
  }
  request.fast_forward = false;
  const experiment::Run unfolded = run_again(std::move(request), "fold=off", session);
  const auto difference = report::first_difference({folded.log, folded.acting}, {unfolded.log, unfolded.acting});
  if (difference) return fmt::format("folded and unfolded differ: {}", report::to_text(*difference, unfolded.job));
  spdlog::warn("verify-fold: no operation of {} ranks differs by a picosecond ({})", folded.result.class_of_rank.size(),
               folded.result.folding);
  return {};
}

// Refuses to verify with `fold: off`, which leaves nothing to verify.
void refuse_contradiction(const experiment::Run& run, const RunOptions& options) {
  const ConfigEntry* fold = run.result.experiment.find("fold");
  if (options.verify_fold && fold != nullptr && fold->value.scalar == "off")
    throw InputError({options.experiment}, "'fold: off' and --verify-fold contradict each other",
                     "leave one of them out, or add --set fold=auto");
}

// Options other than --set that the result depends on.
std::vector<std::string> noted_options(const RunOptions& options, const Session& session) {
  std::vector<std::string> noted;
  if (session.allow_oom) noted.emplace_back("--allow-oom");
  if (options.no_fast_forward) noted.emplace_back("--no-fast-forward");
  return noted;
}

// The recorded run's options hold again.
void take_over(const experiment::RecordedRun& recorded, RunOptions& options, Session& session) {
  const auto has = [&](std::string_view name) {
    return std::ranges::find(recorded.source.options, name) != recorded.source.options.end();
  };
  session.allow_oom = session.allow_oom || has("--allow-oom");
  options.no_fast_forward = options.no_fast_forward || has("--no-fast-forward");
  if (recorded.version != kVersion || (!recorded.source.commit.empty() && recorded.source.commit != kCommit))
    spdlog::warn("{}: written by orrery {} (commit {}), run again by {} (commit {})", printable(options.experiment),
                 printable(recorded.version), printable(recorded.source.commit), kVersion, kCommit);
}

// True if a document or a page will say which files were read.
bool needs_inputs(const RunOptions& options, const Outputs& outputs) {
  return !outputs.json.empty() || !outputs.out.empty() || outputs.wants_page() || !options.figures.empty();
}

report::ResultSource source_of(const experiment::RunRequest& request,
                               const std::optional<experiment::RecordedRun>& recorded, const RunOptions& options,
                               const Session& session, Diagnostics& diagnostics) {
  std::error_code code;
  report::ResultSource source{options.experiment,
                              request.settings,
                              noted_options(options, session),
                              std::string(kCommit),
                              std::filesystem::current_path(code).string(),
                              {}};
  if (recorded) return experiment::source_of(*recorded, source, diagnostics);
  if (needs_inputs(options, session.outputs)) source.inputs = named_inputs(session.files);
  return source;
}

void tell_groups_of(const ConfigValue& experiment) {
  const ConfigEntry* workload = experiment.find("workload");
  const ConfigEntry* chakra = workload == nullptr ? nullptr : workload->value.find("chakra");
  const ConfigEntry* groups = chakra == nullptr ? nullptr : chakra->value.find("groups");
  if (groups != nullptr) tell_groups(groups->value.scalar);
  if (const ConfigEntry* jobs = experiment.find("jobs"))
    for (const ConfigValue& job : jobs->value.items) tell_groups_of(job);
}

// Facts that make a job comparable with published runs.
struct Comparable {
  const study::RunSchema* schema = nullptr;  // of these
  study::RunKind kind;
  std::optional<study::JobShape> shape;  // of a job of a model
  std::string by_hand;                   // as study::key_by_hand()
  std::vector<std::string> untold;       // as study::keys_untold()
};

// A job of a model, or one that calls a collective; empty for all others.
std::optional<Comparable> comparable(const experiment::Experiment& read,
                                     const std::optional<experiment::RecordedRun>& recorded, const ConfigFiles& files) {
  Comparable job;
  if (std::optional<study::RunKind> kind = study::job_kind(read)) {
    const std::optional<study::JobShape> shape = study::job_shape(read);
    job = {&study::training_runs(), *std::move(kind), shape, {}, study::keys_untold(read, files, recorded)};
  } else if (std::optional<study::RunKind> call = study::called_collective(read)) {
    job = {&study::collective_runs(), *std::move(call), {}, {}, {}};
  } else {
    return std::nullopt;
  }
  job.by_hand = study::key_by_hand(read, files, recorded);
  return job;
}

// Adds the interval of its time, as far as comparable runs were measured, and the nearest of these.
void add_sureness(const Comparable& job, const Session& session, report::Result& result) {
  const std::vector<study::MeasuredError> errors = study::shipped_errors(*job.schema, session.files);
  if (errors.empty()) return;
  result.by_hand = job.by_hand;
  if (job.by_hand.empty())
    result.interval =
        study::time_interval(study::interval_of(job.kind, errors, *job.schema), report::iteration_time(result));
  if (job.shape) result.nearest = study::nearest_run(job.kind, *job.shape, errors, job.untold);
}

// The error of a job that does not fit; its hint tells of a published run that did.
InputError with_measured_fit(const InputError& error, const std::optional<Comparable>& job, const Session& session) {
  if (!error.out_of_memory() || !job || !job->shape) return error;
  const std::string fit =
      study::measured_fit_text(job->kind, *job->shape, study::shipped_errors(*job->schema, session.files));
  std::vector<Problem> problems(error.problems().begin(), error.problems().end());
  for (Problem& problem : problems)
    if (problem.out_of_memory && !fit.empty()) problem.hint += (problem.hint.empty() ? "" : "; ") + fit;
  return InputError(std::move(problems));
}

// `job` is filled in while the experiment is read.
experiment::Run simulate(const experiment::RunRequest& request, const std::optional<Comparable>& job,
                         const Session& session) {
  Progress progress;
  try {
    experiment::Run run = experiment::run_experiment(request, session.files, std::ref(progress));
    progress.clear();
    return run;
  } catch (const InputError& error) {
    throw with_measured_fit(error, job, session);
  }
}

// The critical path, and how much slower what is beside it may be.
void add_path(const experiment::Run& run, Answer& answer) {
  answer.text += "\n" + report::critical_path_text(run.path, run.result);
  report::add_critical_path(run.path, run.result, answer.document);
  if (run.slack) {
    answer.text += "\n" + report::slack_text(*run.slack, run.job, run.acting, run.result);
    report::add_slack(*run.slack, run.job, run.acting, run.result, answer.document);
  } else {
    answer.text += fmt::format("\nno slack: there are more than {} operations\n", report::kMostSlackOperations);
  }
}

// Adds the cost of `perturb`: the difference to a run without it.
void add_cost(const experiment::Run& run, experiment::RunRequest request, const Session& session, Answer& answer) {
  const ConfigEntry* perturb = run.result.experiment.find("perturb");
  if (perturb == nullptr || perturb->value.entries.empty())
    throw InputError({request.file}, "--cost: nothing is perturbed", "--set perturb.ranks.5.slower='30 %'");
  const Duration without = report::iteration_time(run_again(std::move(request), "perturb={}", session).result);
  const Duration with = report::iteration_time(run.result), cost = with - without;
  answer.text +=
      fmt::format("perturbation costs {}{} ({}): {} without it\n", cost < Duration::zero() ? "-" : "",
                  rounded(cost < Duration::zero() ? -cost : cost), study::above_text(with, without), rounded(without));
  answer.document["cost"] = {{"undisturbed_s", seconds(without)}, {"cost_s", seconds(with) - seconds(without)}};
  if (without > Duration::zero()) answer.document["cost"]["percent"] = 100 * (seconds(with) / seconds(without) - 1);
}

void check_outputs(const RunOptions& options, const Outputs& outputs) {
  check_sources(options.sources, outputs);
  outputs.check(std::array{table_file(options, "operations"), table_file(options, "memory")});
  check_files(options, outputs);
  options.flags.check(outputs);
  if (!options.figures.empty()) refuse_table_format("--print");
  if (!options.figures.empty() && outputs.json == "-")
    throw InputError({"--print"}, "prints figures, and --json - the whole document", "leave one of them out");
}

// Simulates without folding, too; a difference becomes the answer's error and exit code.
void verify_fold(const experiment::Run& run, const experiment::RunRequest& request, Session& session, Answer& answer) {
  const std::string difference = fold_difference(run, request, session);
  if (difference.empty()) return;
  spdlog::error(difference);
  session.exit_code = kCheckFailed;
  answer.document["error"] = to_json(Failure{kCheckFailed, {{Severity::kError, {}, difference, {}}}});
}

// The summary or the tables, and what options add to them.
Answer answer_of(const experiment::Run& run, const experiment::RunRequest& request, const RunOptions& options,
                 Session& session) {
  Answer answer{options.details ? report::details_text(run.result) : report::summary_text(run.result),
                report::to_json(run.result, options.deterministic)};
  if (options.critical_path) add_path(run, answer);
  if (options.schedule) answer.text += extras().schedule_of_run(run);
  if (options.cost) add_cost(run, request, session, answer);
  if (options.verify_fold) verify_fold(run, request, session, answer);
  return answer;
}

// Files that are no part of the answer come first: whoever reads its text may stop reading.
void give(const Answer& answer, const Outputs& outputs, const std::function<void()>& write_files) {
  std::optional<InputError> unwritten;  // told behind the answer, which took long
  try {
    write_files();
  } catch (const InputError& error) {
    unwritten = error;
  }
  Outputs{outputs.json, {}, outputs.html}.give(answer);
  if (unwritten) throw InputError(*unwritten);
}

void run(RunOptions& options, Session& session) {
  const std::optional<experiment::RecordedRun> recorded =
      experiment::load_recorded_run(options.experiment, session.files);
  if (recorded)
    take_over(*recorded, options, session);
  else
    experiment::refuse_other_kinds(options.experiment, session.files);
  note_input(options.experiment, InputKind::kConfiguration);
  std::vector<std::string> settings = session.settings;
  if (options.no_fold) settings.emplace_back("fold=off");
  if (options.seeds > 0) {
    session.exit_code = extras().run_seeds(
        {options.experiment, std::move(settings), !options.no_fast_forward, options.seeds, options.points}, session);
    return;
  }
  const Outputs& outputs = session.outputs;
  check_outputs(options, outputs);
  const report::RankChoice ranks = report::parse_rank_choice(options.ranks);
  const report::RankChoice timeline_ranks = report::parse_rank_choice(options.timeline_ranks, "--timeline-ranks");
  if (!options.schedule_svg.empty()) extras().look_of_width(options.width);
  std::optional<Comparable> job;
  std::optional<experiment::WrittenLaunch> launch;
  experiment::RunRequest request{options.experiment,
                                 std::move(settings),
                                 !options.no_fast_forward,
                                 session.allow_oom,
                                 {ranks, timeline_ranks},
                                 [&](const experiment::Experiment& read) {
                                   check_schedule(options, read);
                                   tell_groups_of(read.resolved);
                                   if (options.flags.wanted()) launch = options.flags.of(read);
                                   job = comparable(read, recorded, session.files);
                                 },
                                 print_warnings};
  request.finds_path = true;
  request.finds_slack = options.critical_path;
  if (!options.timeline.empty()) request.link_rates_of = timeline_ranks;
  if (!options.timeline.empty()) request.tells_of.push_back(timeline_ranks);
  if (!outputs.out.empty()) request.tells_of.push_back(ranks);
  experiment::Run run = simulate(request, job, session);
  if (job) add_sureness(*job, session, run.result);
  refuse_contradiction(run, options);
  print_warnings(run.result.warnings);
  spdlog::debug("{} ranks with {} distinct graphs, {} messages, {} events, {:.3f} s", run.job.ranks.size(),
                run.job.graphs.size(), run.result.messages, run.result.events, run.result.wall_seconds);
  Diagnostics diagnostics;
  run.result.source = source_of(request, recorded, options, session, diagnostics);
  if (!outputs.json.empty() || !outputs.out.empty()) print_warnings(diagnostics.problems());
  Answer answer = answer_of(run, request, options, session);
  if (launch) add_flags(options.flags, *launch, answer);
  if (!outputs.out.empty()) write_folder(outputs.out, options, run, ranks, answer);
  if (!options.figures.empty())
    answer.text = printed_figures(comma_separated(options.figures), options.csv, answer.document, run.result);
  if (!options.sources.empty()) answer.text = sources_of(options.sources, run.result, session.files);
  if (outputs.wants_page()) answer.page = extras().page_of_run(options, run);
  give(answer, outputs, [&] {
    if (!options.timeline.empty()) extras().write_timeline(options, run, timeline_ranks);
    if (!options.schedule_svg.empty()) extras().write_schedule(options, run);
  });
}

void add_timeline(CLI::App& command, RunOptions& options) {
  CLI::Option* timeline =
      command
          .add_option("--timeline", options.timeline,
                      "Write what ranks do when, as a file for Perfetto or Chrome (.json or .json.gz)")
          ->type_name("FILE");
  command
      .add_option("--timeline-ranks", options.timeline_ranks,
                  "Ranks in the timeline, as for --ranks (default: classes)")
      ->type_name("RANKS")
      ->needs(timeline);
}

void add_schedule(CLI::App& command, RunOptions& options) {
  command.add_flag("--schedule", options.schedule,
                   "Also draw the pipeline's schedule as text: a row for each stage, passes by micro-batch, bubbles");
  CLI::Option* picture =
      command
          .add_option("--schedule-svg", options.schedule_svg,
                      "Draw the pipeline's schedule for a paper: a row for each stage, bubbles hatched and measured")
          ->type_name("FILE");
  add_width(command, options.width, picture, options.width);
}

// Behind the options that it does not go with.
void add_seeds(CLI::App& command, RunOptions& options) {
  CLI::Option* seeds = command.add_option(
      "--seeds", options.seeds, "Simulate with this many seeds of noise and traffic: p50, p90, p99 and their cost");
  seeds->type_name("N")->check(CLI::Range(1, 1'000'000).description(""));
  add_points(command, options.points, "seeds");
  for (const std::string& name : point_option_names()) command.get_option(name)->needs(seeds);
  for (const char* other :
       {"--ranks", "--gzip", "--details", "--critical-path", "--schedule", "--schedule-svg", "--timeline", "--print",
        "--sources", "--html", "--verify-fold", "--cost", "--deterministic", "--launcher-flags"})
    seeds->excludes(command.get_option(other));
}

}  // namespace

void add_run_command(CLI::App& app, Session& session) {
  RunOptions& options = session.keep<RunOptions>();
  CLI::App& command = add_command(app, "run",
                                  {"orrery run job.yaml --nodes 4",
                                   "orrery run job.yaml --set workload.batch.micro=2 --json - | jq .iteration_time_s",
                                   "orrery run job.yaml --out results --verify-fold"});
  add_file(command, session, "experiment", options.experiment,
           "Experiment (YAML or JSON), a result.json to run again, or a PyTorch profile to replay")
      .required();
  add_experiment_options(command, session);
  add_outputs(command, session, "result.json, summary.txt, operations.csv and, of a training job, memory.csv");
  CLI::Option* out = command.get_option("--out");
  command
      .add_option("--ranks", options.ranks,
                  "Ranks in the tables of --out: classes (one of each class), all, or a list like 0-7,16 "
                  "(default: classes)")
      ->type_name("RANKS")
      ->needs(out);
  command.add_flag("--gzip", options.gzip, "Write the tables of --out as operations.csv.gz and memory.csv.gz")
      ->needs(out);
  command.add_flag("--details", options.details,
                   "Tables of all parts, ranks and links in place of a summary that fits a screen");
  command.add_flag("--critical-path", options.critical_path,
                   "Also say what the time is made of: the chain of operations that ends last");
  add_timeline(command, options);
  add_schedule(command, options);
  CLI::Option* figures =
      command
          .add_option(
              "--print", options.figures,
              "Print these figures of the result in place of the summary, as iteration_time_s,mfu,exposed.tensor_s")
          ->type_name("KEYS");
  command.add_flag("--csv", options.csv, "Print the figures of --print as one line")->needs(figures);
  add_launcher_flags(command, options.flags, "the job");
  for (const char* other : {"--details", "--critical-path", "--schedule", "--launcher-flags"})
    figures->excludes(command.get_option(other));
  add_sources(command, options.sources);
  add_html(command, session, "all of it as one page (a timeline that zooms, links, memory, the critical path)");
  command.add_flag("--deterministic", options.deterministic, "Omit wall time and memory use from the JSON");
  CLI::Option* no_fold =
      command.add_flag("--no-fold", options.no_fold, "Simulate every rank (default: one of each class)");
  command
      .add_flag("--verify-fold", options.verify_fold,
                "Also simulate every rank; exit 4 if an operation differs by 1 ps")
      ->excludes(no_fold);
  command.add_flag("--no-fast-forward", options.no_fast_forward,
                   "Simulate every message, even those whose times follow from others; results do not change");
  command.add_flag("--cost", options.cost, "Also simulate without `perturb`, and say what that costs");
  add_seeds(command, options);
  command.callback([&] { run(options, session); });
}

}  // namespace orrery::cli
