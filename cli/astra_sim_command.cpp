// SPDX-License-Identifier: MIT
#include <cstdint>
#include <string>

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <nlohmann/json.hpp>

#include "astra/advice.h"
#include "astra/simulation.h"
#include "astra/timeline.h"
#include "cli/output.h"
#include "cli/session.h"
#include "core/version.h"

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

nlohmann::ordered_json document_of(const AstraOptions& options, const astra::Result& result,
                                   const std::vector<std::string>& notes) {
  nlohmann::ordered_json document = {{"schema", "orrery.astra-sim/1"},
                                     {"version", kVersion},
                                     {"backend", options.backend},
                                     {"ranks", result.ranks.size()},
                                     {"rank_classes", result.agents.size()}};
  std::uint64_t last = 0;
  nlohmann::ordered_json finish = nlohmann::ordered_json::array();
  nlohmann::ordered_json exposed = nlohmann::ordered_json::array();
  nlohmann::ordered_json compute = nlohmann::ordered_json::array();
  for (std::uint32_t rank = 0; rank < result.ranks.size(); ++rank) {
    last = std::max(last, result.ranks[rank].finish);
    finish.push_back(result.ranks[rank].finish);
    compute.push_back(result.ranks[rank].compute);
    exposed.push_back(result.exposed(rank));
  }
  document["iteration_time_ns"] = last;
  document["finish_ns"] = std::move(finish);
  document["compute_ns"] = std::move(compute);
  document["exposed_communication_ns"] = std::move(exposed);
  document["departures"] = notes;
  document["warnings"] = nlohmann::ordered_json::array();
  for (const Problem& warning : result.warnings) document["warnings"].push_back(to_json(warning));
  document["simulation"] = {{"events", result.events}, {"messages", result.messages}};
  return document;
}

void run_astra_sim(AstraOptions& options, const Session& session) {
  options.flags.backend = options.backend == "congestion_aware" ? astra::Backend::kAware : astra::Backend::kUnaware;
  session.outputs.check();
  check_file("--timeline", options.timeline);
  refuse_same_file({"--json", session.outputs.json}, {"--timeline", options.timeline});
  astra::Inputs inputs = astra::read_inputs(options.flags);
  const astra::Job job = astra::read_job(inputs);
  astra::Result result =
      astra::simulate(inputs, job, options.no_fold ? astra::Folding::kOff : astra::Folding::kAuto);
  std::vector<Problem> warnings = inputs.warnings;
  for (const Problem& problem : astra::silent_problems(inputs, job)) warnings.push_back(problem);
  result.warnings.insert(result.warnings.begin(), warnings.begin(), warnings.end());
  print_warnings(result.warnings);
  const std::vector<std::string> notes = astra::departures(inputs, job);
  for (const std::string& note : notes) spdlog::info("note: {}", note);
  spdlog::debug("{} ranks, {} simulated, {} messages, {} events", result.ranks.size(), result.agents.size(),
                result.messages, result.events);
  if (!options.timeline.empty()) {
    if (result.agents.size() > kMostTimelineClasses)
      spdlog::warn("{}: shows the first {} of {} ranks", printable(options.timeline, 300), kMostTimelineClasses,
                   result.agents.size());
    write_file(options.timeline, astra::timeline_text(job, result, kMostTimelineClasses));
  }
  session.outputs.give({finished_text(result), document_of(options, result, notes)});
}

// As ASTRA-sim reads them: --flag=value or --flag value.
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
      ->check(CLI::Range(0.0, 1e6).description(""));
  command.add_flag("--rendezvous-protocol", flags.rendezvous, "A receiver first sends 8,192 bytes (default: false)");
  add("--compute-scale", options.compute_scale, "Accepted; ASTRA-sim does nothing with it", "X");
  add("--comm-scale", options.comm_scale, "Accepted; ASTRA-sim does nothing with it", "X");
  add("--logging-configuration", options.logging_configuration, "Accepted; there is no such log", "FILE");
  add("--logging-folder", options.logging_folder, "Accepted; there is no such log", "DIR");
}

}  // namespace

void add_astra_sim_command(CLI::App& app, Session& session) {
  auto& options = session.keep<AstraOptions>();
  CLI::App& command = add_command(
      app, "astra-sim", "Run ASTRA-sim's own files: its numbers, faster, and what it keeps silent about",
      {"orrery astra-sim --workload-configuration=wl/all_reduce --system-configuration=system.json "
       "--network-configuration=network.yml --remote-memory-configuration=memory.json",
       "orrery astra-sim --backend congestion_aware --workload-configuration wl/all_reduce ..."});
  add_astra_flags(command, options);
  add_json(command, session);
  command
      .add_option("--timeline", options.timeline, "Write what ranks do when, as a file for Perfetto or Chrome")
      ->type_name("FILE");
  command.add_flag("--no-fold", options.no_fold, "Simulate every rank (default: one of those that are alike)");
  command.callback([&] { run_astra_sim(options, session); });
}

}  // namespace orrery::cli
