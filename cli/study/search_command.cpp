// SPDX-License-Identifier: MIT
#include <algorithm>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include "cli/launcher_flags.h"
#include "cli/output.h"
#include "cli/pictures.h"
#include "cli/session.h"
#include "cli/study/drawings.h"
#include "cli/study/points.h"
#include "core/config/quantity_text.h"
#include "core/config/text.h"
#include "core/error.h"
#include "core/files/input_files.h"
#include "core/suggest.h"
#include "experiment/experiment.h"
#include "experiment/files/file_kinds.h"
#include "experiment/recorded_run.h"
#include "study/search/search.h"
#include "study/search/sizes.h"

namespace orrery::cli {
namespace {

struct SearchCommandOptions {
  std::string experiment;
  std::vector<std::string> vary;
  std::vector<std::string> fixed;
  std::vector<std::string> where;
  std::string most_memory;
  std::string objective;
  std::size_t best = 10;
  bool all = false;
  bool rank = false;
  std::size_t budget = 0;
  std::string write;
  LauncherFlags flags;
  PointOptions points;
  PictureOptions pictures;
  const CLI::Option* nodes = nullptr;
};

constexpr std::string_view kNodes = "nodes";

// Search space: the plan's keys, and the number of nodes.
struct SearchSpace {
  study::PlanRanges ranges{};
  std::vector<std::int64_t> nodes;
};

void add_nodes(const std::string& option, const std::string& values, std::vector<std::int64_t>& nodes) {
  if (!nodes.empty()) throw InputError({option}, "nodes is given twice");
  for (const std::string& word : comma_separated(values)) {
    const std::optional<std::int64_t> value = parse_whole_number(word);
    if (!value || *value < 1)
      throw InputError({option}, fmt::format("nodes: invalid value '{}'", printable(word, 40)),
                       "a whole number from 1 on");
    if (std::ranges::find(nodes, *value) == nodes.end()) nodes.push_back(*value);
  }
}

// KEY=VALUE or KEY=VALUE,VALUE of a key that plans have.
void add_range(const std::string& option, const std::string& text, SearchSpace& space) {
  study::PlanRanges& ranges = space.ranges;
  const std::size_t equals = text.find('=');
  const std::string name = text.substr(0, equals);
  if (name == kNodes && equals != std::string::npos) return add_nodes(option, text.substr(equals + 1), space.nodes);
  const std::optional<study::PlanKey> key = study::plan_key_named(name);
  if (!key)
    throw InputError({option}, fmt::format("unknown key '{}'", printable(name, 40)),
                     suggestion(name, study::plan_key_names()) + "; other keys of the experiment: --set KEY=VALUE");
  if (*key == study::PlanKey::kData)
    throw InputError({option}, "data parallelism is what the other degrees leave of the devices",
                     "give the others: tensor, pipeline, context");
  std::vector<std::int64_t>& values = ranges[static_cast<std::size_t>(*key)];
  if (!values.empty()) throw InputError({option}, fmt::format("{} is given twice", study::name_of(*key)));
  if (equals == std::string::npos)
    throw InputError({option}, fmt::format("'{}' has no value", printable(name, 40)), "write tensor=8 or tensor=4,8");
  for (const std::string& word : comma_separated(std::string_view(text).substr(equals + 1))) {
    const std::optional<std::int64_t> value = study::plan_value(*key, word);
    if (!value)
      throw InputError({option}, fmt::format("{}: invalid value '{}'", study::name_of(*key), printable(word, 40)),
                       *key == study::PlanKey::kRecompute     ? "none, selective or full"
                       : *key == study::PlanKey::kSchedule    ? "a kind of schedule, such as 1f1b or zb-v"
                       : *key == study::PlanKey::kContextKind ? "ring, all-gather, all-to-all or all-to-all+ring"
                       : *key == study::PlanKey::kSequence    ? "true or false"
                       : *key == study::PlanKey::kOffload     ? "a percentage of the states, 0 to 100"
                       : *key == study::PlanKey::kZero        ? "0, 1, 2 or 3"
                                                              : "a whole number from 1 on");
    if (std::ranges::find(values, *value) == values.end()) values.push_back(*value);
  }
}

// "90 %", "90%" or "0.9".
double part_of_memory(const std::string& text) {
  const std::optional<double> part = parse_share(text).value;
  if (!part || *part <= 0 || *part > 1)
    throw InputError({"--max-memory"}, fmt::format("invalid share '{}' of a device's memory", printable(text, 40)),
                     "more than 0, at most 100 %: --max-memory 90%");
  return *part;
}

study::SearchRequest request_of(const SearchCommandOptions& options, SearchSpace& space, const Session& session) {
  study::SearchRequest request{options.experiment, session.settings};
  for (const std::string& text : options.vary) add_range("--vary", text, space);
  for (const std::string& text : options.fixed) add_range("--fix", text, space);
  request.ranges = space.ranges;
  for (const std::string& text : options.fixed)
    if (text.find(',') != std::string::npos)
      throw InputError({"--fix"}, fmt::format("'{}' has several values", printable(text, 40)), "--vary takes several");
  request.most_memory = part_of_memory(options.most_memory);
  request.best = options.best;
  for (const std::string& text : options.where) request.where.emplace_back(text, Location{"--where"});
  request.simulates_all = options.all;
  request.ranks_given = options.rank;
  if (options.budget > 0) request.budget = options.budget;
  return request;
}

// The experiment with the best plan.
experiment::Experiment best_experiment(const study::SizedSearch& best, const std::string& experiment,
                                       const Session& session) {
  std::vector<std::string> settings = best.settings;
  const std::vector<std::string>& plan = best.search->settings.front();
  settings.insert(settings.end(), plan.begin(), plan.end());
  Diagnostics diagnostics;
  return experiment::load_experiment(experiment, settings, session.files, diagnostics);
}

std::vector<study::SizedSearch> search_space(const study::SearchRequest& request, const SearchSpace& space,
                                             study::Objective objective, study::Points& points,
                                             const Session& session) {
  if (!space.nodes.empty()) return study::search_sizes(request, space.nodes, objective, points, session.files);
  std::vector<study::SizedSearch> sizes(1);
  sizes.front().settings = request.settings;
  sizes.front().search = study::search_plans(request, points, session.files);
  return sizes;
}

// Prints and writes what the search knows.
void give(const SearchCommandOptions& options, const SearchSpace& space, std::span<const study::SizedSearch> sizes,
          const Session& session) {
  const study::Search& search = *sizes.front().search;
  print_warnings(search.warnings);
  Answer answer = space.nodes.empty() ? Answer{study::search_text(search), study::search_json(search)}
                                      : Answer{study::sizes_text(sizes), study::sizes_json(sizes)};
  if (session.outputs.wants_page())
    answer.page = page_of(fmt::format("orrery search {}", options.experiment), "search", answer.document);
  if (const auto picture = study::search_picture(search)) {
    add_to_page(answer, *picture);
    write_pictures(options.pictures, *picture);
  }
  if (sizes.front().has_best() && (!options.write.empty() || options.flags.wanted())) {
    const experiment::Experiment best = best_experiment(sizes.front(), options.experiment, session);
    // Resolves it as `run` does, so that it may stand in any folder.
    if (!options.write.empty()) {
      ConfigValue written = best.resolved;
      move_paths(written, options.write);
      write_file(options.write, yaml_text(written));
    }
    if (options.flags.wanted()) add_flags(options.flags, options.flags.of(best), answer);
  }
  session.outputs.give(answer);
}

int search(const SearchCommandOptions& options, const Session& session) {
  check_points(options.points, options.experiment, session);
  if (!experiment::is_result(options.experiment, session.files))
    experiment::refuse_other_kinds(options.experiment, session.files);
  note_input(options.experiment);
  session.outputs.check({}, FolderUse::kShared);
  check_file("--write", options.write);
  check_pictures(options.pictures, session.outputs);
  check_configuration("--write", options.write);
  options.flags.check(session.outputs);
  refuse_same_file({"--write", options.write}, {"--launcher-flags", options.flags.file()});
  refuse_same_file({"--write", options.write}, {"--json", session.outputs.json});
  refuse_same_file({"--write", options.write}, {"--html", session.outputs.html});
  if (!session.outputs.out.empty())
    for (const char* file : {"/result.json", "/summary.txt"})
      refuse_same_file({"--write", options.write}, {"--out", session.outputs.out + file});
  SearchSpace space;
  const study::SearchRequest request = request_of(options, space, session);
  if (space.nodes.empty() && !options.objective.empty())
    throw InputError({"--objective"}, "decides between several numbers of nodes, and there is one",
                     "--vary nodes=16,32,64; on one cluster the fastest plan has most tokens and costs least");
  if (!space.nodes.empty() && options.nodes->count() > 0)
    throw InputError({"--nodes"}, "is given beside --vary nodes: both say how many nodes there are",
                     "leave one of them out");
  const std::vector<std::string> objectives = study::objective_names();
  const auto objective =
      options.objective.empty()
          ? study::Objective::kTime
          : static_cast<study::Objective>(std::ranges::find(objectives, options.objective) - objectives.begin());
  RunningPoints running(options.points, session, Stopping::kAlways);
  std::vector<study::SizedSearch> sizes;
  PointTexts texts;
  texts.when_stopped = [&]() -> std::string {
    if (sizes.empty()) return " before any plan was simulated";
    give(options, space, sizes, session);
    return sizes.front().has_best()      ? "; what is told is the best so far"
           : sizes.front().search->given ? "; what is told is all that is known so far"
                                         : " before any plan was simulated";
  };
  const auto study = [&] {
    sizes = search_space(request, space, objective, running.points(), session);
    const auto is_complete = [](const study::SizedSearch& size) { return size.search && size.search->is_complete; };
    if (running.points().is_stopped() && !std::ranges::all_of(sizes, is_complete)) throw study::PointsMissing();
  };
  if (const std::optional<int> code = running.run(study, texts)) return *code;
  give(options, space, sizes, session);
  return kDone;
}

}  // namespace

void add_search_command(CLI::App& app, Session& session) {
  SearchCommandOptions& options = session.keep<SearchCommandOptions>();
  CLI::App& command = add_command(app, "search",
                                  {"orrery search job.yaml --max-memory 90%",
                                   "orrery search job.yaml --fix tensor=8 --vary micro=1,2,4 --write best.yaml"});
  add_file(command, session, "experiment", options.experiment, "Experiment that trains a model (YAML or JSON)")
      .required();
  add_experiment_options(command, session);
  command.add_option("--vary", options.vary, "Values to choose from, as tensor=4,8 (repeatable; default: all)")
      ->type_name("KEY=VALUES")
      ->expected(1)
      ->take_all();
  command.add_option("--fix", options.fixed, "Value of all plans, as tensor=8 (repeatable)")
      ->type_name("KEY=VALUE")
      ->expected(1)
      ->take_all();
  command.add_option("--where", options.where, "Plans that are wanted, as 'tensor * context <= 8' (repeatable)")
      ->type_name("CONSTRAINT")
      ->expected(1)
      ->take_all();
  command
      .add_option("--max-memory", options.most_memory, "Part of a device's memory that a plan may need (default: 90%)")
      ->type_name("PART")
      ->default_val("90%");
  command.add_option("--objective", options.objective, "What decides between numbers of nodes (--vary nodes=16,32)")
      ->type_name("WORD")
      ->check(CLI::IsMember(study::objective_names()));
  command.add_option("--best", options.best, "How many of the fastest plans to find (default: 10)")
      ->type_name("N")
      ->check(CLI::Range(1, 1000));
  command.add_flag("--all", options.all, "Simulate all plans that fit, also those that cannot be among the best");
  command.add_flag("--rank", options.rank, "Simulate all plans that may be faster than that of the experiment");
  command
      .add_option("--budget", options.budget,
                  "Simulate at most so many beside the experiment's own plan, and say how far off the best may be")
      ->type_name("N")
      ->check(CLI::Range(1, 1'000'000'000));
  command.add_option("--write", options.write, "Write the experiment with the best plan to this file")
      ->type_name("FILE");
  add_launcher_flags(command, options.flags, "the best plan");
  add_pictures(command, options.pictures, "time against memory of the plans");
  add_points(command, options.points, "plans", {"--write", "--launcher-flags", "--svg", "--vega", "--width"});
  add_outputs(command, session, "summary.txt and result.json");
  add_html(command, session, "all plans as a page");
  for (const char* other : {"--all", "--rank"}) command.get_option("--budget")->excludes(command.get_option(other));
  options.nodes = command.get_option("--nodes");
  command.callback([&] { session.exit_code = search(options, session); });
}

}  // namespace orrery::cli
