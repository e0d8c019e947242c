// SPDX-License-Identifier: MIT
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include "cli/output.h"
#include "cli/session.h"
#include "cli/study/sweep_launch.h"
#include "core/config/quantity_text.h"
#include "core/files/input_files.h"
#include "core/files/interruption.h"
#include "core/files/output_file.h"
#include "core/in_parallel.h"
#include "study/sweep/lines.h"
#include "study/sweep/store.h"
#include "study/sweep/sweep.h"

namespace orrery::cli {
namespace {

struct SweepCommandOptions {
  std::string file;
  unsigned jobs = hardware_threads();
  bool fresh = false;
  bool merge = false;
  std::string shard;
  unsigned cores = 1;  // of a task that is launched
  LaunchOptions launch;
  study::SweepView view;
  std::string show;
  std::size_t top = 0;
};

// A part of the points: number `part` of `parts`, from 0 on.
struct Shard {
  std::size_t part = 0;
  std::size_t parts = 1;
};

[[noreturn]] void refuse_shard(const std::string& text, std::string message) {
  throw InputError({"--shard"}, fmt::format("'{}' {}", printable(text, 40), message),
                   "the first of four: --shard 1/4; in a job array of Slurm: --shard slurm");
}

std::optional<std::int64_t> whole_variable(const char* name) {
  const char* text = std::getenv(name);
  return text == nullptr ? std::nullopt : parse_whole_number(text);
}

// "2/4"; "slurm": that of the task of a job array, whose numbers follow one another.
Shard read_shard(const std::string& text) {
  if (text == "slurm") {
    const auto id = whole_variable("SLURM_ARRAY_TASK_ID"), first = whole_variable("SLURM_ARRAY_TASK_MIN"),
               count = whole_variable("SLURM_ARRAY_TASK_COUNT");
    if (!id || !first || !count) refuse_shard(text, "needs the variables of a job array of Slurm, which are not set");
    if (*id < *first || *id - *first >= *count) refuse_shard(text, "needs a job array without gaps");
    return {static_cast<std::size_t>(*id - *first), static_cast<std::size_t>(*count)};
  }
  const std::size_t slash = text.find('/');
  const auto part = parse_whole_number(text.substr(0, slash));
  const auto parts = slash == std::string::npos ? std::nullopt : parse_whole_number(text.substr(slash + 1));
  if (!part || !parts || *part < 1 || *parts < *part) refuse_shard(text, "is no part of a sweep");
  return {static_cast<std::size_t>(*part - 1), static_cast<std::size_t>(*parts)};
}

std::string result_file(std::size_t point) { return fmt::format("result-{}.json", point + 1); }

void prepare(const Outputs& outputs, const study::Sweep& sweep) {
  note_input(sweep.experiment.where.file);
  std::vector<std::string> files = {"points.csv", "points.jsonl", "points.sqlite", "table.txt"};
  for (std::size_t point = 0; point < sweep.point_count(); ++point) files.push_back(result_file(point));
  outputs.check(files, FolderUse::kShared);  // its parts; study::PointStore tells sweeps from one another
}

// Without a result none from before may stand there.
void write_result(const std::string& file, const nlohmann::ordered_json& result) {
  if (!result.is_null()) return write_file(file, json_text(result), Telling::kNone, Durability::kNone);
  std::error_code code;
  std::filesystem::remove(file, code);
  if (code) throw InputError({file}, fmt::format("cannot be removed: {}", code.message()));
}

// The number of the point whose result a file has by its name, from 1; 0 where it has none.
std::size_t point_of_result(std::string_view file) {
  constexpr std::string_view kBefore = "result-", kBehind = ".json";
  if (!file.starts_with(kBefore) || !file.ends_with(kBehind) || file.size() <= kBefore.size() + kBehind.size())
    return 0;
  const std::string_view text = file.substr(kBefore.size(), file.size() - kBefore.size() - kBehind.size());
  const auto number = parse_whole_number(text);
  return number && *number > 0 && std::to_string(*number) == text ? static_cast<std::size_t>(*number) : 0;
}

// Results of points that this sweep has not got: an earlier, larger one wrote them.
void remove_stale_results(const std::string& folder, std::size_t points) {
  std::vector<std::size_t> stale;
  std::error_code code;
  for (const auto& entry : std::filesystem::directory_iterator(folder, code))
    if (const std::size_t point = point_of_result(entry.path().filename().string());
        point > points && entry.is_regular_file(code))
      stale.push_back(point);
  if (stale.empty()) return;
  std::ranges::sort(stale);
  for (const std::size_t point : stale) write_result(fmt::format("{}/result-{}.json", folder, point), nullptr);
  spdlog::warn("warning: removed {} of an earlier sweep from {}: result-{}.json{}", counted(stale.size(), "result"),
               printable(folder), stale.front(),
               stale.size() > 1 ? fmt::format(" to result-{}.json", stale.back()) : std::string());
}

// Of points that are simulated one by one: what is there of them is on the disk at any time.
class RunningSweep {
 public:
  RunningSweep(const SweepCommandOptions& options, std::optional<Shard> shard, const study::Sweep& sweep,
               const Session& session)
      : options_(options),
        shard_(shard),
        sweep_(sweep),
        session_(session),
        out_(session.outputs.out),
        so_far_(sweep.point_count()) {
    if (out_.empty()) return;
    store_.emplace(out_ + "/points", shard ? std::to_string(shard->part) : options.launch.is_slurm() ? "launcher" : "");
    interruption_.emplace();
    if (options.fresh) clear();
  }

  std::vector<study::SweepPoint> run() {
    study::SweepOptions options;
    options.jobs = options_.jobs;
    options.allow_oom = session_.allow_oom;
    options.store = store_ ? &*store_ : nullptr;
    options.only_known = options_.merge;
    options.is_stopped = [this] { return is_interrupted(); };
    if (shard_) options.part = shard_->part, options.parts = shard_->parts;
    std::vector<study::SweepPoint> points;
    try {
      const auto done = [&](std::size_t point, const study::SweepPoint& found, const nlohmann::ordered_json& result) {
        add(point, found, result);
      };
      points = options_.launch.is_slurm()
                   ? launch_sweep(options_.launch, {options_.file, options_.view.where, options_.cores}, sweep_,
                                  options, session_, done)
                   : study::run_sweep(sweep_, options, session_.files, done);
    } catch (const InputError&) {
      progress_.clear();
      tell_kept();
      throw;
    }
    progress_.clear();
    tell_store();
    return points;
  }

  // Tells which results an interrupted sweep left behind, and returns its exit code; nothing if it ran to its end.
  std::optional<int> tell_interruption() const {
    if (!is_interrupted() || done_ == wanted()) return std::nullopt;
    if (!out_.empty() && !shard_) write_points();
    spdlog::error("error: interrupted");
    tell_kept();
    return interruption_->exit_code();
  }

 private:
  bool is_interrupted() const { return interruption_ && interruption_->came(); }

  void clear() {
    if (options_.launch.is_slurm()) end_launched(session_, [this] { return is_interrupted(); });
    if (!is_interrupted()) store_->clear();
  }

  void add(std::size_t point, const study::SweepPoint& found, const nlohmann::ordered_json& result) {
    progress_("points", ++done_, wanted());
    if (out_.empty() || shard_) return;
    write_result(out_ + "/" + result_file(point), result);
    so_far_[point] = found;
    const auto now = std::chrono::steady_clock::now();
    if (now - written_ < std::chrono::seconds(1)) return;
    written_ = now;
    write_points();
  }

  // Readers see the table of before or that of now.
  void write_points() const {
    write_file(out_ + "/points.csv", study::sweep_csv(sweep_, so_far_), Telling::kNone, Durability::kNone);
  }

  void tell_kept() const {
    if (!out_.empty())
      spdlog::info("{} of {} points are done and kept in {}; the same command goes on with the others", done_, wanted(),
                   printable(out_ + "/points"));
  }

  void tell_store() {
    if (!store_) return;
    for (const std::string& file : store_->damaged())
      spdlog::warn("warning: {} is damaged; its point was simulated again", printable(file));
    if (store_->found() > 0 && !options_.launch.is_slurm())
      spdlog::info("{} of {} points were there from before", store_->found(), wanted());
    if (is_interrupted() || shard_ || done_ < wanted()) return;
    if (const std::size_t others = store_->clear_others(); others > 0)
      spdlog::warn("warning: removed {} of other experiments or versions from {}", counted(others, "result"),
                   printable(out_ + "/points"));
    remove_stale_results(out_, sweep_.point_count());
    remove_partial_files(out_);
  }

  // How many points are to be done here.
  std::size_t wanted() const {
    const std::size_t all = sweep_.point_count();
    return shard_ ? (all + shard_->parts - 1 - shard_->part) / shard_->parts : all;
  }

  const SweepCommandOptions& options_;
  const std::optional<Shard> shard_;
  const study::Sweep& sweep_;
  const Session& session_;
  const std::string& out_;
  std::optional<Interruption> interruption_;
  std::optional<study::PointStore> store_;
  std::vector<study::SweepPoint> so_far_;
  std::chrono::steady_clock::time_point written_{};
  std::size_t done_ = 0;
  Progress progress_;
};

// Points without an answer, on standard error; those that are stuck are a failure, and so are values of an axis that no
// point can be simulated with, as `check` has it.
std::optional<Failure> print_failures(const study::Sweep& sweep, std::span<const study::SweepPoint> points) {
  const auto stuck = std::ranges::count_if(points, &study::SweepPoint::is_stuck);
  const auto refused =
      std::ranges::count_if(points, [](const study::SweepPoint& point) { return !point.refusal.empty(); });
  if (refused > 0)
    spdlog::warn("warning: {} of {} points cannot be simulated; their notes say why", refused, points.size());
  if (stuck == 0) {
    const std::vector<Problem> values = study::refused_values(sweep, points);
    for (const Problem& problem : values) spdlog::error("{}", to_string(problem));
    return values.empty() ? std::nullopt : std::optional(failure_of(values));
  }
  const StuckError error(fmt::format("{} of {} points cannot finish; the first:\n{}", stuck, points.size(),
                                     std::ranges::find_if(points, &study::SweepPoint::is_stuck)->stuck));
  spdlog::error("error: {}", error.what());
  return failure_of(error);
}

// What one shard found is told with the others' results, by --merge.
int end_shard(const Shard& shard, const study::Sweep& sweep, std::span<const study::SweepPoint> points,
              const Session& session) {
  const auto begun = std::ranges::count_if(points, &study::SweepPoint::was_begun);
  const auto ran = std::ranges::count_if(points, &study::SweepPoint::ran);
  print_text(fmt::format("shard {} of {}: {} of {} points, {} of them with a result, in {}\n", shard.part + 1,
                         shard.parts, begun, sweep.point_count(), ran, printable(session.outputs.out + "/points")));
  return kDone;
}

void refuse_missing(std::span<const study::SweepPoint> points, const Session& session) {
  const auto missing = std::ranges::find_if(points, [](const study::SweepPoint& point) { return !point.was_begun(); });
  if (missing == points.end()) return;
  const auto count =
      points.size() - static_cast<std::size_t>(std::ranges::count_if(points, &study::SweepPoint::was_begun));
  throw InputError({session.outputs.out},
                   fmt::format("{} of {} points have no result yet; the first is point {}", count, points.size(),
                               missing - points.begin() + 1),
                   "run their shards, or leave --merge out, which simulates them here");
}

void check_parts(const SweepCommandOptions& options, const Session& session) {
  const char* option = options.merge ? "--merge" : "--shard";
  if (options.launch.is_slurm() && (options.merge || !options.shard.empty()))
    throw InputError({option}, "is of sweeps whose parts are started by hand", "--launcher slurm does that, too");
  if ((options.merge || !options.shard.empty()) && session.outputs.out.empty())
    throw InputError({option}, "is of results that are kept in a folder", "name it: --out DIR");
  if (!options.shard.empty() && (!session.outputs.json.empty() || session.outputs.wants_page()))
    throw InputError({"--shard"}, "has no table of its own: only --merge prints and writes one",
                     "give --json and --html to --merge");
  if (std::error_code code; options.merge && !std::filesystem::is_directory(session.outputs.out + "/points", code))
    throw InputError({session.outputs.out}, "has no results of shards to merge",
                     "the folder that --shard had as --out");
  if (options.merge && !options.shard.empty())
    throw InputError({"--merge"}, "collects what all shards found, and --shard is one of them",
                     "leave one of them out");
  if (options.fresh && (options.merge || !options.shard.empty()))
    throw InputError({"--fresh"}, fmt::format("would remove what other shards found, with {}", option),
                     "begin with an empty folder");
}

study::SweepView view_of(const SweepCommandOptions& options) {
  study::SweepView view = options.view;
  if (!options.show.empty()) view.show = comma_separated(options.show);
  if (options.top > 0) view.top = options.top;
  return view;
}

int sweep(const SweepCommandOptions& options, const Session& session) {
  check_parts(options, session);
  check_launch(options.launch, options.file, session.outputs);
  const std::optional<Shard> shard = options.shard.empty() ? std::nullopt : std::optional(read_shard(options.shard));
  study::Sweep sweep = study::load_sweep(options.file, session.settings, session.files);
  study::change_view(sweep, view_of(options));
  study::check_view(sweep);
  prepare(session.outputs, sweep);
  RunningSweep running(options, shard, sweep, session);
  const std::vector<study::SweepPoint> points = running.run();
  if (const std::optional<int> code = running.tell_interruption()) return *code;
  if (shard) return end_shard(*shard, sweep, points, session);
  if (options.merge) refuse_missing(points, session);
  study::refuse_if_all_refused(sweep, points);
  print_warnings(study::warnings_of(sweep, points));
  print_warnings(study::equal_values(sweep, points, session.files));
  Answer answer{study::sweep_text(sweep, points), study::sweep_json(sweep, points), "table.txt"};
  const std::optional<Failure> failure = print_failures(sweep, points);
  if (failure) answer.document["error"] = to_json(*failure);
  if (const std::string& out = session.outputs.out; !out.empty()) {
    const auto written = std::ranges::count_if(points, &study::SweepPoint::ran);
    spdlog::info("wrote {} of {} result-NUMBER.json to {}", written, points.size(), out);
    write_file(out + "/points.csv", study::sweep_csv(sweep, points));
    write_file(out + "/points.jsonl", study::sweep_json_lines(answer.document));
    write_file(out + "/points.sqlite", study::sweep_sqlite(sweep, points));
  }
  if (session.outputs.wants_page())
    answer.page = page_of(fmt::format("orrery sweep {}", options.file), "sweep", answer.document);
  session.outputs.give(answer);
  return failure ? failure->exit_code : kDone;
}

}  // namespace

void add_sweep_command(CLI::App& app, Session& session) {
  SweepCommandOptions& options = session.keep<SweepCommandOptions>();
  CLI::App& command = add_command(
      app, "sweep", {"orrery sweep sweep.yaml", "orrery sweep sweep.yaml --nodes 2 --jobs 2 --out results"});
  add_file(command, session, "sweep", options.file, "Sweep (YAML or JSON)").required();
  add_experiment_options(command, session);
  add_jobs(command, options.jobs, "points to simulate");
  command
      .add_option("--shard", options.shard,
                  "Simulate this part of the points, as 1/4, or slurm for that of a job array")
      ->type_name("K/N");
  command.add_flag("--merge", options.merge, "Simulate nothing: the table of what all shards have put in --out");
  command
      .add_option("--where", options.view.where,
                  "Points or lines that are wanted, as 'tensor * pipeline <= 64' or 'mfu > 0.4' (repeatable)")
      ->type_name("CONSTRAINT")
      ->expected(1)
      ->take_all();
  command.add_option("--sort", options.view.sort, "Sort the table by this figure, the best first; -FIGURE: the worst")
      ->type_name("FIGURE");
  command.add_option("--top", options.top, "Show so many lines of the table")
      ->type_name("N")
      ->check(CLI::Range(1, 1'000'000));
  command.add_option("--show", options.show, "Columns of the table, as iteration_time,memory")->type_name("COLUMNS");
  add_launch_options(command, options.launch);
  command.add_flag("--fresh", options.fresh, "Simulate all points again, also those with results in --out");
  add_outputs(command, session, "points.csv, .jsonl, .sqlite, table.txt, result.json, each result-NUMBER.json");
  add_html(command, session, "all points as a page (curves, time against memory)");
  command.callback([&] {
    if (command.count("--jobs") > 0) options.cores = options.jobs;
    session.exit_code = sweep(options, session);
  });
}

}  // namespace orrery::cli
