#include <algorithm>
#include <array>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include <fmt/format.h>
#include <spdlog/spdlog.h>
#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "cli/exit_codes.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "core/config/quantity_text.h"
#include "core/input_files.h"
#include "study/in_parallel.h"
#include "study/sweep/sweep.h"

namespace orrery::cli {
namespace {

std::string result_file(const SweepCommandOptions& options, std::size_t point) {
  return fmt::format("{}/result-{}.json", options.out, point + 1);
}

void prepare(const SweepCommandOptions& options, const Sweep& sweep) {
  note_input(sweep.experiment.where.file);
  check_writable(options.json);
  if (options.out.empty()) return;
  make_folder(options.out, std::array<std::string, 2>{"points.csv", "table.txt"});
  for (std::size_t point = 0; point < sweep.point_count(); ++point) check_writable(result_file(options, point));
}

// Without a result none from before may stand there.
void write_result(const std::string& file, const Result* result) {
  if (result != nullptr) return write_json(file, to_json(*result, true));
  std::error_code code;
  std::filesystem::remove(file, code);
  if (code) throw InputError({file}, fmt::format("cannot be removed: {}", code.message()));
}

// The number of the point whose result a file has by its name, from 1; 0 where it has none.
std::size_t point_of_result(std::string_view file) {
  constexpr std::string_view kBefore = "result-", kBehind = ".json";
  if (!file.starts_with(kBefore) || !file.ends_with(kBehind) || file.size() <= kBefore.size() + kBehind.size()) return 0;
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

std::vector<SweepPoint> run_points(const SweepCommandOptions& options, const Sweep& sweep, const ConfigFiles& files) {
  Progress progress;
  std::size_t done = 0;
  std::vector<SweepPoint> points =
      run_sweep(sweep, {options.jobs, options.allow_oom}, files, [&](std::size_t point, const Result* result) {
        progress.show("points", ++done, sweep.point_count());
        if (!options.out.empty()) write_result(result_file(options, point), result);
      });
  progress.clear();
  if (!options.out.empty()) remove_stale_results(options.out, points.size());
  return points;
}

// How many points have no answer; the exit code.
int print_failures(std::span<const SweepPoint> points) {
  const auto stuck = std::ranges::count_if(points, &SweepPoint::is_stuck);
  const auto refused = std::ranges::count_if(points, [](const SweepPoint& point) { return !point.refusal.empty(); });
  if (refused > 0)
    spdlog::warn("warning: {} of {} points cannot be simulated; their notes say why", refused, points.size());
  if (stuck == 0) return kDone;
  spdlog::error("error: {} of {} points cannot finish; the first:\n{}", stuck, points.size(),
                std::ranges::find_if(points, &SweepPoint::is_stuck)->stuck);
  return kStuck;
}

int sweep(const SweepCommandOptions& options, const Session& session) {
  const Sweep sweep = load_sweep(options.file, options.settings, session.files);
  prepare(options, sweep);
  const std::vector<SweepPoint> points = run_points(options, sweep, session.files);
  refuse_if_all_refused(sweep, points);
  print_warnings(warnings_of(points));
  const std::string table = sweep_text(sweep, points);
  if (!options.out.empty()) {
    write_text(options.out + "/points.csv", sweep_csv(sweep, points));
    write_text(options.out + "/table.txt", table);
  }
  if (!options.json.empty()) write_json(options.json, sweep_json(sweep, points));
  if (options.json != "-") write_text("-", table);
  return print_failures(points);
}

}  // namespace

void add_sweep_command(CLI::App& app, Session& session) {
  SweepCommandOptions& options = session.sweep;
  CLI::App* command =
      app.add_subcommand("sweep", "Simulate an experiment along axes of values: one table of all combinations");
  options.jobs = hardware_threads();
  command->add_option("sweep", options.file, "Sweep file (YAML or JSON), see docs/sweeps.md")->required();
  command->add_option("--set", options.settings, "Change a key of the experiment of all points (may be repeated)")
      ->expected(1)
      ->take_all();
  command->add_option("--jobs", options.jobs, "Points simulated at a time (default: as many as the machine has cores)")
      ->check(CLI::Range(1, 4096));
  command->add_option("--out", options.out,
                      "Write points.csv, table.txt and, of each point, result-NUMBER.json to this folder");
  command->add_option("--json", options.json,
                      "Write the points as JSON to this file; '-' prints it instead of the table");
  command->add_flag("--allow-oom", options.allow_oom, "Simulate also what does not fit the devices' memory");
  command->callback([&session] { session.exit_code = sweep(session.sweep, session); });
}

}  // namespace orrery::cli
