// SPDX-License-Identifier: MIT
#include <algorithm>
#include <array>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <nlohmann/json.hpp>

#include "cli/launcher_flags.h"
#include "cli/output.h"
#include "cli/point_options.h"
#include "cli/printed_figures.h"
#include "cli/seeds.h"
#include "cli/session.h"
#include "cli/sources.h"
#include "core/config/quantity_text.h"
#include "core/files/input_files.h"
#include "core/files/output_file.h"
#include "core/version.h"
#include "experiment/file_kinds.h"
#include "experiment/recorded_run.h"
#include "experiment/runs/run.h"
#include "report/critical_path.h"
#include "report/fold_check.h"
#include "report/page/page.h"
#include "report/rank_csv.h"
#include "report/timeline/timeline.h"
#include "study/compare/compare.h"
#include "study/interval/interval.h"
#include "study/interval/kinds.h"
#include "study/interval/nearest.h"

namespace orrery::cli {

extern const std::string_view kCommit;
namespace {

struct RunOptions {
  std::string experiment;
  std::string ranks = "classes";  // of the tables in --out
  bool gzip = false;              // those tables
  bool deterministic = false;
  bool no_fold = false;
  bool verify_fold = false;
  bool no_fast_forward = false;
  bool critical_path = false;
  bool details = false;
  std::string timeline;
  std::string timeline_ranks = "classes";
  std::string figures;  // names, in place of the summary
  bool csv = false;
  std::string sources;    // format of the list of figures, in place of the summary
  bool cost = false;      // of `perturb`
  std::size_t seeds = 0;  // to simulate with; 0: its own only
  PointOptions points;    // of these
  LauncherFlags flags;
  RunSeeds run_seeds = nullptr;
};

// Simulates the experiment once more, with another setting.
experiment::Run run_again(experiment::RunRequest request, const std::string& setting, const Session& session) {
  request.settings.push_back(setting);
  request.finds_path = request.finds_slack = false;
  request.link_rates_of = {};
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

// With `fold: off` there would be nothing to verify.
void refuse_contradiction(const experiment::Run& run, const RunOptions& options) {
  const ConfigEntry* fold = run.result.experiment.find("fold");
  if (options.verify_fold && fold != nullptr && fold->value.scalar == "off")
    throw InputError({options.experiment}, "'fold: off' and --verify-fold contradict each other",
                     "leave one of them out, or add --set fold=auto");
}

std::string table_file(const RunOptions& options, std::string_view name) {
  return fmt::format("{}.csv{}", name, options.gzip ? ".gz" : "");
}

// The files of --out: all of them are there afterwards, or none.
class OutFolder {
 public:
  OutFolder(const std::string& folder, const RunOptions& options, const experiment::Run& run,
            const report::RankChoice& choice)
      : folder_(folder), options_(options), ranks_(report::chosen_ranks(choice, run.result.class_of_rank)) {
    const std::size_t all = run.result.class_of_rank.size();
    if (choice.kind == report::RankChoice::Kind::kClasses && ranks_.size() < all)
      spdlog::warn(
          "{}: the tables hold {} of {} ranks, one of each class; --ranks all or --ranks 0-7 writes others, "
          "'breakdown' in result.json says who is of which class",
          printable(folder, 300), ranks_.size(), all);
  }

  void add_text(std::string_view name, const std::string& text) {
    files_.add(path_of(name), [&](OutputFile& file) { file.write(text); });
  }

  void add_table(std::string_view name, const report::RankCsv& table) {
    const std::string path = path_of(table_file(options_, name));
    const Bytes size = report::estimated_size(table, ranks_);
    spdlog::warn("{}: about {}{} for {}", printable(path, 300), rounded(size),
                 options_.gzip ? " before compression" : "", counted(ranks_.size(), "rank"));
    Progress progress;
    std::uint64_t done = 0;
    const auto write_to = [&](auto& file) {
      write_csv(table, ranks_, [&](std::string_view text) {
        file.write(text);
        done += text.size();
        const auto whole = std::max<std::uint64_t>(static_cast<std::uint64_t>(size.count()), done);
        progress(fmt::format("writing {}", name), done, whole);
      });
    };
    files_.add(path, [&](OutputFile& file) {
      if (!options_.gzip) return write_to(file);
      GzipWriter gzip(file);
      write_to(gzip);
      gzip.finish();
    });
  }

  void commit() {
    files_.commit(folder_ + "/result.json");
    for (const std::string& path : written_) tell_written(path, std::filesystem::file_size(path));
  }

 private:
  std::string path_of(std::string_view name) { return written_.emplace_back(fmt::format("{}/{}", folder_, name)); }

  const std::string& folder_;
  const RunOptions& options_;
  std::vector<report::ChosenRank> ranks_;
  OutputFiles files_;
  std::vector<std::string> written_;
};

void write_folder(const std::string& folder, const RunOptions& options, const experiment::Run& run,
                  const report::RankChoice& ranks, const Answer& answer) {
  OutFolder out(folder, options, run, ranks);
  out.add_text("result.json", json_text(answer.document));
  out.add_text(answer.text_name, answer.text);
  out.add_table("operations", report::operations_csv(run.job, run.log, run.acting));
  if (run.training) out.add_table("memory", report::memory_csv(run.job, *run.training, run.log, run.acting));
  out.commit();
}

// Compressed if its name ends with .gz.
void write_timeline(const RunOptions& options, const experiment::Run& run, const report::RankChoice& choice) {
  const std::vector<report::ChosenRank> ranks = report::chosen_ranks(choice, run.result.class_of_rank);
  if (ranks.size() > report::kMostTimelineRanks)
    spdlog::warn("{}: shows the first {} of {} ranks; --timeline-ranks 0-7,16 shows others",
                 printable(options.timeline, 300), report::kMostTimelineRanks, ranks.size());
  const report::TimelineSource source{run.job, run.training, run.log, run.acting, run.result};
  report::TimelineSize size;
  const auto fill = [&](OutputFile& file) {
    if (!options.timeline.ends_with(".gz")) {
      size = report::write_timeline(source, ranks, run.link_rates, [&](std::string_view text) { file.write(text); });
      return;
    }
    GzipWriter gzip(file);
    size = report::write_timeline(source, ranks, run.link_rates, [&](std::string_view text) { gzip.write(text); });
    gzip.finish();
  };
  OutputFile file(options.timeline);
  fill(file);
  file.close();
  if (const std::optional<std::string> target = replaceable_file(options.timeline))
    tell_written(options.timeline, std::filesystem::file_size(*target));
  if (size.merged > Duration::zero())
    spdlog::warn(
        "{}: operations of less than {} are put together where they follow one another; --timeline-ranks 0 "
        "shows one rank in full",
        printable(options.timeline, 300), rounded(size.merged));
}

Page page_of_run(const RunOptions& options, const experiment::Run& run) {
  const report::TimelineSource source{run.job, run.training, run.log, run.acting, run.result};
  return {fmt::format("orrery run {}", options.experiment), report::run_page(source, run.path)};
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
  source.inputs = named_inputs(session.files);
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

// Before the work: they can be written, and of the files that a run writes no two are the same.
void check_files(const RunOptions& options, const Outputs& outputs) {
  check_file("--timeline", options.timeline);
  refuse_same_file({"--timeline", options.timeline}, {"--html", outputs.html});
  refuse_same_file({"--json", outputs.json}, {"--timeline", options.timeline});
  if (outputs.out.empty()) return;
  for (const std::string& name : {std::string("result.json"), std::string("summary.txt"),
                                  table_file(options, "operations"), table_file(options, "memory")})
    refuse_same_file({"--timeline", options.timeline}, {"--out", outputs.out + "/" + name});
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
    session.exit_code = options.run_seeds(
        {options.experiment, std::move(settings), !options.no_fast_forward, options.seeds, options.points}, session);
    return;
  }
  const Outputs& outputs = session.outputs;
  check_outputs(options, outputs);
  const report::RankChoice ranks = report::parse_rank_choice(options.ranks);
  const report::RankChoice timeline_ranks = report::parse_rank_choice(options.timeline_ranks, "--timeline-ranks");
  std::optional<Comparable> job;
  std::optional<experiment::WrittenLaunch> launch;
  experiment::RunRequest request{options.experiment,
                                 std::move(settings),
                                 !options.no_fast_forward,
                                 session.allow_oom,
                                 {ranks, timeline_ranks},
                                 [&](const experiment::Experiment& read) {
                                   tell_groups_of(read.resolved);
                                   if (options.flags.wanted()) launch = options.flags.of(read);
                                   job = comparable(read, recorded, session.files);
                                 },
                                 print_warnings};
  request.finds_path = true;
  request.finds_slack = options.critical_path;
  if (!options.timeline.empty()) request.link_rates_of = timeline_ranks;
  experiment::Run run = simulate(request, job, session);
  if (job) add_sureness(*job, session, run.result);
  refuse_contradiction(run, options);
  print_warnings(run.result.warnings);
  spdlog::debug("{} ranks with {} distinct graphs, {} messages, {} events, {:.3f} s", run.job.ranks.size(),
                run.job.graphs.size(), run.result.messages, run.result.events, run.result.wall_seconds);
  Diagnostics diagnostics;
  run.result.source = source_of(request, recorded, options, session, diagnostics);
  if (!outputs.json.empty() || !outputs.out.empty()) print_warnings(diagnostics.problems());
  Answer answer{options.details ? report::details_text(run.result) : report::summary_text(run.result),
                report::to_json(run.result, options.deterministic)};
  if (options.critical_path) add_path(run, answer);
  if (options.cost) add_cost(run, request, session, answer);
  if (options.verify_fold) verify_fold(run, request, session, answer);
  if (launch) add_flags(options.flags, *launch, answer);
  if (!outputs.out.empty()) write_folder(outputs.out, options, run, ranks, answer);
  if (!options.figures.empty())
    answer.text = printed_figures(comma_separated(options.figures), options.csv, answer.document, run.result);
  if (!options.sources.empty()) answer.text = sources_of(options.sources, run.result, session.files);
  if (outputs.wants_page()) answer.page = page_of_run(options, run);
  Outputs{outputs.json, {}, outputs.html}.give(answer);
  if (!options.timeline.empty()) write_timeline(options, run, timeline_ranks);
}

// Behind the options that it does not go with.
void add_seeds(CLI::App& command, RunOptions& options) {
  CLI::Option* seeds = command.add_option(
      "--seeds", options.seeds, "Simulate with this many seeds of noise and traffic: p50, p90, p99 and their cost");
  seeds->type_name("N")->check(CLI::Range(1, 1'000'000).description(""));
  add_points(command, options.points, "seeds");
  for (const std::string& name : point_option_names()) command.get_option(name)->needs(seeds);
  for (const char* other : {"--ranks", "--gzip", "--details", "--critical-path", "--timeline", "--print", "--sources",
                            "--html", "--verify-fold", "--cost", "--deterministic", "--launcher-flags"})
    seeds->excludes(command.get_option(other));
}

}  // namespace

void add_run_command(CLI::App& app, Session& session, RunSeeds run_seeds) {
  RunOptions& options = session.keep<RunOptions>();
  options.run_seeds = run_seeds;
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
  CLI::Option* figures =
      command
          .add_option(
              "--print", options.figures,
              "Print these figures of the result in place of the summary, as iteration_time_s,mfu,exposed.tensor_s")
          ->type_name("KEYS");
  command.add_flag("--csv", options.csv, "Print the figures of --print as one line")->needs(figures);
  add_launcher_flags(command, options.flags, "the job");
  for (const char* other : {"--details", "--critical-path", "--launcher-flags"})
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
