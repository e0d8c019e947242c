// SPDX-License-Identifier: MIT
#include <algorithm>
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
#include "core/config/quantity_text.h"
#include "core/in_parallel.h"
#include "core/input_files.h"
#include "study/sweep/sweep.h"

namespace orrery::cli {
namespace {

struct SweepCommandOptions {
  std::string file;
  unsigned jobs = hardware_threads();
};

std::string result_file(std::size_t point) { return fmt::format("result-{}.json", point + 1); }

void prepare(const Outputs& outputs, const study::Sweep& sweep) {
  note_input(sweep.experiment.where.file);
  std::vector<std::string> files = {"points.csv", "table.txt"};
  for (std::size_t point = 0; point < sweep.point_count(); ++point) files.push_back(result_file(point));
  outputs.check(files);
}

// Without a result none from before may stand there.
void write_result(const std::string& file, const report::Result* result) {
  if (result != nullptr) return write_json(file, report::to_json(*result, true), Telling::kNone);
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

std::vector<study::SweepPoint> run_points(const SweepCommandOptions& options, const study::Sweep& sweep,
                                          const Session& session) {
  const std::string& out = session.outputs.out;
  Progress progress;
  std::size_t done = 0;
  std::vector<study::SweepPoint> points = study::run_sweep(sweep, {options.jobs, session.allow_oom}, session.files,
                                                           [&](std::size_t point, const report::Result* result) {
                                                             progress("points", ++done, sweep.point_count());
                                                             if (!out.empty())
                                                               write_result(out + "/" + result_file(point), result);
                                                           });
  progress.clear();
  if (!out.empty()) remove_stale_results(out, points.size());
  return points;
}

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

int sweep(const SweepCommandOptions& options, const Session& session) {
  const study::Sweep sweep = study::load_sweep(options.file, session.settings, session.files);
  prepare(session.outputs, sweep);
  const std::vector<study::SweepPoint> points = run_points(options, sweep, session);
  study::refuse_if_all_refused(sweep, points);
  print_warnings(study::warnings_of(sweep, points));
  Answer answer{study::sweep_text(sweep, points), study::sweep_json(sweep, points), "table.txt"};
  const std::optional<Failure> failure = print_failures(sweep, points);
  if (failure) answer.document["error"] = to_json(*failure);
  if (const std::string& out = session.outputs.out; !out.empty()) {
    const auto written = std::ranges::count_if(points, &study::SweepPoint::ran);
    spdlog::info("wrote {} of {} result-NUMBER.json to {}", written, points.size(), out);
    write_file(out + "/points.csv", study::sweep_csv(sweep, points));
  }
  if (session.outputs.wants_page())
    answer.page = page_of(fmt::format("orrery sweep {}", options.file), "sweep", answer.document);
  session.outputs.give(answer);
  return failure ? failure->exit_code : kDone;
}

}  // namespace

void add_sweep_command(CLI::App& app, Session& session) {
  SweepCommandOptions& options = session.keep<SweepCommandOptions>();
  CLI::App& command =
      add_command(app, "sweep", "Simulate all combinations of values along axes, as docs/sweeps.md describes",
                  {"orrery sweep sweep.yaml", "orrery sweep sweep.yaml --nodes 2 --jobs 2 --out results"});
  add_file(command, session, "sweep", options.file, "Sweep (YAML or JSON)").required();
  add_experiment_options(command, session);
  add_jobs(command, options.jobs, "points to simulate");
  add_outputs(command, session, "points.csv, table.txt, result.json and each point's result-NUMBER.json");
  add_html(command, session, "all points as a page (curves, time against memory)");
  command.callback([&] { session.exit_code = sweep(options, session); });
}

}  // namespace orrery::cli
