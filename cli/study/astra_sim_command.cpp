// SPDX-License-Identifier: MIT
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <nlohmann/json.hpp>

#include "astra/answer/advice.h"
#include "astra/answer/convert.h"
#include "astra/answer/document.h"
#include "astra/answer/timeline.h"
#include "astra/engine/simulation.h"
#include "cli/output.h"
#include "cli/session.h"
#include "core/error.h"
#include "core/files/output_file.h"
#include "core/files/read_file.h"
#include "experiment/algorithm_file.h"

namespace orrery::cli {
namespace {

struct AstraOptions {
  astra::Flags flags;
  std::string backend = "congestion_unaware";
  std::string logging_configuration;  // accepted: there is no such log
  std::string logging_folder;
  double compute_scale = 1;  // accepted: ASTRA-sim does nothing with them
  double comm_scale = 1;
  std::string timeline;
  std::string experiment;  // of --convert
  bool no_fold = false;
};

constexpr std::size_t kMostTimelineClasses = 256;

// ASTRA-sim's own lines, one for each rank.
std::string finished_text(const astra::Result& result) {
  std::string text;
  for (std::uint32_t rank = 0; rank < result.ranks.size(); ++rank)
    text += fmt::format("[workload] [info] sys[{}] finished, {} cycles, exposed communication {} cycles.\n", rank,
                        result.ranks[rank].finish, result.exposed(rank));
  return text;
}

// The traces as an experiment in `folder` names them. There the number of files is that of ranks, so that the first
// ones are copied where there are more than the network has NPUs.
std::string native_prefix(const astra::Inputs& inputs, const std::filesystem::path& experiment) {
  const std::filesystem::path folder = std::filesystem::absolute(experiment).parent_path();
  const std::string& prefix = inputs.flags.workload;
  const std::uint32_t npus = inputs.network.npus;
  std::error_code code;
  if (!std::filesystem::exists(astra::trace_of(prefix, npus), code))
    return std::filesystem::proximate(std::filesystem::absolute(prefix), folder).string();
  const std::string name = experiment.stem().string() + "-traces";
  const std::string copies = (folder / name).string();
  make_folder(copies, {});
  OutputFiles files;
  for (std::uint32_t rank = 0; rank < npus; ++rank)
    files.add(astra::trace_of(copies + "/rank", rank),
              [&](OutputFile& file) { file.write(read_file(astra::trace_of(prefix, rank))); });
  files.commit(astra::trace_of(copies + "/rank", 0));
  spdlog::info("wrote the first {} traces to {}", npus, printable(copies, 300));
  return name + "/rank";
}

// InputError where an experiment would refuse a custom schedule.
void check_custom(const std::map<astra::CommKind, astra::CustomUse>& uses) {
  const std::uint64_t size = astra::common_size(uses);
  for (const auto& [comm, use] : uses)
    for (const std::string& prefix : astra::prefixes_of(use))
      experiment::load_algorithm(prefix, astra::collective_kind(comm),
                                 size == 0 ? std::nullopt : std::optional(Bytes(static_cast<std::int64_t>(size))));
}

void write_experiment(const std::string& file, const astra::Inputs& inputs, const astra::Job& job,
                      const std::vector<std::string>& notes) {
  const std::string prefix = native_prefix(inputs, file);
  const std::filesystem::path folder = std::filesystem::absolute(file).parent_path();
  const auto beside = [&](const std::string& path) {
    return std::filesystem::proximate(std::filesystem::absolute(path), folder).string();
  };
  // Puts a folder before a bare name, since the name of an algorithm's file has to have one.
  const auto schedule = [&](const std::string& path) {
    const std::string name = beside(path);
    return name.find('/') == std::string::npos ? "./" + name : name;
  };
  const std::map<astra::CommKind, astra::CustomUse> custom = astra::custom_uses(inputs, job);
  check_custom(custom);
  const std::string groups = inputs.groups_file.empty() ? std::string() : beside(inputs.groups_file);
  write_file(file, astra::experiment_text(inputs, job, custom, prefix, groups, notes, schedule));
}

// ASTRA-sim makes one folder, and dies where that is not enough.
void check_logging_folder(const std::string& folder) {
  const std::filesystem::path above = std::filesystem::path(folder).parent_path();
  std::error_code code;
  if (folder.empty() || above.empty() || std::filesystem::is_directory(above, code)) return;
  throw InputError(
      {"--logging-folder"},
      fmt::format("'{}' cannot be made: there is no folder {}", printable(folder), printable(above.string())),
      "Orrery writes no log there; leave the option out");
}

void run_astra_sim(AstraOptions& options, const Session& session) {
  check_logging_folder(options.logging_folder);
  options.flags.backend = options.backend == "congestion_aware" ? astra::Backend::kAware : astra::Backend::kUnaware;
  session.outputs.check();
  check_file("--timeline", options.timeline);
  refuse_same_file({"--json", session.outputs.json}, {"--timeline", options.timeline});
  check_file("--convert", options.experiment);
  check_configuration("--convert", options.experiment);
  refuse_same_file({"--convert", options.experiment}, {"--timeline", options.timeline});
  astra::Inputs inputs = astra::read_inputs(options.flags);
  const astra::Job job = astra::read_job(inputs);
  const std::vector<std::string> notes = astra::departures(inputs, job);
  if (!options.experiment.empty()) {
    print_warnings(inputs.warnings);
    return write_experiment(options.experiment, inputs, job, notes);
  }
  astra::Result result = astra::simulate(inputs, job, options.no_fold ? astra::Folding::kOff : astra::Folding::kAuto);
  std::vector<Problem> warnings = inputs.warnings;
  for (const Problem& problem : astra::silent_problems(inputs, job)) warnings.push_back(problem);
  result.warnings.insert(result.warnings.begin(), warnings.begin(), warnings.end());
  print_warnings(result.warnings);
  for (const std::string& note : notes) spdlog::info("note: {}", note);
  spdlog::debug("{} ranks, {} simulated, {} messages, {} events", result.ranks.size(), result.agents.size(),
                result.messages, result.events);
  if (!options.timeline.empty()) {
    if (result.agents.size() > kMostTimelineClasses)
      spdlog::warn("{}: shows the first {} of {} ranks", printable(options.timeline, 300), kMostTimelineClasses,
                   result.agents.size());
    OutputFile file(options.timeline);
    astra::write_timeline(job, result, kMostTimelineClasses, [&](std::string_view text) { file.write(text); });
    file.close();
    tell_written(options.timeline, file.size());
  }
  Answer answer{{}, astra::document_of(inputs, job, result, notes)};
  answer.as_it_is = finished_text(result);
  if (session.outputs.wants_page())
    answer.page =
        Page{fmt::format("orrery astra-sim {}", options.flags.workload), astra::page_data(inputs, job, result, notes)};
  session.outputs.give(answer);
}

// Adds flags as ASTRA-sim reads them: --flag=value or --flag value.
void add_astra_flags(CLI::App& command, AstraOptions& options) {
  astra::Flags& flags = options.flags;
  const auto add = [&](const char* name, auto& member, const char* about, const char* type) {
    return command.add_option(name, member, about)->type_name(type);
  };
  add("--workload-configuration", flags.workload, "Traces: PREFIX stands for PREFIX.0.et, PREFIX.1.et, ...", "PREFIX")
      ->required();
  add("--system-configuration", flags.system, "The system's JSON", "FILE")->required();
  add("--network-configuration", flags.network, "The network's YAML of the analytical backends", "FILE")->required();
  add("--remote-memory-configuration", flags.remote_memory, "The remote memory's JSON", "FILE")->required();
  add("--comm-group-configuration", flags.groups, "The communicator groups' JSON (default: empty, none)", "FILE");
  command.add_option("--backend", options.backend, "Which analytical backend (default: congestion_unaware)")
      ->check(one_of("--backend", {"congestion_unaware", "congestion_aware"}));
  add("--num-queues-per-dim", flags.queues_per_dimension, "Queues of each network dimension (default: 1)", "N")
      ->check(CLI::Range(1, 1024).description(""));
  add("--injection-scale", flags.injection_scale, "Factor of endpoint-delay (default: 1)", "X")
      ->check(CLI::Validator(
          [](const std::string& value) {
            double factor = 0;
            const bool is_factor = CLI::detail::lexical_cast(value, factor) && factor >= 0 && factor <= 1e6;
            return is_factor ? std::string() : fmt::format("{} is no number from 0 to 1e6", printable(value));
          },
          ""));
  // Alone it is true, as there.
  add("--rendezvous-protocol", flags.rendezvous, "A receiver first sends 8,192 bytes (default: false)", "BOOL")
      ->expected(0, 1)
      ->default_str("true")
      ->option_text("[BOOL]")
      ->check(one_of("--rendezvous-protocol", {"true", "false", "1", "0"}));
  add("--compute-scale", options.compute_scale, "Accepted; ASTRA-sim does nothing with it", "X");
  add("--comm-scale", options.comm_scale, "Accepted; ASTRA-sim does nothing with it", "X");
  add("--logging-configuration", options.logging_configuration, "Accepted; there is no such log", "FILE");
  add("--logging-folder", options.logging_folder, "Accepted; there is no such log", "DIR");
}

}  // namespace

void add_astra_sim_command(CLI::App& app, Session& session) {
  auto& options = session.keep<AstraOptions>();
  CLI::App& command = add_command(
      app, "astra-sim",
      {"orrery astra-sim --workload-configuration=ar --system-configuration=s.json --network-configuration=n.yml "
       "--remote-memory-configuration=m"});
  add_astra_flags(command, options);
  command
      .add_option("--convert", options.experiment, "Write the same as an experiment of Orrery's own; nothing is run")
      ->type_name("FILE");
  add_json(command, session);
  add_html(command, session, "the run as one page (where the time goes, a timeline)");
  command
      .add_option("--timeline", options.timeline,
                  "Write what ranks do when, as a file for Perfetto or Chrome (.json or .json.gz)")
      ->type_name("FILE");
  command.add_flag("--no-fold", options.no_fold, "Simulate every rank (default: one of those that are alike)");
  command.callback([&] { run_astra_sim(options, session); });
}

}  // namespace orrery::cli
