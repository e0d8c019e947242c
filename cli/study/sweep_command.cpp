// SPDX-License-Identifier: MIT
#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <filesystem>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <vector>

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include "cli/output.h"
#include "cli/pictures.h"
#include "cli/session.h"
#include "cli/study/drawings.h"
#include "cli/study/points.h"
#include "cli/study/watch.h"
#include "core/config/quantity_text.h"
#include "core/files/input_files.h"
#include "core/files/output_file.h"
#include "study/sweep/lines.h"
#include "study/sweep/picture.h"
#include "study/sweep/sweep.h"

namespace orrery::cli {
namespace {

struct SweepCommandOptions {
  std::string file;
  PointOptions points;
  study::SweepView view;
  PictureOptions pictures;
  study::SweepPictureView drawn;
  std::string over;
  std::string show;
  std::size_t top = 0;
};

std::string result_file(std::size_t point) { return fmt::format("result-{}.json", point + 1); }

void prepare(const Outputs& outputs, const study::Sweep& sweep) {
  note_input(sweep.experiment.where.file);
  std::vector<std::string> files = {"points.csv", "points.jsonl", "points.sqlite", "table.txt"};
  for (std::size_t point = 0; point < sweep.point_count(); ++point) files.push_back(result_file(point));
  outputs.check(files, FolderUse::kShared);  // its parts; study::PointStore tells studies from one another
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

// Folder of a sweep while its points are simulated: each result, and a table of the finished ones.
class SweepFolder {
 public:
  SweepFolder(std::string folder, const study::Sweep& sweep)
      : folder_(std::move(folder)), sweep_(sweep), so_far_(sweep.point_count()) {}

  void add(std::size_t point, const study::SweepPoint& found, const nlohmann::ordered_json& result) {
    write_result(folder_ + "/" + result_file(point), result);
    so_far_[point] = found;
    const auto now = std::chrono::steady_clock::now();
    if (now - written_ < std::chrono::seconds(1)) return;
    written_ = now;
    write_points();
  }

  // Readers see the table of before or that of now.
  void write_points() const {
    write_file(folder_ + "/points.csv", study::sweep_csv(sweep_, so_far_), Telling::kNone, Durability::kNone);
  }

 private:
  const std::string folder_;
  const study::Sweep& sweep_;
  std::vector<study::SweepPoint> so_far_;
  std::chrono::steady_clock::time_point written_{};
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

// The table while its points come; once a second also where none does, for the time that is left.
class WatchedSweep {
 public:
  WatchedSweep(const study::Sweep& sweep, Progress& progress)
      : sweep_(sweep), progress_(progress), so_far_(sweep.point_count()) {
    progress_.leave_to_others();
    beat_ = std::jthread([this](const std::stop_token& stop) {
      std::unique_lock lock(mutex_);
      do draw();
      while (!ended_.wait_for(lock, stop, std::chrono::seconds(1), [&] { return stop.stop_requested(); }));
    });
  }
  ~WatchedSweep() { clear(); }

  // Any thread may call.
  void add(std::size_t point, const study::SweepPoint& found) {
    const std::scoped_lock lock(mutex_);
    so_far_[point] = found;
    draw();
  }
  void clear() {
    if (!beat_.joinable()) return;
    beat_.request_stop();
    beat_.join();
    screen_.clear();
  }

 private:
  // The lock is held.
  void draw() {
    screen_.show([this] { return table() + progress_.line() + "\n"; });
  }
  // Empty as long as no point has a figure that lines are sorted or chosen by; if none ever has, the answer says so.
  std::string table() const {
    if (std::ranges::none_of(so_far_, &study::SweepPoint::ran)) return {};
    try {
      return study::sweep_text(sweep_, so_far_) + "\n";
    } catch (const InputError&) {
      return {};
    }
  }

  const study::Sweep& sweep_;
  Progress& progress_;
  std::mutex mutex_;  // of all below
  std::vector<study::SweepPoint> so_far_;
  WatchedScreen screen_;
  std::condition_variable_any ended_;
  std::jthread beat_;  // the last member: it uses the others
};

// Results that are only read from a folder are not written there.
Outputs outputs_of(const SweepCommandOptions& options, const Session& session) {
  Outputs outputs = session.outputs;
  if (options.points.follows()) outputs.out.clear();
  return outputs;
}

study::SweepView view_of(const SweepCommandOptions& options) {
  study::SweepView view = options.view;
  if (!options.show.empty()) view.show = comma_separated(options.show);
  if (options.top > 0) view.top = options.top;
  return view;
}

study::SweepPictureView picture_of(const SweepCommandOptions& options) {
  study::SweepPictureView view = options.drawn;
  if (!options.over.empty()) view.over = comma_separated(options.over);
  return view;
}

// The picture that is asked for, and for a page time against memory as well.
void draw(const SweepCommandOptions& options, const study::Sweep& sweep, std::span<const study::SweepPoint> points,
          Answer& answer) {
  if (std::ranges::none_of(points, &study::SweepPoint::ran)) return;
  if (!answer.page && !options.pictures.wanted()) return;
  const report::Picture picture = study::sweep_picture(sweep, points);
  add_to_page(answer, picture);
  if (sweep.picture.drawing != study::SweepDrawing::kMemory)
    if (const auto memory = study::memory_picture(sweep, points)) add_to_page(answer, *memory);
  write_pictures(options.pictures, picture);
}

// The files of --out that are of all points.
void write_tables(const std::string& out, const study::Sweep& sweep, std::span<const study::SweepPoint> points,
                  const Answer& answer) {
  const auto written = std::ranges::count_if(points, &study::SweepPoint::ran);
  spdlog::info("wrote {} of {} result-NUMBER.json to {}", written, points.size(), out);
  write_file(out + "/points.csv", study::sweep_csv(sweep, points));
  write_file(out + "/points.jsonl", study::sweep_json_lines(answer.document));
  write_file(out + "/points.sqlite", study::sweep_sqlite(sweep, points));
}

int sweep(const SweepCommandOptions& options, const Session& session) {
  check_points(options.points, options.file, session);
  study::Sweep sweep = study::load_sweep(options.file, session.settings, session.files);
  study::change_view(sweep, view_of(options));
  study::check_view(sweep);
  const Outputs outputs = outputs_of(options, session);
  study::change_picture(sweep, picture_of(options));
  study::check_picture(sweep);
  check_pictures(options.pictures, outputs);
  prepare(outputs, sweep);
  RunningPoints running(options.points, session);
  std::optional<SweepFolder> folder;
  if (!outputs.out.empty() && options.points.shard.empty()) folder.emplace(outputs.out, sweep);
  std::optional<WatchedSweep> watched;
  if (options.points.watch) watched.emplace(sweep, running.progress());
  std::vector<study::SweepPoint> points;
  PointTexts texts;
  texts.when_stopped = [&] {
    if (folder) folder->write_points();
    return std::string();
  };
  texts.of_part = [&] {
    return fmt::format(", {} of them with a result", std::ranges::count_if(points, &study::SweepPoint::ran));
  };
  const auto study = [&] {
    const auto done = [&](std::size_t point, const study::SweepPoint& found, const nlohmann::ordered_json& result) {
      if (folder) folder->add(point, found, result);
      if (watched) watched->add(point, found);
    };
    points = study::run_sweep(sweep, session.allow_oom, running.points(), session.files,
                              folder || watched ? study::PointDone(done) : study::PointDone());
  };
  const std::optional<int> code = running.run(study, texts);
  if (watched) watched->clear();
  if (code) return *code;
  if (folder) remove_stale_results(outputs.out, points.size());
  study::refuse_if_all_refused(sweep, points);
  print_warnings(study::warnings_of(sweep, points));
  const std::vector<Problem> equal = study::equal_values(sweep, points, session.files);
  Answer answer{study::sweep_text(sweep, points), study::sweep_json(sweep, points), "table.txt"};
  const std::optional<Failure> failure = print_failures(sweep, points);
  if (failure) answer.document["error"] = to_json(*failure);
  if (!outputs.out.empty()) write_tables(outputs.out, sweep, points, answer);
  if (outputs.wants_page())
    answer.page = page_of(fmt::format("orrery sweep {}", options.file), "sweep", answer.document);
  if (answer.page)
    for (const Problem& problem : equal) answer.page->data["notes"].push_back(problem.message);
  std::optional<InputError> undrawn;  // told behind the answer, which took long
  try {
    draw(options, sweep, points, answer);
  } catch (const InputError& error) {
    undrawn = error;
  }
  outputs.give(answer);
  print_warnings(equal);  // below the table that they are about
  if (undrawn) throw InputError(*undrawn);
  return failure ? failure->exit_code : kDone;
}

}  // namespace

void add_sweep_command(CLI::App& app, Session& session) {
  SweepCommandOptions& options = session.keep<SweepCommandOptions>();
  CLI::App& command = add_command(
      app, "sweep", {"orrery sweep sweep.yaml", "orrery sweep sweep.yaml --nodes 2 --jobs 2 --out results"});
  add_file(command, session, "sweep", options.file, "Sweep (YAML or JSON)").required();
  add_experiment_options(command, session);
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
  add_pictures(command, options.pictures, "its curves, heat map or bars");
  command.add_option("--figure", options.drawn.figure, "Figure that is drawn, as mfu (default: the iteration time)")
      ->type_name("FIGURE");
  command.add_option("--over", options.over, "Axis that is horizontal; several, as nvlink,nic: a panel each")
      ->type_name("AXES");
  command.add_option("--panels", options.drawn.panels, "Axis with a panel for each value")->type_name("AXIS");
  command.add_option("--draw", options.drawn.draw, "What is drawn (default: what the axes are for)")
      ->type_name("WHAT")
      ->check(one_of("--draw", {study::kSweepDrawingNames.begin(), study::kSweepDrawingNames.end()}));
  command.add_option("--scale", options.drawn.scale, "Vertical axis of the picture: linear (default) or log")
      ->type_name("WORD")
      ->check(one_of("--scale", {"linear", "log"}));
  add_points(command, options.points, "points", {"--svg", "--vega", "--width", "--watch"});
  command.add_flag("--watch", options.points.watch,
                   "Draw the table on the terminal as points come; with --merge those that others simulate");
  add_outputs(command, session, "points.csv, .jsonl, .sqlite, table.txt, result.json, each result-NUMBER.json");
  add_html(command, session, "all points as a page (curves, time against memory)");
  command.callback([&] { session.exit_code = sweep(options, session); });
}

}  // namespace orrery::cli
